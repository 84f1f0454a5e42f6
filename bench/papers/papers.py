#!/usr/bin/env python3
"""Runs all measurements for the tables of docs/papers, part by part, or lists what each takes and
what is left.

    make papers PROMPTS='prompts/*_dev.jsonl' WORK=papers-work            every part, each continued where it was stopped
    make papers ... PARTS=tokens,one-tree                                 these alone
    make papers ... STATUS=1                                              nothing is run

A part whose models or prompts are missing is left out with a message. Tokens per pass need no quiet
machine; parts that use the clock do. WORK/took.json has the seconds that each part has taken.
hours.json beside this file has the hours of the parts that ran whole.
"""
import argparse
import contextlib
import glob
import os
import subprocess
import sys
import time
from collections import namedtuple

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMPARISON = os.path.join(ROOT, "bench", "comparison")
sys.path[1:1] = [os.path.join(ROOT, "bench"), COMPARISON]

from measure import read, write

MODELS = ("smollm2-135m", "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b")
JUDGED = "alpaca,gsm8k,mt_bench"
OF_PACKS = "EAGLE and prompt lookup;hidden-state and prompt lookup;Chimera and prompt lookup;Medusa and prompt lookup;prompt lookup"
ONE_TREE = "self-speculative (layers by rule);Medusa-1;Hidden Transfer"

# tasks: of which prompts are read; all where it names none, and no prompts at all where it is None. docs: what is added to the
# line, once for each page that is written from the results.
Part = namedtuple("Part", "name what models tasks line docs")


def parts(args):
    tokens, clock = os.path.join(COMPARISON, "tokens.py"), os.path.join(COMPARISON, "compare.py")
    work = ["--work", os.path.join(args.work, "tokens")]
    papers, scripts = os.path.join(ROOT, "docs", "papers"), os.path.join(ROOT, "bench", "papers")
    whole = [tokens, *work, "--longer", "humaneval=256"]
    one_tree = [tokens, *work, "--systems", ONE_TREE, "--tree", os.path.join(COMPARISON, "trees", "three-deep.txt"),
                "--out", os.path.join(scripts, "one-tree"), "--marks", "one tree"]
    pages = [["--temps", "0,0.7", "--doc", os.path.join(papers, "tokens-a-pass.md")],
             ["--temps", "0", "--doc", os.path.join(ROOT, "packs", "README.md"), "--marks", "packs", "--systems", OF_PACKS]]
    equal = [os.path.join(scripts, "equal.py"), "--work", os.path.join(args.work, "equal"), "--data", states_of(args, MODELS[0])]
    equal += ["--threads", "1"]  # so many trainings beside each other as there are cores lose nothing
    recipes = [*equal, "--list", "recipes"]  # three seeds of those that lead
    in_equal = [["--doc", os.path.join(papers, "equal-trainings.md")]]
    measured = os.path.join(args.work, "clock")  # of this machine alone
    sizes = os.path.join(scripts, "sizes.py")

    def ablations(group, what, doc):
        line = [os.path.join(scripts, "ablations.py"), "--group", group]
        return Part(group, what, MODELS[:1], None, [*line, "--work", os.path.join(args.work, "ablations"), "--data", states_of(args, MODELS[0])],
                    [["--doc", os.path.join(papers, doc)]])

    def variants(group, what, tasks, doc):
        line = [os.path.join(scripts, "variants.py"), "--group", group, "--work", os.path.join(args.work, "variants"), "--packs", os.path.join(args.work, "ablations")]
        return Part(group, what, MODELS[:1], tasks, line, [["--doc", os.path.join(papers, doc)]])

    return [
        Part("tokens", "tokens a pass of all systems, greedy", MODELS, "", whole, pages),
        Part("tokens-0.7", "the same at temperature 0.7", MODELS[:1], "", [*whole, "--temps", "0.7"], pages[:1]),
        Part("one-tree", "Hidden Transfer's table 1: one tree for all", MODELS, "gsm8k,summarization", one_tree,
             [["--doc", os.path.join(papers, "hidden-transfer.md")]]),
        Part("equal", "the order of trained methods at an equal budget, three seeds", MODELS[:1], JUDGED, [*equal, "--seconds", "300"], in_equal),
        Part("recipes", "recipes of eagle in equal time", MODELS[:1], JUDGED, [*recipes, "--seconds", "600"], in_equal),
        Part("recipes-tokens", "recipes of eagle with equal tokens", MODELS[:1], JUDGED, [*recipes, "--steps", "150", "--seeds", "0"], in_equal),
        ablations("ppd", "PPD's appendix B", "ppd.md"),
        ablations("chimera", "Chimera from its published form to ours", "chimera.md"),
        ablations("layers", "Hidden Transfer's figure 5", "hidden-transfer.md"),
        ablations("second", "Hidden Transfer's figure 6", "hidden-transfer.md"),
        ablations("masked", "Hidden Transfer's figure 7", "hidden-transfer.md"),
        Part("by-distance", "Hidden Transfer's figure 3, PPD's figure 6a: right by distance", MODELS[:1], "alpaca,gsm8k,summarization",
             [os.path.join(scripts, "distances.py"), "--work", os.path.join(args.work, "distances")], [["--doc", os.path.join(papers, "hidden-transfer.md")]]),
        variants("trees", "PPD's figure 8a: dynamic, static, random trees", "alpaca,humaneval", "ppd.md"),
        variants("beside-medusa", "PPD's section 5.1: PPD and Medusa, trees of the same sizes", JUDGED, "ppd.md"),
        variants("vectors", "PPD's appendix C: tokens a pass by vectors and prompt tokens; behind ppd", JUDGED, "ppd.md"),
        variants("entry", "Hidden Transfer's section 4.4: tokens a pass by the layer; behind layers", JUDGED, "hidden-transfer.md"),
        variants("chain", "Hidden Transfer's abstract: a chain and a tree", JUDGED, "hidden-transfer.md"),
        variants("reuse", "Make Every Draft Count: what is left of a draft", JUDGED, "make-every-draft-count.md"),
        Part("quality", "what typical acceptance does to answers", MODELS[1:2], None,
             [os.path.join(scripts, "quality.py"), "--data", os.path.join(args.work, "gsm8k_train.jsonl.gz")], [["--doc", os.path.join(papers, "ppd.md")]]),
        Part("sizes", "PPD's figures 8b, 8c: speed by rows; a quiet machine", (MODELS[0], MODELS[2]), JUDGED, [sizes],
             [["--svg", os.path.join(ROOT, "docs", "pictures", "sizes.svg"), "--doc", os.path.join(papers, "ppd.md")]]),
        Part("machines", "PPD's section 5.1: another machine than the comparison's; a quiet machine", MODELS, "alpaca,gsm8k,humaneval,mt_bench,summarization",
             [os.path.join(scripts, "machines.py")], [["--doc", os.path.join(papers, "ppd.md")]]),
        Part("clock", "speed of all systems; a quiet machine", MODELS, "", [clock, "--out", measured],
             [["--tables", "--doc", os.path.join(papers, "comparison.md"), "--results", os.path.join(ROOT, "docs", "results.md")]]),
    ]


def states_of(args, model):
    return os.path.join(args.work, model + ".states")


def missing(args, part, models, prompts):
    """Why nothing can be said of a part, or None."""
    if not models:
        return "no model of %s in %s" % (", ".join(part.models), args.models)
    if part.tasks is not None and not prompts:
        return "no prompts: PROMPTS='%s'" % args.prompts
    return None


def missing_data(args, part):
    """Why a part cannot run though what is left of it is known, or None."""
    data = part.line[part.line.index("--data") + 1] if "--data" in part.line else args.work
    if not os.path.exists(data):
        return "no %s: %s" % (data, "questions with their answers" if data.endswith(".gz") else "`forerun distill --capture` makes it, with --taps 2,10,15,20,27")
    return None


def prompts_of(args, tasks):
    """Files of prompts, of these tasks alone where some are named; none where tasks is None."""
    if tasks is None:
        return []
    files = sorted(path for pattern in args.prompts.split() for path in glob.glob(pattern))
    return [path for path in files if not tasks or any(os.path.basename(path).startswith(task) for task in tasks.split(","))]


def options_of(args, models):
    """--draft and --store of the models that have one."""
    there = []
    for model in models:
        draft, store = os.path.join(args.models, MODELS[1] + ".gguf"), os.path.join(args.work, model + ".store")
        if model == MODELS[2] and os.path.exists(draft):
            there += ["--draft", "%s=%s" % (model, draft)]
        if os.path.exists(store):
            there += ["--store", "%s=%s" % (model, store)]
    return there


def hours_in_all(part):
    """What a part took where it was run whole, in words."""
    known = read(os.path.join(ROOT, "bench", "papers", "hours.json"))
    said = "".join("; takes %s h of %s" % (hours[part.name], machine) for machine, hours in known.items() if part.name in hours)
    return said or "; how long it takes in all was not recorded"


def took(args):
    """{part: seconds} of all calls on this folder of work."""
    path = os.path.join(args.work, "took.json")
    return read(path) if os.path.exists(path) else {}


@contextlib.contextmanager
def timed(args, part):
    """Adds the time that passes inside to the part's, also where it is stopped."""
    start = time.monotonic()
    try:
        yield
    finally:
        seconds = took(args)
        seconds[part.name] = round(seconds.get(part.name, 0) + time.monotonic() - start)
        write(os.path.join(args.work, "took.json"), seconds)


def call(line):
    """Its exit code. If both get the signal it may finish the work that it has begun."""
    with subprocess.Popen(line) as child:
        try:
            return child.wait()
        except KeyboardInterrupt:
            child.wait()
            raise


def run(args, part):
    """Runs what is left of a part, or says what that is. Its exit code."""
    models = [m for m in part.models if os.path.exists(os.path.join(args.models, m + ".gguf"))]
    prompts = prompts_of(args, part.tasks)
    print("== %s: %s%s" % (part.name, part.what, hours_in_all(part)), flush=True)
    why, data = missing(args, part, models, prompts), missing_data(args, part)
    if why or data:
        print("left out: %s" % (why or data), flush=True)
        if why or not args.status:
            return 0
    line = [sys.executable, *part.line]
    if part.tasks == "":
        line += options_of(args, models)
    for model in models:
        line += ["-m", os.path.join(args.models, model + ".gguf")]
    for path in prompts:
        line += ["--prompts", path]
    seconds = took(args).get(part.name, 0)
    if seconds:
        print("took %d:%02d h so far" % (seconds // 3600, seconds // 60 % 60), flush=True)
    with contextlib.nullcontext() if args.status else timed(args, part):
        code = call(line + ["--status"] * args.status)
    for doc in part.docs:
        if not code and not args.status:
            code = call([sys.executable, *part.line, *doc])
    return code


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--models", default="models", help="the folder of the models")
    add("--prompts", default="", help="files of prompts; patterns, with spaces between")
    add("--work", default="papers-work", help="folder of what is gone on with; a datastore there is MODEL.store")
    add("--parts", default="", help="NAME,NAME: these alone")
    add("--status", action="store_true", help="run nothing")
    args = parser.parse_args()
    known = parts(args)
    wanted = args.parts.split(",") if args.parts else [part.name for part in known]
    for name in wanted:
        if name not in [part.name for part in known]:
            parser.error("--parts %s: expected some of %s" % (name, ", ".join(part.name for part in known)))
    os.makedirs(args.work, exist_ok=True)
    try:
        failed = [part.name for part in known if part.name in wanted and run(args, part)]
    except KeyboardInterrupt:
        sys.exit("\nstopped: the same line goes on from here")
    if failed:
        sys.exit("not done: %s" % ", ".join(failed))


if __name__ == "__main__":
    main()
