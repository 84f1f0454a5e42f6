#!/usr/bin/env python3
"""The effect of typical acceptance on answers: GSM8K problems solved under the exact and under the
typical rule.

    bench/papers/quality.py -m MODEL.gguf --data gsm8k_train.jsonl.gz --limit 100       continues where it was stopped
    bench/papers/quality.py --doc docs/papers/ppd.md                                    the table, from committed results

PPD (arXiv 2405.18628, table 1) has a judge rate the answers under typical acceptance. Here the
answers are numbers, so they are right or wrong. Every question is answered once by each rule at
each temperature, with the same seed and trees of --tree candidates. At temperature 0 the two rules
are one. The data is JSON lines (plain or gzip) of {"id", "messages": [user, assistant]}, where the
assistant's last line ends with "#### NUMBER", as in GSM8K's train split.
"""
import argparse
import glob
import gzip
import json
import math
import os
import re
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[1:1] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "bench", "comparison")]

from calls import Failure, between_markers, name_of, say, sentences
from measure import read, resume, write
from program import add_results, ask, physical_cores
from intervals import bootstrap, interval, ratio

MARKS = ("<!-- quality: begin, written by bench/papers/quality.py -->", "<!-- quality: end -->")
RULES = "exact", "typical"


def numbers(text):
    return [float(n.replace(",", "")) for n in re.findall(r"-?\d[\d,]*(?:\.\d+)?", text)]


def questions(path, limit):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as lines:
        for _, line in zip(range(limit), lines):
            asked, answer = json.loads(line)["messages"][:2]
            yield asked["content"], numbers(answer["content"].rsplit("####", 1)[1])[0]


def wilson(right, n, z=1.96):
    """Wilson's interval (1927) of a share."""
    share, bend = right / n, z * z / n
    middle, half = share + bend / 2, z * math.sqrt(share * (1 - share) / n + bend / (4 * n))
    return (middle - half) / (1 + bend), (middle + half) / (1 + bend)


def gain(ones, others):
    """(difference of solved shares, low, high), the same questions drawn again for both."""
    one = [a[0] - b[0] for a, b in zip(ones, others)]
    return bootstrap(len(one), lambda some: sum(one[i] for i in some) / len(one))


# ---------------------------------------------------------------- measuring

def answered(args, question, want, rule, temperature, seed):
    """[solved, tokens, passes] of one answer."""
    got = ask(args, "run", "-p", question, "-n", args.tokens, "--drafter", args.drafter, "--accept", rule, "--tree", args.tree, "--no-adapt",
              "-t", args.threads, "--temp", temperature, "--seed", seed)
    found = numbers(got["text"])
    return [int(bool(found) and abs(found[-1] - want) < 1e-6), got["completion_tokens"], got["passes"]]


def rules_of(temperature):
    return RULES if float(temperature) else RULES[:1]


def measure(args):
    path = os.path.join(args.out, name_of(args.model) + ".json")
    found = resume(path, {"model": name_of(args.model), "drafter": args.drafter, "tree": args.tree, "tokens": args.tokens}, {"date": time.strftime("%Y-%m-%d"), "answers": {}})
    units = [(temperature, rule) for temperature in args.temps.split(",") for rule in rules_of(temperature)]
    left = sum(args.limit - len(found["answers"].get("%s %s" % unit, [])) for unit in units)
    say("%s: %d of %d answers are left" % (found["model"], left, args.limit * len(units)))
    if args.status:
        return
    os.makedirs(args.out, exist_ok=True)
    for seed, (question, want) in enumerate(questions(args.data, args.limit)):
        for temperature, rule in units:
            there = found["answers"].setdefault("%s %s" % (temperature, rule), [])
            if len(there) <= seed:
                there.append(answered(args, question, want, rule, temperature, seed))
                write(path, found)


# ---------------------------------------------------------------- the table

def solved(ones):
    right = sum(one[0] for one in ones)
    return "%d (%.0f to %.0f %%)" % (right, *(100 * end for end in wilson(right, len(ones))))


def paths(ones):
    return [one[1:] for one in ones]


def rows(found):
    for temperature in sorted({key.split()[0] for key in found["answers"]}, key=float):
        each = [found["answers"].get("%s %s" % (temperature, rule), []) for rule in rules_of(temperature)]
        n = min(map(len, each))
        if not n:
            continue
        each = [ones[:n] for ones in each]
        right, passes = list(map(solved, each)), ["%.2f (%.2f to %.2f)" % interval(paths(ones)) for ones in each]
        if len(each) == 1:
            right += ["the same", ""]
            passes += ["the same", ""]
        else:
            right.append("%+.0f (%+.0f to %+.0f)" % tuple(100 * value for value in gain(each[1], each[0])))
            passes.append("%.2f (%.2f to %.2f)" % ratio(paths(each[1]), paths(each[0])))
        yield "| %s | %d | %s |" % (temperature, n, " | ".join(right + passes))


def table(args):
    text = []
    for path in sorted(glob.glob(os.path.join(args.out, "*.json"))):
        found = read(path)
        text += ["%s, `%s`, trees of %d candidates, %d tokens at most, %s; questions of GSM8K's training part; packs were trained on answers to them." % (
            found["model"], found["drafter"], found["tree"], found["tokens"], found["date"]), "",
                 "| temperature | questions | solved, exact (95 %) | typical | points more (95 %) | tokens a pass, exact | typical | times as many (95 %) |",
                 "| --- | --- | --- | --- | --- | --- | --- | --- |", *rows(found), ""]
    if not text:
        raise Failure("%s: no results" % args.out)
    return "\n".join(text).rstrip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add_results(add, "quality")
    add("-m", "--model")
    add("--data", help="questions and answers")
    add("-t", "--threads", type=int, default=physical_cores())
    add("--drafter", default="ppd")
    add("--limit", type=int, default=100, help="questions (default: %(default)s)")
    add("--tokens", type=int, default=256)
    add("--tree", type=int, default=8, help="candidates (default: %(default)s)")
    add("--temps", default="0,0.7,1.0")
    args = parser.parse_args()
    if args.model and not args.data:
        parser.error("--data FILE is needed")
    with sentences(__file__):
        if args.model:
            measure(args)
        if args.doc:
            between_markers(args.doc, MARKS, table(args))


if __name__ == "__main__":
    main()
