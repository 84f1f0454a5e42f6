#!/usr/bin/env python3
"""What trained drafters gain on a machine other than that of the comparison (PPD, arXiv 2405.18628,
§5.1).

    bench/papers/machines.py --model smollm2-135m.gguf --prompts prompts.jsonl      needs a quiet machine
    bench/papers/machines.py --doc docs/papers/ppd.md                               from committed results

It uses the packs, prompts, tokens and sets of bench/comparison/results (a file of prompts must hold
one set). A ratio is the geometric mean over the sets of this machine's gain divided by that of the
other machine. Its interval is Student's over the sets, 95 %.
"""
import argparse
import glob
import math
import os
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[1:1] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "bench", "comparison")]

from calls import Failure, between_markers, name_of, say, sentences
from measure import read, read_prompts, write
from program import add_results, ask, machine_of

COMPARED = os.path.join(ROOT, "bench", "comparison", "results")
DRAFTERS = {"ppd": "PPD", "medusa": "Medusa", "hidden-transfer": "Hidden Transfer"}
T95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306}  # Student's quantile by degrees of freedom
MARKS = ("<!-- machines: begin, written by bench/papers/machines.py -->", "<!-- machines: end -->")


def compared(model, task):
    """What the comparison has of a set."""
    return read(os.path.join(COMPARED, model, task + "-0.json"))


# ---------------------------------------------------------------- measuring

def gains(runs):
    """Of each drafter: times plain decoding, rows and tokens a pass."""
    kept = ("speedup", "rows_per_pass", "tokens_per_pass")
    return {run["drafter"]: {key: run[key] for key in kept} for run in runs if run["drafter"] in DRAFTERS}


def task_of(path):
    tasks = list(read_prompts([path]))
    if len(tasks) != 1:
        raise Failure("%s: expected prompts of one set, found %s" % (path, ", ".join(tasks)))
    return tasks[0]


def measure(args, model):
    """One model, unless its results lie there."""
    args.model, path = model, os.path.join(args.out, name_of(model) + ".json")
    say("%s: %s" % (name_of(model), "nothing is left" if os.path.exists(path) else "is left"))
    if args.status or os.path.exists(path):
        return
    sets = {}
    for file in args.prompts:
        task = task_of(file)
        there = compared(name_of(model), task)
        found = ask(args, "bench", "--prompts", file, "--limit", there["limit"], "-n", there["tokens"], "--temp", 0, "--drafters", ",".join(DRAFTERS))
        sets[task] = {"limit": there["limit"], "tokens": there["tokens"], **gains(found["runs"])}
    os.makedirs(args.out, exist_ok=True)
    write(path, {"model": name_of(model), "machine": machine_of(args), "date": time.strftime("%Y-%m-%d"), "sets": sets})


# ---------------------------------------------------------------- the table

def mean(values):
    return sum(values) / len(values)


def ratio(logs):
    """The ratio and its interval, of its logarithms by set."""
    middle = mean(logs)
    if len(logs) < 2:
        return "%.2f" % math.exp(middle)
    half = T95[len(logs) - 1] * math.sqrt(sum((x - middle) ** 2 for x in logs) / (len(logs) - 1) / len(logs))
    return "%.2f (%.2f to %.2f)" % tuple(math.exp(x) for x in (middle, middle - half, middle + half))


def row(found, drafter):
    here = [one[drafter] for one in found["sets"].values()]
    there = [gains(compared(found["model"], task)["runs"])[drafter] for task in found["sets"]]
    speeds = [[math.log(one["speedup"]) for one in machine] for machine in (there, here)]
    rows = [mean([one["rows_per_pass"] for one in machine]) for machine in (there, here)]
    return "| %s | %s | %.2f | %.2f | %s | %.1f | %.1f |" % (
        found["model"], DRAFTERS[drafter], *(math.exp(mean(logs)) for logs in speeds), ratio([b - a for a, b in zip(*speeds)]), *rows)


def same_prompts(results):
    """The least and the greatest number of prompts of a set, and the tokens. A set must have as many as the comparison took."""
    for found in results:
        for task, one in found["sets"].items():
            other = compared(found["model"], task)
            if (one["limit"], one["tokens"]) != (other["limit"], other["tokens"]):
                raise Failure("%s, %s: %d prompts of %d tokens, the comparison has %d of %d" % (
                    found["model"], task, one["limit"], one["tokens"], other["limit"], other["tokens"]))
    sets = [one for found in results for one in found["sets"].values()]
    return min(one["limit"] for one in sets), max(one["limit"] for one in sets), sets[0]["tokens"]


def table(folder):
    results = [read(path) for path in sorted(glob.glob(os.path.join(folder, "*.json")))]
    if not results:
        raise Failure("%s: no results" % folder)
    first, tasks = results[0], list(results[0]["sets"])
    other, least, most, tokens = compared(first["model"], tasks[0]), *same_prompts(results)
    text = ["Speed over plain decoding, greedy, %s, %d to %d prompts a set, %d tokens each; that machine: %s, %s (%s), this one: %s (%s)." % (
                ", ".join(tasks), least, most, tokens, other["machine"]["cpu"], other["machine"]["isa"], other["date"], first["machine"], first["date"]), "",
            "| model | method | that machine | this machine | ratio (95 %) | rows a pass, that | this |",
            "| --- | --- | --- | --- | --- | --- | --- |"]
    text += [row(found, drafter) for found in results for drafter in DRAFTERS]
    return "\n".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add_results(add, "machines")
    add("-m", "--model", action="append", dest="models", default=[])
    add("--prompts", action="append", default=[], help="files of prompts, one set each")
    add("--machine", default="", help="the processor, in words")
    args = parser.parse_args()
    if args.models and not args.prompts:
        parser.error("--prompts FILES are missing")
    with sentences(__file__):
        for model in args.models:
            measure(args, model)
        if args.doc:
            between_markers(args.doc, MARKS, table(args.out))


if __name__ == "__main__":
    main()
