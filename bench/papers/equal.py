#!/usr/bin/env python3
"""The order of trained methods, or of recipes, at an equal budget: one corpus, one held-out set,
the same processor time for each.

    bench/papers/equal.py -m smollm2-135m.gguf --data states --prompts 'prompts/*_dev.jsonl' --work DIR [--part rates]
    bench/papers/equal.py --doc docs/papers/equal-trainings.md          writes the tables from committed results

1. A few steps of every method are timed (--part rates: only this).
2. Each method is trained for as many steps as its rate gives in --seconds on --threads threads, so
   that other load on the machine changes nothing. There is one training for each of --seeds; some
   recipes have the first seed alone.
3. The pack of each training drafts alone over the prompts.

With --steps N all have N steps, an equal budget of tokens, and no rates are needed. --out has for
each model the rates, the results of training, and tokens and passes of every prompt, training by
training. The same command continues from there, on another machine too, with the steps of the
first.
"""
import argparse
import os
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[1:1] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "bench", "comparison")]

from calls import Failure, between_markers, name_of, say, sentences
from equal_table import LISTS, table
from measure import add_arguments, prompt_lines, resume, write, write_prompts
from program import drop, machine_of, replay, train

MARKS = ("<!-- %s at an equal budget: begin, written by bench/papers/equal.py -->", "<!-- %s at an equal budget: end -->")


# ---------------------------------------------------------------- trainings

def train_line(args, method, pack, steps, seed):
    line = [args.bin, "train", method.learner, "-m", args.model[0], "--data", args.data, "-o", pack, "-t", str(args.threads),
            "--steps", str(steps), "--seed", str(seed), "--checkpoint-every", "3600", "--judgements", "1", "--json"]
    for setting in method.settings:
        line += ["--set", setting]
    return line + list(method.options)


def time_steps(args, found):
    """found["rates"]: {method: [processor seconds before the first step, of a step]}, from few steps and from more."""
    rates = found["rates"]
    for method in LISTS[args.list]:
        if method.name in rates:
            continue
        few, more = method.trial
        pack, taken = os.path.join(args.work, "trial.gguf"), []
        for steps in (few, more):
            taken.append(train(train_line(args, method, pack, steps, 0))[1])
        step = (taken[1] - taken[0]) / (more - few)
        if step <= 0:
            raise Failure("%s: %d steps took %.1f s, %d took %.1f s: the same line tries again" % (method.name, few, taken[0], more, taken[1]))
        rates[method.name] = [taken[0] - few * step, step]
        say("%s: %.1f s, then %.2f s a step" % (method.name, *rates[method.name]))
        write(result_path(args), found)


def steps_of(args, rate):
    before, step = rate
    return max(1, round((args.seconds * args.threads - before) / step))


def kind_of(args):
    """What the results are called by: the list, and where tokens are equal in place of time, that."""
    return args.list + "-tokens" * bool(args.steps)


def result_path(args):
    return os.path.join(args.out, "%s-%s.json" % (name_of(args.model[0]), kind_of(args)))


def pack_of(args, method, seed):
    return os.path.join(args.work, "%s-%s-%d.gguf" % (kind_of(args), "".join(c if c.isalnum() else "-" for c in method.name), seed))


def trainings(args):
    """(seed, method), one seed after the other."""
    return [(seed, method) for at, seed in enumerate(args.seeds) for method in LISTS[args.list] if at < method.seeds]


def is_there(found, method, seed):
    return any(one["seed"] == seed for one in found["methods"].get(method.name, ()))


def say_left(args, left):
    say("%s: %d of %d trainings are left, %s, each with the replay of its pack" % (
        name_of(args.model[0]), len(left), len(trainings(args)), "%d steps each" % args.steps if args.steps else "%.0f minutes" % (len(left) * args.seconds / 60)))


def learned(args, method, seed, steps, pack):
    """What a training says at its end."""
    say("%s, seed %d: %d steps" % (method.name, seed, steps))
    said, seconds = train(train_line(args, method, pack, steps, seed))
    judged = [point for point in said["curve"] if point["step"] == said["best"]["step"]][-1]
    return {"seed": seed, "steps": said["steps"], "tokens": said["tokens"], "seconds": seconds, "machine": machine_of(args), "date": time.strftime("%Y-%m-%d"),
            "parameters": said["parameters"], "data": said["data"], "loss": said["best"]["loss"],
            "right": [ranks[0] for ranks in said["best"]["accuracy_depth_rank"]], "right_everywhere": judged["accuracy"]}


# ---------------------------------------------------------------- drafting

def drafted(args, spec):
    """What a pack gives on the prompts, {task: [[tokens, passes]]}, and how many of them were decoded for real too."""
    tasks = {task: lines[:args.limit] for task, lines in prompt_lines(args.prompts).items()}
    files = [write_prompts(os.path.join(args.work, "prompts"), task, lines) for task, lines in tasks.items()]
    sets = replay(args, args.model[0], files, [spec], os.path.join(args.work, "replay"), "--tree", "16")[spec]["sets"]
    return {"sets": {task: [[line["tokens"], line["passes"]] for line in lines] for task, lines in sets.items()},
            "checked": sum(line["checked"] for lines in sets.values() for line in lines)}


def measure(args):
    """Every training that is not there, and what its pack drafts: {method: [of a seed]}."""
    found = resume(result_path(args), {"list": args.list, "model": name_of(args.model[0]), "seconds": 0 if args.steps else args.seconds, "steps": args.steps,
                                       "threads": args.threads, "tokens": args.tokens, "limit": args.limit}, {"rates": {}, "methods": {}})
    left = [(seed, method) for seed, method in trainings(args) if not is_there(found, method, seed)]
    say_left(args, left)
    if args.status:
        return
    os.makedirs(args.work, exist_ok=True)
    os.makedirs(args.out, exist_ok=True)
    if not args.steps:
        time_steps(args, found)
    for seed, method in left if not args.part else ():
        pack = pack_of(args, method, seed)
        one = learned(args, method, seed, args.steps or steps_of(args, found["rates"][method.name]), pack)
        found["methods"].setdefault(method.name, []).append({**one, **drafted(args, "%s:%s" % (method.drafter, pack))})
        write(result_path(args), found)
        drop(pack, pack + ".out", pack + ".err")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add_arguments(add)
    add("--data", help="folder of shards of the target's own answers, with the residuals that the methods read")
    add("--work", help="folder of packs while they are judged, and of replays")
    add("--out", default=os.path.join(ROOT, "bench", "papers", "equal"), help="folder of what the tables are made from")
    add("--seconds", type=float, default=300, help="of a training, on all threads (default: %(default)s)")
    add("--steps", type=int, default=0, help="so many steps for each in place of --seconds")
    add("--seeds", type=lambda text: [int(seed) for seed in text.split(",")], default=[0, 1, 2])
    add("--part", choices=["rates"], help="no more than this part")
    add("--machine", default="", help="the processor, in words")
    add("-n", "--tokens", type=int, default=128)
    add("--limit", type=int, default=30, help="prompts of a task (default: %(default)s)")
    add("--check", type=float, default=0.02, help="share that real runs check (default: %(default)s)")
    add("--list", choices=LISTS, default="methods", help="what is trained (default: %(default)s)")
    add("--status", action="store_true", help="run nothing")
    add("--doc", help="a file whose part between the marks is written anew")
    args = parser.parse_args()
    if args.model and not (args.work and args.data):
        parser.error("--data DIR and --work DIR are needed")
    if len(args.model) > 1 or not (args.model or args.doc):
        parser.error("one -m MODEL, or --doc FILE")
    return args


def main():
    with sentences(__file__):
        args = parse()
        if args.model:
            measure(args)
        if args.doc:
            between_markers(args.doc, [mark % args.list for mark in MARKS], table(args.out, args.list))


if __name__ == "__main__":
    main()
