#!/usr/bin/env python3
"""Tokens per pass of one drafter's settings on many prompts, each compared with the first of its
kind. No clock is needed.

    bench/papers/variants.py --group trees -m smollm2-135m.gguf --prompts 'prompts/*_dev.jsonl' --work DIR     continues where it was stopped
    bench/papers/variants.py --group trees --doc docs/papers/ppd.md                                             the table, from committed results

`forerun-lab replay` does the work (docs/papers/README.md). The brackets contain 95 of 100 bootstrap
samples of the prompts. A ratio is of both settings on the same samples, so it can separate settings
whose intervals overlap.
"""
import argparse
import os
import sys
import time
from collections import namedtuple

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[1:1] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "bench", "comparison")]

import ablations
from calls import Failure, between_markers, name_of, say, sentences, sets_of_prompts
from measure import add_arguments, dates_of, prompt_lines, read, resume, same_prompts, write, write_prompts
from program import replay
from intervals import interval, lines_of, ratio

MARKS = ("<!-- variants, %s: begin, written by bench/papers/variants.py -->", "<!-- variants, %s: end -->")

# to: the setting that it is compared with; against: what the table calls that.
Variant = namedtuple("Variant", "name drafter options to tree", defaults=((), "", "16"))
Group = namedtuple("Group", "against variants")
SIZES = 8, 16, 32, 60, 105


def planned(method, title):
    """PPD, figure 8a: trees of its kinds, settled before a text is seen."""
    found = []
    for rows in SIZES:
        kinds = {kind: "%s, %d rows, %s" % (title, rows, kind) for kind in ("static", "random", "dynamic")}
        for kind, name in kinds.items():
            to = "" if kind == "static" else kinds["static"]
            found.append(Variant(name, method + "-planned", ("tree=" + kind, "rows=%d" % rows), to, "127"))
    return found


CHAIN = os.path.join(ROOT, "bench", "comparison", "trees", "chain.txt")


def beside_medusa():
    """PPD, section 5.1: both with trees of the same sizes, Medusa's of the candidates alone."""
    for rows in (8, 16, 32, 64):
        medusa = "Medusa, %d candidates" % rows
        yield Variant(medusa, "medusa", tree=str(rows))
        yield Variant("PPD, %d candidates" % rows, "ppd", (), medusa, str(rows))


def beside_chains():
    for method, title in (("hidden-transfer", "Hidden Transfer"), ("medusa", "Medusa"), ("eagle", "EAGLE")):
        chain = "%s, a chain of three" % title
        yield Variant(chain, method, tree=CHAIN)
        yield Variant("%s, 16 candidates" % title, method, to=chain)


FRESH = "always a new chain (`mode=fresh`)"


def of_ablations(group, method, places, first):
    """Drafters of packs that ablations.py trained, by their places in its group, each beside that at `first`; seed 0."""
    names = [setting.name for setting in ablations.GROUPS[group].settings]
    for at in places:
        yield Variant(names[at], "%s:{packs}/%s" % (method, ablations.pack_name(group, names[at], 0)), to=names[first] if at != first else "")


GROUPS = {
    "trees": Group("static", [*planned("ppd", "PPD"), *planned("hidden-transfer", "Hidden Transfer")]),
    "beside-medusa": Group("Medusa", list(beside_medusa())),
    # Hidden Transfer, abstract: a tree in place of a chain.
    "chain": Group("a chain", list(beside_chains())),
    # Make Every Draft Count, figures 2 and 4.
    "reuse": Group("a new chain", [
        Variant(FRESH, "hidden-state", ("mode=fresh",)),
        Variant("the leftover states alone (`mode=reuse`)", "hidden-state", ("mode=reuse",), FRESH),
        Variant("both in one (`mode=fused`)", "hidden-state", ("mode=fused",), FRESH),
        Variant("both in one tree (`hidden-state-union`)", "hidden-state-union", (), FRESH),
        Variant("guesses fed, the head at every level (`hidden-state-iterative`)", "hidden-state-iterative", (), FRESH),
        Variant("no token bias (`inject=0`)", "hidden-state", ("mode=fresh", "inject=0"), FRESH),
    ]),
    # PPD, section 5 and appendix C: how many vectors and prompt tokens.
    "vectors": Group("one vector", list(of_ablations("ppd", "ppd", (0, 1, 2, 3, 4, 9), 0))),
    # Hidden Transfer, section 4.4: where its maps enter.
    "entry": Group("layer 15", list(of_ablations("layers", "hidden-transfer", range(5), 2))),
}


# ---------------------------------------------------------------- measuring

def result_path(args, model):
    return os.path.join(args.out, "%s-%s.json" % (name_of(model), args.group))


def measure(args, model):
    """Every variant that is not there: tokens and passes of each prompt, {task: [[tokens, passes]]}."""
    path, variants = result_path(args, model), GROUPS[args.group].variants
    found = resume(path, {"model": name_of(model), "tokens": args.tokens, "limit": args.limit}, {"date": time.strftime("%Y-%m-%d"), "variants": {}})
    left = [variant for variant in variants if variant.name not in found["variants"]]
    say("%s, %s: %d of %d settings are left" % (args.group, found["model"], len(left), len(variants)))
    if args.status:
        return
    os.makedirs(args.out, exist_ok=True)
    tasks = {task: lines[:args.limit] for task, lines in prompt_lines(args.prompts).items()}
    same_prompts(path, found, tasks)
    files = [write_prompts(os.path.join(args.work, "prompts"), task, lines) for task, lines in tasks.items()]
    for variant in left:
        stem = os.path.join(args.work, "%s-%s" % (name_of(model), args.group))
        drafter = variant.drafter.format(packs=args.packs)
        replayed = replay(args, model, files, [drafter], stem, "--tree", variant.tree,
                          *(word for option in variant.options for word in ("--draft-opt", option)))[drafter]
        sets = replayed["sets"]
        mine = [line for lines in sets.values() for line in lines]
        found["variants"][variant.name] = {"rows": sum(line["rows"] for line in mine), "checked": sum(line["checked"] for line in mine),
                                           "packs": replayed["setup"]["packs"], "date": time.strftime("%Y-%m-%d"),
                                           "sets": {task: [[line["tokens"], line["passes"]] for line in lines] for task, lines in sets.items()}}
        write(path, found)
        say("%s: %s" % (found["model"], variant.name))


# ---------------------------------------------------------------- tables

def check_packs(path, group, there):
    """A pack that was trained anew is another one: its settings are not compared with the old one's."""
    packs = {}
    for variant in group.variants:
        mine = there.get(variant.name, {}).get("packs")
        if mine and packs.setdefault(variant.drafter, mine) != mine:
            raise Failure("%s: its settings of %s are of two packs: measure them anew" % (path, variant.drafter))


def table(args):
    text = []
    for name in sorted(name for name in os.listdir(args.out) if name.endswith("-%s.json" % args.group)):
        group, result = GROUPS[args.group], read(os.path.join(args.out, name))
        there = result["variants"]
        sets = next(iter(there.values()))["sets"]
        check_packs(name, group, there)
        text += ["%s, greedy, %d tokens, %s, %s; %d results checked by full decoding, all equal." % (
            result["model"], result["tokens"], dates_of(result, there.values()), sets_of_prompts({task: len(lines) for task, lines in sets.items()}),
            sum(one["checked"] for one in there.values())), "", "| | tokens a pass | rows | over %s |" % group.against, "| --- | --- | --- | --- |"]
        for variant in group.variants:
            if variant.name not in there:
                continue
            lines = lines_of(there[variant.name]["sets"])
            beside = "%.2f (%.2f to %.2f)" % ratio(lines, lines_of(there[variant.to]["sets"])) if variant.to in there else ""
            rows = there[variant.name]["rows"] / sum(line[1] for line in lines)
            text.append("| %s | %.2f (%.2f to %.2f) | %.0f | %s |" % (variant.name, *interval(lines), rows, beside))
        text.append("")
    if not text:
        raise Failure("%s: no results of %s" % (args.out, args.group))
    return "\n".join(text).rstrip()


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add_arguments(add)
    add("--group", choices=GROUPS, required=True)
    add("--work", help="folder of answers and results by prompt, which are gone on with")
    add("--packs", help="folder of packs that ablations.py trained, for groups that draft with those")
    add("--out", default=os.path.join(ROOT, "bench", "papers", "variants"), help="folder of what the tables are made from")
    add("-n", "--tokens", type=int, default=128)
    add("--limit", type=int, default=30, help="prompts of a task (default: %(default)s)")
    add("--check", type=float, default=0.02, help="share that real runs check (default: %(default)s)")
    add("--status", action="store_true", help="run nothing")
    add("--doc", help="a file whose part between the marks is written anew")
    args = parser.parse_args()
    if args.model and not args.work:
        parser.error("--work DIR is needed")
    if args.model and not args.packs and any("{packs}" in variant.drafter for variant in GROUPS[args.group].variants):
        parser.error("--packs DIR is needed")
    return args


def main():
    with sentences(__file__):
        args = parse()
        for model in args.model:
            measure(args, model)
        if args.doc:
            between_markers(args.doc, [mark % args.group for mark in MARKS], table(args))


if __name__ == "__main__":
    main()
