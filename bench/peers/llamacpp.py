#!/usr/bin/env python3
"""forerun compared with llama.cpp: same files, same machine, same minutes.

    bench/peers/llamacpp.py -m models/qwen2.5-coder-1.5b.gguf [-m ...] --draft models/qwen2.5-coder-0.5b.gguf \\
        --prompts prompts.jsonl --csv docs/peers.csv --doc docs/peers.md --results docs/results.md --picture docs/pictures/rows.svg
    bench/peers/llamacpp.py --csv docs/peers.csv --results docs/results.md     writes the tables again

The two programs alternate (A B A B ...), --pairs times in each part, and a ratio is one of
neighbouring runs. Parts (--only):
  pass         a pass of n rows, logits on every row, after 512 tokens   (forerun curve; passes.c on libllama)
  decode       plain decoding, 96 tokens, and peak memory                (forerun run --drafter none; llama-bench)
  prompt       reading 512 tokens                                        (forerun run -n 1; llama-bench)
  speculative  every speculative mode on the same prompts, greedy; each program's texts are compared
               with its own plain text

llama.cpp is built into --build-dir from its source package, or --llama DIR is a build of this
script. Only Python's standard library is needed; gnuplot draws the picture. Results are appended to
--csv.
"""
import argparse
import datetime
import os
import statistics
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(1, os.path.join(ROOT, "bench"))

import modes as spec
import report
from build import DEFAULT_FOLDER, PACKAGE, VERSION, build, built
from calls import Failure, between_markers, name_of, say
from machine import cpu_name, draft_finder, physical_cores, warn_of_load
from sides import Forerun, Inputs, Llama, in_turns

PARTS = ["pass", "decode", "prompt", "speculative"]
DECODE_TOKENS, PROMPT_TOKENS = 96, 512


class Bench:
    """Both programs on one model, by turns."""

    def __init__(self, args, model, folder):
        self.args, self.model = args, model
        inputs = Inputs(args.forerun, model, args.threads, args.text, folder, args.predict)
        self.ours = Forerun(inputs, args.isa)
        self.peer = Llama(inputs, args.programs, args.modes, args.draft_for(model), args.rounds)

    def pairs(self, what, call, shown, unit):
        """[(ours, theirs)]; `shown` picks the number that is said."""
        found = [tuple(value for _, value in one) for one in in_turns([self.ours, self.peer], call, self.args.pairs)]
        for pair, (a, b) in enumerate(found):
            say("%s: %s, pair %d of %d: %.1f against %.1f %s" % (name_of(self.model), what, pair + 1, self.args.pairs, shown(a), shown(b), unit))
        return found

    # Every part returns rows for report.line: what, rows, unit, ours, theirs, ratios, notes.

    def passes(self):
        rows = self.args.rows
        last = rows[-1]
        found = self.pairs("pass of %d rows" % last, lambda side: side.passes(rows), lambda ms: ms[last], "ms")
        changed = {n: "llama.cpp's logits of a row: up to %.2g from those of a pass of %d" % (far, rows[0]) if far else ""
                   for n, far in self.peer.changed.items()}
        return [("pass", n, "ms", min(a[n] for a, _ in found), min(b[n] for _, b in found), [b[n] / a[n] for a, b in found], changed[n])
                for n in rows]

    def rates(self, what, found):
        """Of pairs of (tokens a second, peak bytes)."""
        return (what, "", "tokens/s", statistics.median(a[0] for a, _ in found), statistics.median(b[0] for _, b in found),
                [a[0] / b[0] for a, b in found], "")

    def decode(self):
        found = self.pairs("decode", lambda side: side.plain(DECODE_TOKENS), lambda side: side[0], "tokens/s")
        memory = [(a[1] / 1e6, b[1] / 1e6) for a, b in found]
        return [self.rates("decode", found),
                ("memory", "", "MB", max(m[0] for m in memory), max(m[1] for m in memory), [m[1] / m[0] for m in memory],
                 "file: %.0f MB" % (os.path.getsize(self.model) / 1e6))]

    def prompt(self):
        return [self.rates("prompt", self.pairs("prompt", lambda side: side.prompt(PROMPT_TOKENS), lambda side: side[0], "tokens/s"))]

    def speculative(self):
        prompts = spec.read_prompts(self.args.prompts, self.args.limit)
        ours, theirs = {}, {}
        for i, message in enumerate(prompts):
            for side, modes in ((self.ours, ours), (self.peer, theirs)):
                for mode, found in side.speculative(message).items():
                    modes.setdefault(mode, []).append(found)
            say("%s: prompt %d of %d: forerun %s; llama.cpp %s" % (name_of(self.model), i + 1, len(prompts), spec.speeds(ours), spec.speeds(theirs)))
        return [row for own, modes in ((True, ours), (False, theirs)) for row in spec.mode_rows(own, modes)] + [spec.best_row(ours, theirs)]


def measure(args, model, folder):
    """Lines of one model for the CSV file, and how many parts were left out."""
    if not os.path.exists(model):
        say("skipped: %s: no such file" % model)
        return [], len(args.only)
    bench, lines, skipped = Bench(args, model, folder), [], 0
    parts = {"pass": bench.passes, "decode": bench.decode, "prompt": bench.prompt, "speculative": bench.speculative}
    try:
        bench.ours.curve([1], 16)  # says the instruction set
    except Failure as failure:
        say("skipped: %s: %s" % (name_of(model), failure))
        return [], len(args.only)
    for part in args.only:
        try:
            for row in parts[part]():
                lines.append(report.line(args.cpu, bench.ours.used_isa, name_of(model), args.threads, *row))
        except Failure as failure:
            say("skipped: %s, %s: %s" % (name_of(model), part, failure))
            skipped += 1
    return lines, skipped


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("-m", "--model", action="append", default=[], metavar="FILE", help="none: only the tables are written")
    add("-t", "--threads", type=int, default=physical_cores(), help="of both programs (default: the physical cores)")
    add("--isa", default="auto", help="forerun's instruction set (default: auto)")
    add("--only", metavar="PART,...", help="default: %s; the last where --prompts is given" % ", ".join(PARTS))
    add("--pairs", type=int, default=5, metavar="N")
    add("--rows", default="1,2,4,8,16,32", metavar="N,...", help="of the passes (default: %(default)s)")
    add("--rounds", type=int, default=1, metavar="N", help="of llama.cpp's passes in each pair; each is two timed passes a count")
    add("--prompts", metavar="FILE.jsonl", help="for the speculative modes; the first user turn of each")
    add("--limit", type=int, default=4, metavar="K", help="prompts taken (default: 4)")
    add("--predict", type=int, default=DECODE_TOKENS, metavar="N", help="tokens for each prompt (default: 96)")
    add("--modes", default="draft,lookup,ngram-simple,ngram-mod", metavar="MODE,...", help="of llama.cpp: " + ", ".join(spec.MODES))
    add("--draft", action="append", metavar="FILE", help="draft model for the larger models of its family")
    add("--forerun", default=os.path.join(ROOT, "build", "forerun"), metavar="PATH")
    add("--llama", metavar="DIR", help="a folder that this script built llama.cpp into before, not to be built in again")
    add("--build-dir", default=DEFAULT_FOLDER, metavar="DIR", help="where llama.cpp is built (default: build-peer)")
    add("--jobs", type=int, default=1, metavar="N", help="of that build (default: 1)")
    add("--text", default=os.path.join(ROOT, "docs", "numerics.md"), metavar="FILE", help="where prompts are cut from")
    add("--csv", metavar="FILE", help="results are appended; the tables are made from all of it")
    add("--results", metavar="FILE", help="rewrite the table between this file's markers")
    add("--doc", metavar="FILE", help="write every result as a page")
    add("--picture", metavar="FILE.svg", help="passes by rows, for the last model measured")
    args = parser.parse_args()
    args.only = args.only.split(",") if args.only else PARTS if args.prompts else PARTS[:-1]
    args.modes = [mode for mode in args.modes.split(",") if mode]
    for word, known, option in [(w, PARTS, "--only") for w in args.only] + [(w, spec.MODES, "--modes") for w in args.modes]:
        if word not in known:
            parser.error("%s: %s: expected %s" % (option, word, ", ".join(known)))
    try:
        args.rows = sorted({int(n) for n in args.rows.split(",")})
    except ValueError:
        parser.error("--rows: expected numbers separated by commas")
    args.cpu, args.draft_for = cpu_name(), draft_finder(args.draft)
    return args


def measure_all(args):
    """All models' lines; what is appended is appended model by model, so that a break loses one at most."""
    if not os.path.exists(args.forerun):
        raise Failure("%s: not there; build it first (make build), or name it with --forerun" % args.forerun)
    args.programs = built(args.llama) if args.llama else build(args.build_dir, args.jobs)
    warn_of_load()
    lines, skipped = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for model in args.model:
            found, missing = measure(args, model, folder)
            if args.csv:
                report.append(args.csv, found)
            lines, skipped = lines + found, skipped + missing
    return lines, skipped


def main():
    args = arguments()
    lines, skipped = [], 0
    try:
        if args.model:
            lines, skipped = measure_all(args)
            say("%s, %d threads, %s; llama.cpp of %s %s" % (args.cpu, args.threads, datetime.date.today().isoformat(), PACKAGE, VERSION))
        if args.csv and os.path.exists(args.csv):
            lines = report.newest(report.read(args.csv))
        print(report.summary(lines))
        print(report.details(lines))
        if args.results:
            between_markers(args.results, report.MARKS, report.summary(lines))
        if args.doc:
            report.page(args.doc, lines, "%s %s" % (PACKAGE, VERSION))
        if args.picture:
            report.picture(args.picture, lines)
    except (Failure, OSError) as failure:
        say("llamacpp.py: %s" % failure)
        return 1
    return 1 if skipped else 0


if __name__ == "__main__":
    sys.exit(main())
