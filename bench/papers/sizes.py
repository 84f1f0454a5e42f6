#!/usr/bin/env python3
"""Speed by the rows of a pass, predicted and measured, for PPD's dynamic sparse trees (PPD, arXiv
2405.18628, §4.2, figures 8b and 8c).

    bench/papers/sizes.py --model smollm2-135m.gguf --prompts prompts.jsonl          needs a quiet machine; continues where it was stopped
    bench/papers/sizes.py --svg docs/pictures/sizes.svg --doc docs/papers/ppd.md      from committed results

tau(n) is the tokens per pass of a tree of n rows on the prompts. L(n) is the time of a pass of n
rows (`forerun curve`, medians). The predicted speed-up is tau(n) L(1) / L(n). The measured one is
the time of plain decoding divided by that of drafting, prompt by prompt in turns.
"""
import argparse
import glob
import os
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[1:1] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "bench", "comparison")]

from calls import Failure, between_markers, name_of, say, sentences
from drawing import LINES, NAMES, label, write_card
from measure import read, resume, write
from program import add_results, ask, machine_of
from tables import SURE

MARKS = ("<!-- sizes: begin, written by bench/papers/sizes.py -->", "<!-- sizes: end -->")
LEAST_WIDTH, PANEL, LEFT, GAP, TOP, BOTTOM = 720, 370, 46, 50, 62, 330


# ---------------------------------------------------------------- measuring

def at_size(args, rows):
    """One tree size: tau and the clock over all prompts, and L(n) over L(1) in the same minute."""
    found = ask(args, "bench", "--prompts", ",".join(args.prompts), "--limit", args.limit, "-n", args.tokens, "--drafters", args.drafter,
                "--no-adapt", "--draft-opt", "rows=%d" % rows)
    drafted = [one for one in found["runs"] if one["drafter"] == args.drafter][0]
    curve = ask(args, "curve", "--rows", "1,%d" % rows, "--context", 256)  # of medians, as answers meet them
    return {"rows": rows, "tokens_per_pass": drafted["tokens_per_pass"], "rows_per_pass": drafted["rows_per_pass"], "cost": curve["ms_median"][-1] / curve["ms_median"][0],
            "speed": drafted["speedup"], "low": drafted["speedup_low"], "high": drafted["speedup_high"], "confidence": drafted["speedup_confidence"], "drafting": drafted["draft_share"],
            "prompts": drafted["prompts"]}


def measure(args, model):
    """One model's sizes that are not there."""
    args.model = model
    path = os.path.join(args.out, name_of(args.model) + ".json")
    found = resume(path, {"model": name_of(args.model), "drafter": args.drafter, "tokens": args.tokens, "limit": args.limit},
                   {"machine": machine_of(args), "date": time.strftime("%Y-%m-%d"), "sizes": []})
    left = [rows for rows in args.rows if all(size["rows"] != rows for size in found["sizes"])]
    say("%s: %d of %d sizes are left" % (found["model"], len(left), len(args.rows)))
    if args.status:
        return
    if left and found["machine"] != machine_of(args):
        raise Failure("%s: the clock of %s, here it is %s: give another --out" % (path, found["machine"], machine_of(args)))
    os.makedirs(args.out, exist_ok=True)
    for rows in left:
        found["sizes"] = sorted([*found["sizes"], at_size(args, rows)], key=lambda size: size["rows"])
        write(path, found)
        say("%s: %d rows" % (found["model"], rows))


# ---------------------------------------------------------------- table and picture

def predicted(size):
    return size["tokens_per_pass"] / size["cost"]


def is_sure(size):
    return size.get("confidence", SURE) >= SURE


def clock(size):
    """Of all tokens; in brackets the interval of the answers' median, where they are enough for one."""
    return "%.2f (%.2f to %.2f)" % (size["speed"], size["low"], size["high"]) if is_sure(size) else "%.2f" % size["speed"]


def table(results):
    text = []
    for found in results:
        sizes = found["sizes"]
        best = {what: max(sizes, key=key)["rows"] for what, key in (("predicted", predicted), ("clock", lambda size: size["speed"]))}
        text += ["%s, `%s`, %d prompts, %d tokens, %s, %s; fastest: %d rows as predicted, %d by the clock." % (
                     found["model"], found["drafter"], sizes[0]["prompts"], found["tokens"], found["machine"], found["date"], best["predicted"], best["clock"]), "",
                 "| rows | tokens a pass | a pass costs | predicted | by the clock (of the answers' median) | drafting's share |", "| --- | --- | --- | --- | --- | --- |"]
        text += ["| %d | %.2f | %.2f | %.2f | %s | %.1f %% |" % (
            size["rows"], size["tokens_per_pass"], size["cost"], predicted(size), clock(size), 100 * size["drafting"]) for size in sizes]
        text.append("")
    return "\n".join(text).rstrip()


def panel(left, found):
    sizes = found["sizes"]
    most = max(max(size["tokens_per_pass"], predicted(size), size["high"] if is_sure(size) else size["speed"]) for size in sizes)
    step = (PANEL - 40) / max(1, len(sizes) - 1)
    x, y = [left + i * step for i in range(len(sizes))], lambda value: BOTTOM - value / most * (BOTTOM - TOP - 22)
    out = [label(left, TOP - 8, NAMES.get(found["model"], found["model"]), "model")]
    for tick in (i / 2 for i in range(int(2 * most) + 1)):
        out += ['<path d="M%.1f %.1fh%.1f" class="grid"/>' % (left, y(tick), PANEL - 40), label(left - 5, y(tick) + 4, "%.1f" % tick, "small", "end")]
    for at, size in zip(x, sizes):
        out.append(label(at, BOTTOM + 15, "%d" % size["rows"], "small", "middle"))
        if is_sure(size):
            out.append('<path d="M%.1f %.1fV%.1f" class="line l1"/>' % (at, y(size["low"]), y(size["high"])))
    for kind, value in ((2, lambda size: size["tokens_per_pass"]), (0, predicted), (1, lambda size: size["speed"])):
        places = [(at, y(value(size))) for at, size in zip(x, sizes)]
        out += ['<path d="M%s" class="line l%d"/>' % ("L".join("%.1f %.1f" % place for place in places), kind),
                *('<circle cx="%.1f" cy="%.1f" r="2.6" class="l%d"/>' % (*place, kind) for place in places)]
    return out


def picture(path, results):
    width, height, parts = max(LEAST_WIDTH, LEFT + len(results[:2]) * (PANEL + GAP)), BOTTOM + 62, []
    for i, found in enumerate(results[:2]):
        parts += panel(LEFT + i * (PANEL + GAP), found)
    for i, (kind, name) in enumerate(((2, "tokens a pass"), (0, "speed predicted: tokens a pass over what the pass costs"), (1, "speed by the clock"))):
        at = LEFT + (0, 130, 490)[i]
        parts += ['<circle cx="%d" cy="%d" r="4" class="l%d"/>' % (at, height - 22, kind), label(at + 9, height - 18, name, "small")]
    write_card(path, width, height, "PPD's speed by rows of a pass", LINES,
               "PPD by the rows of a pass: tokens a pass, and speed in times plain decoding", parts)


def results_in(folder):
    found = [read(path) for path in sorted(glob.glob(os.path.join(folder, "*.json")), reverse=True)]
    if not found:
        raise Failure("%s: no results" % folder)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add_results(add, "sizes")
    add("-m", "--model", action="append", dest="models", default=[])
    add("--drafter", default="ppd-planned")
    add("--prompts", action="append", default=[], help="files of prompts")
    add("--rows", type=lambda text: [int(n) for n in text.split(",")], default=[5, 6, 8, 10, 12, 16, 24, 32], help="the root has three attached rows")
    add("--limit", type=int, default=4, help="prompts of a set (default: %(default)s)")
    add("--tokens", type=int, default=96)
    add("--machine", default="", help="the processor, in words")
    add("--svg", help="the picture")
    args = parser.parse_args()
    if args.models and not args.prompts:
        parser.error("--prompts FILES are missing")
    with sentences(__file__):
        for model in args.models:
            measure(args, model)
        if args.svg:
            picture(args.svg, results_in(args.out))
        if args.doc:
            between_markers(args.doc, MARKS, table(results_in(args.out)))


if __name__ == "__main__":
    main()
