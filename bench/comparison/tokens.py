#!/usr/bin/env python3
"""Tokens per pass of every system that the papers measure, on many prompts: the half of the
comparison that needs no clock.

    bench/comparison/tokens.py -m smollm2-135m.gguf -m qwen2.5-coder-1.5b.gguf --prompts 'prompts/*.jsonl' --work DIR \\
        --draft qwen2.5-coder-1.5b=qwen2.5-coder-0.5b.gguf --store qwen2.5-coder-1.5b=answers.store
    bench/comparison/tokens.py --doc docs/papers/tokens-a-pass.md          writes the tables from committed results
    bench/comparison/tokens.py ... --status                                lists what is done and what is left

`forerun-lab replay` does the work: plain decoding's answers once, then every drafter over them with
trees of --tree rows. 2 % of the results are also decoded for real and must be the same. Prompts are
grouped by their "task".

Answers and results by prompt are in --work, and the same command continues from there. --out has,
for each model and temperature, tokens and passes of every prompt. The tables are made from it, and
another machine can continue it, set by set.

A cell is pooled: all tokens divided by all passes. The interval contains 95 of 100 bootstrap
samples of the prompts. If answers begin by repeating their prompt (HumanEval), which measures
copying, a second column has the passes that begin after that part; --longer gives such a task more
tokens.
"""
import argparse
import glob
import json
import math
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(1, os.path.join(ROOT, "bench"))

from calls import Failure, between_markers, name_of, say, sentences, sets_of_prompts
from intervals import interval, lines_of
from measure import PROBE, Machine, add_arguments, by_options, fill_of, pairs, probe, prompt_lines, read, resume, same_prompts, write, write_prompts
from ratios import ratio_table
from replays import replay
from systems import SYSTEMS

MARKS = ("<!-- %s: begin, written by bench/comparison/tokens.py -->", "<!-- %s: end -->")
CLOCKED = ("none", "auto", "tree=sequoia")  # what they do is one token a pass, or follows the clock


# ---------------------------------------------------------------- measuring

def result_path(args, model, temperature):
    return os.path.join(args.out, "%s-%s.json" % (name_of(model), temperature))


def shape_of(tree):
    """What a tree is, in words."""
    if tree.isdigit():
        return "trees of %s candidates" % tree
    with open(tree, encoding="utf-8") as f:
        return "one tree for all, %s" % " ".join(f.read().split())


def tokens_of(args, task):
    return args.longer.get(task, args.tokens)


def systems_of(args, machine, model):
    """({options: [system]}, {name: spec}) of those that can run; what could is kept in --work, what could not is tried again."""
    path, fill, specs = os.path.join(args.work, name_of(model) + ".systems.json"), fill_of(args, model), {}
    wanted = args.systems.split(";") if args.systems else [s.name for s in SYSTEMS]
    for system in SYSTEMS:
        if system.name in wanted and not {system.spec, *system.options}.intersection(CLOCKED):
            try:
                specs[system.name] = system.spec.format(**fill)
            except KeyError as missing:
                say("%s: %s is left out: it needs --%s" % (name_of(model), system.name, missing.args[0]))
    ran = read(path) if os.path.exists(path) else {}
    new = [s for s in SYSTEMS if s.name in specs and ran.get(s.name, {}).get("spec") != specs[s.name]]
    if new and not args.status:
        for name, found in probe(machine, model, new, fill).items():
            if "spec" in found:
                ran[name] = found
            else:
                say("%s: %s is left out: %s" % (name_of(model), name, found["why"]))
        write(path, ran)
    there = [s for s in SYSTEMS if s.name in specs and (args.status or ran.get(s.name, {}).get("spec") == specs[s.name])]
    return by_options(there, {s.name: {"spec": specs[s.name]} for s in there}), {s.name: specs[s.name] for s in there}


def stem_of(args, model, temperature, tokens):
    """Where answers of so many tokens lie, and results on them."""
    return os.path.join(args.work, "%s-%s-%d" % (name_of(model), temperature, tokens))


def one_call(args, machine, model, temperature, file, specs, options):
    """What `replay` finds of systems with the same options on one set of prompts, and the seconds that it took."""
    tokens = tokens_of(args, name_of(file))
    line = machine.on(model, "replay", "--temp", temperature, "--seed", machine.seed, "-n", tokens, "--tree", args.tree, "--width", args.width,
                      "--check", args.check, options=options)
    return replay(line, [file], specs, stem_of(args, model, temperature, tokens))


def setups_of(args, machine, model, specs, options):
    """{spec: what its results with this program and today's packs depend on}, by one token of one prompt."""
    file = write_prompts(os.path.join(args.work, "probe"), "probe", [json.dumps({"id": "probe", "task": "probe", "messages": [{"role": "user", "content": PROBE}]}) + "\n"])
    line = machine.on(model, "replay", "-n", 1, "--tree", args.tree, "--check", 0, options=options)
    return {spec: one["setup"] for spec, one in replay(line, [file], specs, os.path.join(args.work, "probe", name_of(model)))[0].items()}


def files_of(setup):
    """Fingerprints of the packs, draft models and datastores that a drafter reads."""
    return setup["packs"] + [one for one in setup["files"] if isinstance(one, str)]


def check_trees(result, drafting):
    """Results of drafters that propose other trees are not gone on with."""
    if result["systems"] and result["drafting"] != drafting:
        raise Failure("%s: it is of drafters that propose other trees: give another --out, or take it away" % result["model"])


def begin(args, model, temperature):
    """The result that is gone on with: {"systems": {name: {"spec", "sets": {task: [[tokens, passes, those of copied heads]]}, and
    by task "rows", "checked", "packs" and the "dates" of measuring}}, "prompts": a name of each set's}."""
    head = {"model": name_of(model), "temperature": float(temperature), "tokens": args.tokens, "longer": args.longer, "tree": shape_of(args.tree), "seed": args.seed}
    return resume(result_path(args, model, temperature), head, {"drafting": None, "seconds": 0, "systems": {}})


def add(result, name, found):
    """Puts what was found of a system's sets in the place of what was there. Never fewer prompts, nor another program's beside it."""
    setup = found["setup"]
    check_trees(result, setup["drafting"])
    result["drafting"] = setup["drafting"]
    one = result["systems"].setdefault(name, {"spec": os.path.basename(setup["drafter"]), **{key: {} for key in ("sets", "rows", "checked", "packs", "dates")}})
    for task, lines in found["sets"].items():
        if len(lines) < len(one["sets"].get(task, ())):
            raise Failure("%s, %s: %d prompts are there, here are %d: give another --out" % (name, task, len(one["sets"][task]), len(lines)))
        one["sets"][task] = [[line[key] for key in ("tokens", "passes", "copied_tokens", "copied_passes")] for line in lines]
        one["rows"][task], one["checked"][task] = (sum(line[key] for line in lines) for key in ("rows", "checked"))
        one["packs"][task], one["dates"][task] = files_of(setup), max(line["date"] for line in lines)


def is_there(result, name, task, count, setup):
    """Whether a system has been measured on so many prompts of a set with what it reads today: on this machine or another."""
    one = result["systems"].get(name, {"sets": {}, "packs": {}})
    return len(one["sets"].get(task, ())) == count and one["packs"][task] == files_of(setup)


def cells_left(result, names, prompts):
    """Systems on sets that are not there with as many prompts. What is there of other packs is found out by measuring alone."""
    there = {name: one["sets"] for name, one in result["systems"].items()}
    return sum(len(there.get(name, {}).get(task, ())) < count for name in names for task, count in prompts.items())


def say_left(result, left, cells):
    """A cell is a system on a set of prompts. How long those took that are there says how long the others will."""
    took = result["seconds"] / 60
    about = ", about %.0f min; the others took %.0f" % (took / (cells - left) * left, took) if took and left < cells else ""
    say("%s at %g: %d of %d cells are left%s" % (result["model"], result["temperature"], left, cells, about))


def groups_of(args, machine, model, by_option, names):
    """Systems of the same options, and what their results depend on: [(options, {system: spec}, {spec: setup})]."""
    groups = []
    for options, systems in by_option.items():
        specs = {system.name: names[system.name] for system in systems}
        groups.append((options, specs, setups_of(args, machine, model, list(specs.values()), options)))
    return groups


def measure_set(args, machine, model, temperature, file, count, groups, result):
    """Every system of the groups that is not there on one set of prompts."""
    for options, specs, setups in groups:
        left = [name for name, spec in specs.items() if not is_there(result, name, name_of(file), count, setups[spec])]
        if not left:
            continue
        found, seconds = one_call(args, machine, model, temperature, file, [specs[name] for name in left], options)
        for name in left:
            add(result, name, found[specs[name]])
        result["seconds"] += seconds
        result["systems"] = {s.name: result["systems"][s.name] for s in SYSTEMS if s.name in result["systems"]}
        write(result_path(args, model, temperature), result)


def measure(args):
    """Set by set, so that what is there at any time has all systems."""
    machine = Machine(args.bin, args.threads, args.seed)
    tasks = {task: lines[:args.limit] for task, lines in prompt_lines(args.prompts).items()}
    counts = {task: len(set(lines)) for task, lines in tasks.items()}
    files = [write_prompts(os.path.join(args.work, "prompts"), task, lines) for task, lines in tasks.items()]
    os.makedirs(args.out, exist_ok=True)
    for model in args.model:
        by_option, names = systems_of(args, machine, model)
        groups = [] if args.status else groups_of(args, machine, model, by_option, names)
        for temperature in args.temps.split(","):
            result = begin(args, model, temperature)
            same_prompts(result_path(args, model, temperature), result, tasks)
            say_left(result, cells_left(result, names, counts), len(names) * len(counts))
            if args.status:
                continue
            for setup in (setup for _, _, setups in groups for setup in setups.values()):  # before hours are spent
                check_trees(result, setup["drafting"])
            for file in files:
                measure_set(args, machine, model, temperature, file, counts[name_of(file)], groups, result)


# ---------------------------------------------------------------- tables

def behind_heads(lines):
    """Tokens and passes after the heads that repeat the prompt."""
    return [[tokens - copied, passes - copied_passes] for tokens, passes, copied, copied_passes in lines if passes > copied_passes]


def is_copied(sets):
    """Whether a seventh or more of what a set's systems gave repeats the prompt."""
    return any(sum(line[2] for line in lines) >= sum(line[0] for line in lines) / 7 for lines in sets)


def apart(column):
    """The system whose interval lies above all others', or None."""
    best = max(column, key=lambda name: column[name][0])
    return best if len(column) > 1 and all(column[best][1] > column[name][2] for name in column if name != best) else None


def columns_of(result):
    """{column: {system: (pooled, low, high)}}: sets, what is left of them behind copied heads, and "all" of the systems that
    have every set."""
    systems, columns = result["systems"], {}
    tasks = sorted({task for system in systems.values() for task in system["sets"]})
    for task in tasks:
        there = {name: system["sets"][task] for name, system in systems.items() if task in system["sets"]}
        columns[task] = {name: interval(lines) for name, lines in there.items()}
        if is_copied(there.values()):
            columns[task + ", not copied"] = {name: interval(behind) for name, lines in there.items() if (behind := behind_heads(lines))}
    whole = {name: lines_of(system["sets"]) for name, system in systems.items() if len(system["sets"]) == len(tasks)}
    columns["all"] = {name: interval(lines) for name, lines in whole.items()}
    return columns


def cell(tokens, low, high):
    return "%.2f (%.2f to %.2f)" % (tokens, low, high) if high < math.inf else "%.2f" % tokens


def rows_a_pass(system):
    """What a pass had to work on: candidates, the last token, and rows that are attached to them."""
    return "%.0f" % (sum(system["rows"].values()) / sum(line[1] for lines in system["sets"].values() for line in lines))


def table(result):
    columns = columns_of(result)
    best = {task: apart(column) if len(column) == len(result["systems"]) else None for task, column in columns.items()}
    lines = ["| system | " + " | ".join(columns) + " | rows |", "| --- |" + " --- |" * (1 + len(columns))]
    for name, system in result["systems"].items():
        cells = []
        for task, column in columns.items():
            text = cell(*column[name]) if name in column else ""
            cells.append("**%s**" % text if best[task] == name else text)
        lines.append("| %s | %s | %s |" % (name, " | ".join(cells), rows_a_pass(system)))
    return lines


def describe(result):
    systems = result["systems"].values()
    sets = {task: len(lines) for system in systems for task, lines in system["sets"].items()}
    checked = sum(count for system in systems for count in system["checked"].values())
    longer = "".join(", %d of %s" % (tokens, task) for task, tokens in result["longer"].items() if task in sets)
    dates = sorted({date for system in systems for date in system["dates"].values()})
    return ("%s, %s, %s tokens at most%s, %s, %s: %s; %d results checked by full decoding, all equal." % (
        result["model"], "temperature %g, seed %d" % (result["temperature"], result["seed"]) if result["temperature"] else "greedy",
        result["tokens"], longer, result["tree"], " to ".join(sorted({dates[0], dates[-1]})), sets_of_prompts(sets), checked))


def results(args):
    """What is committed, at the temperatures and of the systems that the line names."""
    wanted = args.systems and args.systems.split(";")
    for path in sorted(glob.glob(os.path.join(args.out, "*.json"))):
        result = read(path)
        if "%g" % result["temperature"] in args.temps.split(","):
            yield dict(result, systems={name: system for name, system in result["systems"].items() if not wanted or name in wanted})


def tables(args):
    """A table for each result, and after it the ratios of systems."""
    text = [line for result in results(args) for line in (describe(result), "", *table(result), "", *ratio_table(result))]
    if not text:
        raise Failure("%s: no results" % args.out)
    return "\n".join(text).rstrip()


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add_arguments(add)
    add("--work", help="folder of answers and of results by prompt, which are gone on with")
    add("--out", default=os.path.join(ROOT, "bench", "comparison", "tokens"), help="folder of what the tables are made from")
    add("--temps", default="0", help="temperatures, of the tables too (default: %(default)s)")
    add("-n", "--tokens", type=int, default=128)
    add("--longer", action="append", default=[], metavar="TASK=N", help="tokens of a task whose answers begin by repeating their prompt")
    add("--tree", default="16", help="rows of a tree, or the file of its shape (default: %(default)s)")
    add("--systems", metavar="NAME;NAME", help="these alone, in the tables too")
    add("--marks", default="tokens a pass", help="what the marks in --doc say (default: %(default)s)")
    add("--width", type=int, default=16, help="texts at once (default: %(default)s)")
    add("--check", type=float, default=0.02, help="share that real runs check (default: %(default)s)")
    add("--limit", type=int, default=30, help="prompts of a task (default: %(default)s)")
    add("--status", action="store_true", help="run nothing")
    add("--doc", help="a file whose part between the marks is written anew")
    args = parser.parse_args()
    unknown = set(args.systems.split(";") if args.systems else ()) - {system.name for system in SYSTEMS}
    if unknown:
        parser.error("--systems: no %s; expected some of %s" % (", ".join(sorted(unknown)), ", ".join(system.name for system in SYSTEMS)))
    args.draft, args.store = pairs(args.draft, "draft"), pairs(args.store, "store")
    try:
        args.longer = {task: int(tokens) for task, _, tokens in (given.partition("=") for given in args.longer)}
    except ValueError:
        parser.error("--longer: expected TASK=N")
    if args.model and not args.work:
        parser.error("--work DIR is missing")
    if not args.model and not args.doc:
        parser.error("-m MODEL, or --doc FILE")
    return args


def main():
    with sentences(__file__):
        args = parse()
        if args.model:
            os.makedirs(args.work, exist_ok=True)
            measure(args)
        if args.doc:
            between_markers(args.doc, [mark % args.marks for mark in MARKS], tables(args))


if __name__ == "__main__":
    main()
