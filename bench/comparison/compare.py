#!/usr/bin/env python3
"""The full comparison: every system that the papers measure, on every set of prompts, greedy and
sampled.

    bench/comparison/compare.py -m smollm2-135m.gguf -m qwen2.5-coder-1.5b.gguf --prompts 'prompts/*.jsonl' --out comparison \\
        --draft qwen2.5-coder-1.5b=qwen2.5-coder-0.5b.gguf --store qwen2.5-coder-1.5b=answers.store
    bench/comparison/compare.py --out comparison --tables --doc docs/papers/comparison.md --results docs/results.md     writes the tables again

Prompts are grouped by their "task". All systems of one unit and plain decoding take turns pass by
pass, and every system must give the bytes of plain decoding. With the 1.5B it takes hours. Results
are in --out, and the same command continues where it was stopped. --doc gets all tables.
`forerun bench --report` draws a page for the answers of a unit: OUT/pages/MODEL/UNIT/index.html.
"""
import argparse
import os
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[1:1] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "bench", "peers")]

import tables
from calls import Failure, between_markers, name_of, say, sentences
from machine import cpu_name
from measure import Machine, add_arguments, by_options, check_same, fill_of, pairs, probe, prompt_lines, read, trainings, write, write_prompts
from systems import SYSTEMS


def is_new(system, known, fill):
    """Whether it could not run, or is another drafter by now. A line without its draft model or datastore asks for no other one."""
    try:
        return known.get("spec") != system.spec.format(**fill)
    except KeyError:
        return "spec" not in known


def units_of(args, machine, prompts):
    """(path of the result, model, prompts, systems, specs, options, temperature) of all, what is done included."""
    for model in args.model:
        folder = os.path.join(args.out, name_of(model))
        os.makedirs(folder, exist_ok=True)
        about = os.path.join(folder, "model.json")
        known = read(about) if os.path.exists(about) else {"systems": {}}
        fill = fill_of(args, model)
        new = [s for s in SYSTEMS if is_new(s, known["systems"].get(s.name, {}), fill)]
        if new and not args.status:
            known["systems"].update(probe(machine, model, new, fill))
            known["trainings"] = trainings(machine, model, args.packs)
            write(about, known)
        probed = known["systems"] or {s.name: {"spec": s.spec} for s in SYSTEMS}
        for temperature in args.temps.split(","):
            for task, path in prompts.items():
                for options, systems in by_options(SYSTEMS, probed).items():
                    label = "-".join([task, temperature, *options]).replace("=", "")
                    yield (os.path.join(folder, label + ".json"), model, task, path, systems,
                           [probed[s.name]["spec"] for s in systems], options, float(temperature))


def is_done(args, unit, tasks):
    """Whether its result is there. One that was measured in another way is not gone on from."""
    if not os.path.exists(unit[0]):
        return False
    found, task = read(unit[0]), unit[2]
    there = dict(zip(found["names"], (run["drafter"] for run in found["runs"])))
    other = [system.name for system, spec in zip(unit[4], unit[5]) if there.get(system.name) != spec]
    if other:
        raise Failure("%s: measured without %s, or with another drafter of that name: take it away, so that all take turns again, or give another --out" % (
            unit[0], ", ".join(other)))
    found = {"seed": 1, **found}  # early results do not say it
    check_same(unit[0], found, {"tokens": args.tokens, "limit": min(args.limit, len(tasks[task])), "seed": args.seed})
    if found["machine"]["threads"] != args.threads or found["machine"]["cpu"] != cpu_name():
        raise Failure("%s: measured on %s, %d threads: give another --out" % (unit[0], found["machine"]["cpu"], found["machine"]["threads"]))
    return True


def measure(args):
    machine = Machine(args.bin, args.threads, args.seed)
    tasks = prompt_lines(args.prompts)
    prompts = {task: write_prompts(os.path.join(args.out, "prompts"), task, lines[:args.limit]) for task, lines in tasks.items()}
    units = list(units_of(args, machine, prompts))
    left = [unit for unit in units if not is_done(args, unit, tasks)]
    took = [seconds for unit in units if os.path.exists(unit[0]) and (seconds := read(unit[0]).get("seconds"))]
    about = ", about %.0f min" % (sum(took) / len(took) * len(left) / 60) if took else ""
    say("%d of %d units are left%s" % (len(left), len(units), about))
    if args.status:
        return
    start = time.time()
    for done, (path, model, task, file, systems, specs, options, temperature) in enumerate(left):
        rest = (time.time() - start) / done * (len(left) - done) if done else 0
        say("%3d of %d  %s, %s at %g%s%s" % (done + 1, len(left), name_of(model), task, temperature, "".join(" " + o for o in options),
                                            ", about %d min left" % (rest / 60) if done else ""))
        report = os.path.join(args.out, "pages", name_of(model), name_of(path))
        os.makedirs(report, exist_ok=True)
        begun = time.monotonic()
        said = machine.bench(model, file, specs, options, temperature, args.tokens, report)
        said.update(seconds=time.monotonic() - begun, task=task, temperature=temperature, date=time.strftime("%Y-%m-%d"), limit=min(args.limit, len(tasks[task])), tokens=args.tokens, seed=args.seed,
                    names=["plain"] + [s.name for s in systems])
        write(path, said)
    if args.again:
        run_again(args, machine, tasks)


def run_again(args, machine, tasks):
    """Where `auto` came in behind: it and the fastest alone, on prompts of their own. The first of twenty that are equally
    fast is in front by luck, which other prompts do not repeat."""
    models = {name_of(model): model for model in args.model}
    for results in tables.load(args.out):
        for temperature, task, winner in results.behind():
            path = os.path.join(args.out, results.name, "%s-%g-again.json" % (task, temperature))
            lines = tasks.get(task, [])[results.taken[task]:][:args.again]
            if results.name not in models or not lines or tables.second_look(results, temperature, task):
                continue
            say("again  %s, %s at %g: auto and %s" % (results.name, task, temperature, winner))
            specs = ["auto", results.probed[winner]["spec"]]
            prompts = write_prompts(os.path.join(args.out, "prompts-again"), task, lines)
            said = machine.bench(models[results.name], prompts, specs, (), temperature, args.tokens)
            said.update(task=task, temperature=temperature, date=time.strftime("%Y-%m-%d"), limit=len(lines), tokens=args.tokens, seed=args.seed,
                        names=["plain", "auto", winner], again=True)
            write(path, said)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser.add_argument)
    parser.add_argument("--out", required=True, help="folder of results, which are kept, and of the pages of each unit")
    parser.add_argument("--packs", default=os.path.join(ROOT, "packs"))
    parser.add_argument("--temps", default="0,0.7")
    parser.add_argument("-n", "--tokens", type=int, default=64)
    parser.add_argument("--limit", type=int, default=6, help="prompts of a task")
    parser.add_argument("--again", type=int, default=0, metavar="N",
                        help="where auto is behind the fastest, run both on the next N prompts")
    parser.add_argument("--tables", action="store_true", help="measure nothing")
    parser.add_argument("--status", action="store_true", help="say what is left, and measure nothing")
    parser.add_argument("--doc", help="a file whose part between the marks is written anew")
    parser.add_argument("--results", help="the same, the short table")
    args = parser.parse_args()
    args.draft, args.store = pairs(args.draft, "draft"), pairs(args.store, "store")
    if not args.tables and not args.model:
        parser.error("-m MODEL, or --tables")
    return args


def main():
    with sentences(__file__):
        args = parse()
        os.makedirs(args.out, exist_ok=True)
        if not args.tables:
            measure(args)
        if args.doc:
            between_markers(args.doc, tables.MARKS, tables.details(tables.load(args.out)))
        if args.results:
            between_markers(args.results, tables.MARKS, tables.summary(tables.load(args.out)))


if __name__ == "__main__":
    main()
