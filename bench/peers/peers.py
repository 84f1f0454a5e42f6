#!/usr/bin/env python3
"""forerun compared with all available peers: same files, same machine, same minutes.

    bench/peers/peers.py -m models/qwen2.5-coder-1.5b.gguf [-m ...] [--peer NAME ...] [--ik DIR] --prompts prompts.jsonl
    bench/peers/peers.py -m MODEL --rounds 1 --part plain --add results.json      one more round of one part
    bench/peers/peers.py --add results.json --doc docs/peers.md --results docs/results.md    writes the tables again

In a round every program runs once in every part. A ratio is one of the same round. Reported are
medians with lowest and highest values, over each peer and over the best of them. Parts (--part):
  plain        decoding 128 tokens, one per pass
  prompt       reading 512 tokens
  pass         a pass of 1, 8 and 16 rows, logits on every row, after 512 tokens
  speculative  every speculative mode on one prompt, greedy, another prompt in each round; each
               side's fastest mode is reported

Peers (--peer; default: all): llama.cpp, ik (ik_llama.cpp from --ik), ik-rtr (the same with -rtr:
weights repacked when they are loaded), openvino (OpenVINO GenAI). build.py builds them; a peer that
is not available is left out with a message. --rounds 0 builds and prepares, and measures nothing.
"""
import argparse
import datetime
import os
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(1, os.path.join(ROOT, "bench"))

import build
import modes as spec
import results
from calls import Failure, between_markers, name_of, say
from machine import cpu_name, draft_finder, physical_cores, warn_of_load
from sides import Forerun, Ik, IkRepacked, Inputs, Llama, OpenVino, in_turns

PLAIN_TOKENS, PROMPT_TOKENS = 128, 512
PEERS = {"llama.cpp": "llama.cpp", "ik": "ik_llama.cpp", "ik-rtr": "ik_llama.cpp", "openvino": "openvino"}  # and what is built for them


def sides_of(args, inputs, places):
    """forerun, then the peers that are there."""
    draft = args.draft_for(inputs.model)
    make = {"llama.cpp": lambda place: Llama(inputs, place, args.modes, draft, args.repeat),
            "ik": lambda place: Ik(inputs, place, args.ik_modes, draft, args.repeat),
            "ik-rtr": lambda place: IkRepacked(inputs, place, args.ik_modes, draft, args.repeat),
            "openvino": lambda place: OpenVino(inputs, place, os.path.join(args.build_dir, "openvino-models"))}
    return [Forerun(inputs, args.isa, args.drafters)] + [make[peer](places[PEERS[peer]]) for peer in args.peer if PEERS[peer] in places]


def prepare(sides):
    """Drops those whose preparation fails."""
    kept = []
    for side in sides:
        try:
            getattr(side, "prepare", lambda: None)()
            kept.append(side)
        except Failure as failure:
            say("left out: %s: %s" % (side.name, failure))
    return kept


def leniently(call):
    """A peer that fails is left out of the round with a word; without forerun there is none."""
    def attempt(side):
        try:
            return call(side)
        except Failure as failure:
            if side.name == results.OWN:
                raise
            say("left out: %s: %s" % (side.name, failure))
            return None
    return attempt


def part_call(part, args, number):
    """What a side is asked in a part, as it stands in the results."""
    if part == "plain":
        return lambda side: side.plain(PLAIN_TOKENS)[0]
    if part == "prompt":
        return lambda side: side.prompt(PROMPT_TOKENS)[0]
    if part == "pass":
        return lambda side: {str(n): ms for n, ms in side.passes(args.rows).items()}
    message = args.messages[number % len(args.messages)]
    return lambda side: {mode: list(found) for mode, found in side.speculative(message).items()}


def shown(part, value):
    if part == "pass":
        return ", ".join("%s: %.1f" % row for row in value.items()) + " ms"
    if part == "speculative":
        return ", ".join("%s %.1f%s" % (mode, spec.rate(run), "" if run[4] else " (other text)") for mode, run in value.items())
    return "%.1f tok/s" % value


def one_round(args, part, model, sides, earlier):
    """The next round of a part. Which one it is by its number says the order of the sides and the prompt."""
    asked = [side.name for side in sides]
    number = sum((found["part"], found["model"], found["asked"]) == (part, name_of(model), asked) for found in earlier)
    (turn,) = in_turns(sides, leniently(part_call(part, args, number)), 1, number)
    turn = {side: found for side, found in turn if found is not None}
    for side, found in turn.items():
        say("%s, %s, round %d: %s: %s" % (name_of(model), part, number + 1, side.name, shown(part, found)))
    own = sides[0]
    return {"date": datetime.date.today().isoformat(), "cpu": args.cpu, "isa": own.used_isa, "threads": args.threads, "model": name_of(model),
            "part": part, "forerun": own.version(), "asked": asked, "sides": {side.name: found for side, found in turn.items()}}


def measure(args, rounds, places, folder):
    """Adds rounds, saved one by one; how many there should have been and were not."""
    missing = 0
    for model in args.model:
        if not os.path.exists(model):
            say("skipped: %s: no such file" % model)
            missing += 1
            continue
        inputs = Inputs(args.forerun, model, args.threads, args.text, folder, args.predict)
        sides = prepare(sides_of(args, inputs, places))
        sides[0].curve([1], 16)  # says the instruction set
        for part in args.part * args.rounds:
            try:
                rounds.append(one_round(args, part, model, sides, rounds))
            except Failure as failure:
                say("skipped: %s, %s: %s" % (name_of(model), part, failure))
                missing += 1
            if args.add:
                results.save(args.add, rounds)
    return missing


def words(text):
    return [word for word in text.split(",") if word]


def arguments(given=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("-m", "--model", action="append", default=[], metavar="FILE", help="none: only the tables are written")
    add("--peer", action="append", choices=list(PEERS), help="may be given many times (default: all)")
    add("--part", action="append", choices=results.PARTS, help="default: all; the last where --prompts is given")
    add("--rounds", type=int, default=5, metavar="N", help="default: 5")
    add("--add", metavar="FILE.json", help="results: rounds are added, the tables are made of all of them")
    add("--doc", metavar="FILE", help="rewrite the tables between this file's markers")
    add("--results", metavar="FILE", help="the same with the short table")
    add("-t", "--threads", type=int, default=physical_cores(), help="of all programs (default: the physical cores)")
    add("--isa", default="auto", help="forerun's instruction set (default: auto)")
    add("--rows", default="1,8,16", metavar="N,...", help="of the passes (default: %(default)s)")
    add("--repeat", type=int, default=1, metavar="N", help="the least of 2 N passes of each size of llama.cpp and ik_llama.cpp, as forerun's is of many (default: 1)")
    add("--prompts", metavar="FILE.jsonl", help="for the speculative modes; the first user turn of each")
    add("--limit", type=int, default=4, metavar="K", help="prompts taken (default: 4)")
    add("--predict", type=int, default=96, metavar="N", help="tokens for each of them (default: 96)")
    add("--drafters", default="prompt-lookup,auto", metavar="SPEC,...", help="of forerun (default: %(default)s)")
    add("--modes", default="draft,lookup,ngram-simple,ngram-mod", metavar="MODE,...", help="of llama.cpp: " + ", ".join(spec.MODES))
    add("--ik-modes", default="draft,ngram-simple,ngram-mod,suffix", metavar="MODE,...", help="of ik_llama.cpp: " + ", ".join(spec.IK_MODES))
    add("--draft", action="append", metavar="FILE", help="draft model for the larger models of its family")
    add("--forerun", default=os.path.join(ROOT, "build", "forerun"), metavar="PATH")
    add("--text", default=os.path.join(ROOT, "docs", "numerics.md"), metavar="FILE", help="where prompts are cut from")
    build.add_arguments(add)
    args = parser.parse_args(given)
    args.peer = args.peer or list(PEERS)
    args.part = args.part or (results.PARTS if args.prompts else results.PARTS[:-1])
    args.drafters, args.modes, args.ik_modes = words(args.drafters), words(args.modes), words(args.ik_modes)
    for option, given_modes, known in (("--modes", args.modes, spec.MODES), ("--ik-modes", args.ik_modes, spec.IK_MODES)):
        for mode in given_modes:
            if mode not in known:
                parser.error("%s: %s: expected %s" % (option, mode, ", ".join(known)))
    try:
        args.rows = sorted({int(n) for n in words(args.rows)})
    except ValueError:
        parser.error("--rows: expected numbers separated by commas")
    args.cpu, args.draft_for = cpu_name(), draft_finder(args.draft)
    return args


def command_line(args):
    """As it stands in the document: without places of one machine."""
    return "bench/peers/peers.py -m MODEL --rounds 1 --part PART -t %d --add results.json" % args.threads


def run(args):
    rounds = results.load(args.add) if args.add else []
    missing = 0
    if args.model:
        if not os.path.exists(args.forerun):
            raise Failure("%s: not there; build it first (make build), or name it with --forerun" % args.forerun)
        args.messages = spec.read_prompts(args.prompts, args.limit) if "speculative" in args.part else []
        places = build.prepare_all(dict.fromkeys(PEERS[peer] for peer in args.peer), args.build_dir, args.ik, args.jobs)
        warn_of_load()
        with tempfile.TemporaryDirectory() as folder:
            missing = measure(args, rounds, places, folder)
    if rounds:
        text = results.details(rounds, command_line(args))
        print(text)
        if args.doc:
            between_markers(args.doc, results.MARKS, text)
        if args.results:
            between_markers(args.results, results.MARKS, results.summary(rounds))
    return 1 if missing else 0


def main():
    try:
        return run(arguments())
    except (Failure, OSError) as failure:
        say("peers.py: %s" % failure)
        return 1


if __name__ == "__main__":
    sys.exit(main())
