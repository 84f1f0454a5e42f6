#!/usr/bin/env python3
"""forerun beside llama.cpp: same files, same machine, same minutes.

    bench/peers/llamacpp.py -m models/qwen2.5-coder-1.5b.gguf [-m ...] --draft models/qwen2.5-coder-0.5b.gguf \\
        --prompts prompts.jsonl --csv docs/peers.csv --doc docs/peers.md --readme README.md --picture docs/pictures/rows.svg
    bench/peers/llamacpp.py --csv docs/peers.csv --readme README.md     the tables again, from what was measured

Parts (--only): the two programs alternate (A B A B ...), --pairs times each, and a ratio is one of neighbours in time.
  pass         a pass of n rows, logits on every row, behind 512 tokens  (forerun curve; passes.c on libllama)
  decode       plain decoding, 96 tokens, and peak memory                (forerun run --drafter none; llama-bench)
  prompt       reading 512 tokens                                        (forerun run -n 1; llama-bench)
  speculative  every speculative mode on the same prompts, greedy; both programs' texts against their own plain text

llama.cpp is built into --build-dir from its source package, or taken as built by this script from --llama DIR.
Only Python's standard library is needed; gnuplot draws the picture. Results are appended to --csv.
"""
import argparse
import datetime
import json
import os
import re
import statistics
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(1, os.path.join(ROOT, "bench"))

import modes as spec
import report
from build import PACKAGE, VERSION, build, compile_passes, fetch
from calls import Failure, between_markers, name_of, peak_run, run, say

PARTS = ["pass", "decode", "prompt", "speculative"]
DECODE_TOKENS, PROMPT_TOKENS, CONTEXT = 96, 512, 512


class Bench:
    """Both programs on one model."""

    def __init__(self, args, model, folder):
        self.args, self.model, self.folder = args, model, folder
        self.isa = "unknown"

    def forerun(self, command, *more):
        return [self.args.forerun, command, "-m", self.model, "-t", str(self.args.threads), "--isa", self.args.isa,
                "--quiet", "--json"] + list(more)

    def peer(self, program):
        return os.path.join(self.args.programs, program)

    def prompt_file(self, tokens):
        """A file whose text is `tokens` tokens long for this model, or as near as cutting text gets."""
        with open(self.args.text, encoding="utf-8") as f:
            ids = json.loads(run([self.args.forerun, "tokenize", "-m", self.model], input=json.dumps({"text": f.read()})))["ids"]
        if len(ids) < tokens:
            raise Failure("--text %s: %d tokens, expected %d or more" % (self.args.text, len(ids), tokens))
        cut = run([self.args.forerun, "detokenize", "-m", self.model], input=json.dumps({"ids": ids[:tokens]}))
        path = os.path.join(self.folder, "prompt-%d" % tokens)
        with open(path, "w", encoding="utf-8") as f:
            f.write(json.loads(cut)["text"])
        return path

    def note(self, part, pair, ours, theirs, unit):
        say("%s: %s, pair %d of %d: %.1f against %.1f %s" % (name_of(self.model), part, pair + 1, self.args.pairs, ours, theirs, unit))

    # Every part returns rows for report.line: what, rows, unit, ours, theirs, ratios, note.

    def passes(self):
        rows = self.args.rows
        ours, theirs, ratios = {n: [] for n in rows}, {n: [] for n in rows}, {n: [] for n in rows}
        listed, notes = ",".join(map(str, rows)), {}
        for pair in range(self.args.pairs):
            found = json.loads(run(self.forerun("curve", "--rows", listed, "--context", str(CONTEXT))))
            a, self.isa = dict(zip(found["rows"], found["ms"])), found["machine"]["isa"]
            found = json.loads(run([self.peer("passes"), "curve", self.model, str(self.args.threads), str(CONTEXT),
                                    str(self.args.rounds), listed]))
            b, changed = dict(zip(found["rows"], found["ms"])), dict(zip(found["rows"], found["difference"]))
            notes = {n: "llama.cpp's logits of a row: up to %.2g from those of a pass of %d" % (changed[n], rows[0]) if changed[n] else ""
                     for n in rows}
            for n in rows:
                ours[n].append(a[n])
                theirs[n].append(b[n])
                ratios[n].append(b[n] / a[n])
            self.note("pass of %d rows" % rows[-1], pair, a[rows[-1]], b[rows[-1]], "ms")
        return [("pass", n, "ms", min(ours[n]), min(theirs[n]), ratios[n], notes[n]) for n in rows]

    def generation(self, what, prompt, predict, key, peer_arguments):
        """Pairs of (ours, theirs): tokens a second and peak bytes."""
        found = []
        for pair in range(self.args.pairs):
            out, _, own_peak = peak_run(self.forerun("run", "--raw", "-f", prompt, "-n", str(predict), "--drafter", "none",
                                                     "--temp", "0", "--ignore-eos"))
            ours = json.loads(out)[key]
            out, _, peak = peak_run([self.peer("llama-bench"), "-m", self.model, "-t", str(self.args.threads), "-r", "1",
                                     "-o", "json"] + peer_arguments)
            theirs = json.loads(out)[0]["avg_ts"]
            self.note(what, pair, ours, theirs, "tokens/s")
            found.append((ours, theirs, own_peak, peak))
        return found

    def rates(self, what, found):
        return (what, "", "tokens/s", statistics.median(f[0] for f in found), statistics.median(f[1] for f in found),
                [f[0] / f[1] for f in found], "")

    def decode(self):
        found = self.generation("decode", self.prompt_file(4), DECODE_TOKENS, "tok_s", ["-p", "0", "-n", str(DECODE_TOKENS)])
        memory = [(f[2] / 1e6, f[3] / 1e6) for f in found]
        return [self.rates("decode", found),
                ("memory", "", "MB", max(m[0] for m in memory), max(m[1] for m in memory), [m[1] / m[0] for m in memory],
                 "file: %.0f MB" % (os.path.getsize(self.model) / 1e6))]

    def prompt(self):
        found = self.generation("prompt", self.prompt_file(PROMPT_TOKENS), 1, "prompt_tok_s", ["-p", str(PROMPT_TOKENS), "-n", "0"])
        return [self.rates("prompt", found)]

    def own_modes(self, prompt):
        """{drafter: (tokens, seconds, accepted, drafted, same text)} of one prompt."""
        found = json.loads(run(self.forerun("bench", "--prompts", prompt, "--drafters", "none,prompt-lookup",
                                            "-n", str(self.args.predict))))
        self.isa = found["machine"]["isa"]
        return {r["drafter"]: (r["tokens"], r["tokens"] / r["tok_s"], r["tokens_per_pass"] - 1, r["rows_per_pass"] - 1, r["identical"])
                for r in found["runs"]}

    def peer_modes(self, text):
        """The same of llama.cpp; `text` is the prompt as its model reads it."""
        path = os.path.join(self.folder, "prompt")
        with open(path, "wb") as f:
            f.write(text)
        plain = json.loads(run([self.peer("passes"), "plain", self.model, str(self.args.threads), path, str(self.args.predict)]))
        expected = bytes.fromhex(plain["hex"])
        with open(path, "ab") as f:
            f.write(b"\n")  # its programs drop one
        found = {"none": (plain["tokens"], plain["seconds"], 0, 0, True)}
        for mode in self.args.modes:
            if "DRAFT" in spec.MODES[mode] and not self.args.draft_for(self.model):
                continue
            program, *more = [self.args.draft_for(self.model) if word == "DRAFT" else word for word in spec.MODES[mode]]
            threads = str(self.args.threads)
            if "-md" in more:
                more += ["-td", threads, "-tbd", threads]
            command = [self.peer(program), "-m", self.model, "-t", threads, "-tb", threads, "-f", path, "--no-escape", "-c", "4096",
                       "-n", str(self.args.predict), "--temp", "0"] + more
            out, err, _ = peak_run(command)
            found[mode] = spec.read_mode(program, out, err, text) + (spec.same_text(out, text, expected, plain["ended"]),)
        return found

    def speculative(self):
        prompts = spec.read_prompts(self.args.prompts, self.args.limit)
        ours, theirs = {}, {}
        for i, message in enumerate(prompts):
            path = os.path.join(self.folder, "prompt.jsonl")
            line = json.dumps({"id": "p", "messages": [{"role": "user", "content": message}]})
            with open(path, "w", encoding="utf-8") as f:
                f.write(line + "\n")
            asked = json.dumps({"messages": [{"role": "user", "content": message}], "add_generation_prompt": True})
            text = json.loads(run([self.args.forerun, "tokenize", "-m", self.model, "--messages"], input=asked))["prompt"].encode()
            for mode, found in self.own_modes(path).items():
                ours.setdefault(mode, []).append(found)
            for mode, found in self.peer_modes(text).items():
                theirs.setdefault(mode, []).append(found)
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
        bench.isa = json.loads(run(bench.forerun("curve", "--rows", "1", "--context", "16")))["machine"]["isa"]
    except Failure as failure:
        say("skipped: %s: %s" % (name_of(model), failure))
        return [], len(args.only)
    for part in args.only:
        try:
            for row in parts[part]():
                lines.append(report.line(args.cpu, bench.isa, name_of(model), args.threads, *row))
        except Failure as failure:
            say("skipped: %s, %s: %s" % (name_of(model), part, failure))
            skipped += 1
    return lines, skipped


def cpu_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            return re.search(r"model name\s*: (.*)", f.read()).group(1)
    except (OSError, AttributeError):
        return "unknown"


def physical_cores():
    cores = set()
    for cpu in os.sched_getaffinity(0):
        try:
            with open("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list" % cpu, encoding="ascii") as f:
                cores.add(f.read())
        except OSError:
            cores.add(cpu)
    return len(cores)


def draft_finder(paths):
    """The draft model for a target: the one of the same family that is another file and smaller."""
    def find(model):
        family = name_of(model).split("-")[0]
        for path in paths or []:
            if name_of(path).startswith(family) and os.path.exists(path) and os.path.getsize(path) < os.path.getsize(model):
                return path
        return None
    return find


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
    add("--build-dir", default=os.path.join(ROOT, "build-peer"), metavar="DIR", help="where llama.cpp is built (default: build-peer)")
    add("--jobs", type=int, default=1, metavar="N", help="of that build (default: 1)")
    add("--text", default=os.path.join(ROOT, "docs", "numerics.md"), metavar="FILE", help="where prompts are cut from")
    add("--csv", metavar="FILE", help="results are appended; the tables are made from all of it")
    add("--readme", metavar="FILE", help="rewrite the table between this file's markers")
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


def programs_of(args):
    if not args.llama:
        return build(args.build_dir, args.jobs)
    out = os.path.join(args.llama, "build")
    if not os.path.exists(os.path.join(out, "bin", "llama-bench")):
        raise Failure("--llama %s: no build/bin/llama-bench in it" % args.llama)
    compile_passes(fetch(args.llama), out)
    return os.path.join(out, "bin")


def measure_all(args):
    """All models' lines; what is appended is appended model by model, so that a break loses one at most."""
    if not os.path.exists(args.forerun):
        raise Failure("%s: not there; build it first (make build), or name it with --forerun" % args.forerun)
    args.programs = programs_of(args)
    load = os.getloadavg()[0]
    if load > 0.5:
        say("the machine is busy (load %.1f): llama.cpp's threads wait for each other spinning, and such a comparison is not fair" % load)
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
        if args.readme:
            between_markers(args.readme, report.MARKS, report.summary(lines))
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
