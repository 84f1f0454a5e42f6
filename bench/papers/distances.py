#!/usr/bin/env python3
"""How often guesses are right by distance, each method at the same places (Hidden Transfer, figure
3; PPD, figure 6a).

    bench/papers/distances.py -m smollm2-135m.gguf --prompts 'prompts/*_dev.jsonl'       continues where it was stopped
    bench/papers/distances.py --doc docs/papers/hidden-transfer.md                       the tables, from committed results

`forerun accuracy` runs every drafter at every place of plain decoding's answers. The brackets
contain 95 of 100 bootstrap samples of the prompts; differences are of both methods on the same
samples.
"""
import argparse
import glob
import os
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[1:1] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "bench", "comparison")]

from calls import Failure, between_markers, name_of, say, sentences
from measure import add_arguments, dates_of, prompt_lines, read, resume, same_prompts, write, write_prompts
from program import ask
from intervals import bootstrap

MARKS = ("<!-- by distance: begin, written by bench/papers/distances.py -->", "<!-- by distance: end -->")
METHODS = {"medusa": "Medusa", "ppd": "PPD", "hidden-transfer": "Hidden Transfer", "early-exit": "early exit"}
PAIRS = (("hidden-transfer", "medusa"), ("hidden-transfer", "early-exit"), ("ppd", "medusa"))
DISTANCES, FIRST, TEN = 3, 1, 2  # places of by_prompt's counts


# ---------------------------------------------------------------- measuring

def measure(args, model):
    """{task: {method: [by_prompt of each distance]}} of what is not there."""
    args.model = model
    path = os.path.join(args.out, name_of(model) + ".json")
    found = resume(path, {"model": name_of(model), "tokens": args.tokens, "limit": args.limit}, {"date": time.strftime("%Y-%m-%d"), "sets": {}})
    tasks = {task: lines[:args.limit] for task, lines in prompt_lines(args.prompts).items()}
    same_prompts(path, found, tasks)
    left = [task for task in tasks if task not in found["sets"]]
    say("%s: %d of %d sets are left" % (found["model"], len(left), len(tasks)))
    if args.status:
        return
    os.makedirs(args.out, exist_ok=True)
    for task in left:
        file = write_prompts(os.path.join(args.work, "prompts"), task, tasks[task])
        said = ask(args, "accuracy", "--prompts", file, "--limit", 0, "-n", args.tokens, "--drafter", ",".join(METHODS), "-t", args.threads)
        found["sets"][task] = {one["drafter"]: [distance["by_prompt"] for distance in one["distance"][:DISTANCES]] for one in said["drafters"]}
        found.setdefault("dates", {})[task] = time.strftime("%Y-%m-%d")
        write(path, found)
        say("%s: %s" % (found["model"], task))


# ---------------------------------------------------------------- tables

def share(counts, what):
    return 100 * sum(one[what] for one in counts) / max(1, sum(one[0] for one in counts))


def shares(counts, what):
    return bootstrap(len(counts), lambda some: share([counts[i] for i in some], what))


def differences(ones, others, what):
    return bootstrap(len(ones), lambda some: share([ones[i] for i in some], what) - share([others[i] for i in some], what))


def cells(distances, of, form):
    return ", ".join(form % of(distance) for distance in distances)


def table(args):
    text = []
    for path in sorted(glob.glob(os.path.join(args.out, "*.json"))):
        found = read(path)
        sets = found["sets"]
        text += ["%s, greedy, the packs that ship, %d tokens at most, %s; places at distance 1: %s." % (
            found["model"], found["tokens"], dates_of(found, [{"date": date} for date in found.get("dates", {}).values()] or [found]),
            ", ".join("%s %d of %d prompts" % (task, sum(one[0] for one in ones["medusa"][0]), len(ones["medusa"][0])) for task, ones in sorted(sets.items()))), "",
            "| prompts | | right at 1, 2, 3, % | among the first ten, % |", "| --- | --- | --- | --- |"]
        for task, ones in sorted(sets.items()):
            for method, name in METHODS.items():
                text.append("| %s | %s | %s | %s |" % (task, name, *(cells(ones[method], lambda counts, what=what: shares(counts, what), "%.0f (%.0f to %.0f)") for what in (FIRST, TEN))))
        text += ["", "Differences in percentage points:", "", "| prompts | | right at 1, 2, 3 | among the first ten |", "| --- | --- | --- | --- |"]
        for task, ones in sorted(sets.items()):
            for one, other in PAIRS:
                text.append("| %s | %s over %s | %s | %s |" % (task, METHODS[one], METHODS[other], *(
                    cells(zip(ones[one], ones[other]), lambda both, what=what: differences(*both, what), "%+.1f (%+.1f to %+.1f)") for what in (FIRST, TEN))))
        text.append("")
    if not text:
        raise Failure("%s: no results" % args.out)
    return "\n".join(text).rstrip()


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add_arguments(add)
    add("--work", help="folder of the prompts that are taken")
    add("--out", default=os.path.join(ROOT, "bench", "papers", "distances"), help="folder of what the tables are made from")
    add("-n", "--tokens", type=int, default=52, help="52 have 50 places at distance 1")
    add("--limit", type=int, default=100, help="prompts of a task (default: %(default)s)")
    add("--status", action="store_true", help="run nothing")
    add("--doc", help="a file whose part between the marks is written anew")
    args = parser.parse_args()
    if args.model and not args.work:
        parser.error("--work DIR is needed")
    return args


def main():
    with sentences(__file__):
        args = parse()
        for model in args.model:
            measure(args, model)
        if args.doc:
            between_markers(args.doc, MARKS, table(args))


if __name__ == "__main__":
    main()
