#!/usr/bin/env python3
"""Learning curves: how often a drafter guesses right on held-out texts, by the tokens that it has
learned from.

    bench/papers/curves.py --add eagle.json --model qwen2.5-coder-0.5b --text 'own answers, 0.4 million tokens' --machine 'EPYC, Zen 3'
    bench/papers/curves.py --svg docs/pictures/learning.svg --doc docs/training.md          from committed results

--add takes the output of `forerun train --json`. --before N is for a training that began with a
pack that had seen N tokens; it has a line of its own. Held-out texts are those of the training, so
lines of one panel are of different texts.
"""
import argparse
import glob
import json
import math
import os
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[1:1] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "bench", "comparison")]

from calls import Failure, between_markers, sentences
from drawing import LINES, NAMES, label, write_card
from measure import read, write

MARKS = ("<!-- learning curves: begin, written by bench/papers/curves.py -->", "<!-- learning curves: end -->")
LEAST_WIDTH, PANEL, LEFT, GAP, TOP, BOTTOM = 760, 250, 46, 26, 62, 330


def seen(run, point):
    return run["before"] + point["tokens"]


def points_of(run):
    """Points that can be drawn where tokens are in logarithms: what a training from nothing is before its first step is not."""
    return [point for point in run["curve"] if seen(run, point) > 0]


class Panel:
    def __init__(self, left, runs):
        tokens = [seen(run, point) for run in runs for point in points_of(run)]
        right = [100 * value for run in runs for point in points_of(run) for value in point["accuracy"]]
        self.left, self.width = left, PANEL - 14
        self.first, self.last = math.log2(min(tokens)), math.log2(max(tokens))
        self.low, self.high = 10 * math.floor(min(right) / 10), 10 * math.ceil(max(right) / 10)

    def x(self, tokens):
        return self.left + (math.log2(tokens) - self.first) / max(1e-9, self.last - self.first) * self.width

    def y(self, percent):
        return BOTTOM - (percent - self.low) / (self.high - self.low) * (BOTTOM - TOP - 22)

    def ticks(self):
        for percent in range(self.low, self.high + 1, 10):
            yield '<path d="M%.1f %.1fh%.1f" class="grid"/>' % (self.left, self.y(percent), self.width)
            yield label(self.left - 5, self.y(percent) + 4, "%d" % percent, "small", "end")
        digits = (1, 2, 5) if self.last - self.first > 3 else (1, 1.5, 2, 3, 4, 6)
        for tokens in (digit * 10 ** power for power in range(3, 8) for digit in digits):
            if self.first <= math.log2(tokens) <= self.last:
                yield label(self.x(tokens), BOTTOM + 15, "%g" % (tokens / 1e6), "small", "middle")

    def lines(self, run):
        for distance in range(len(run["curve"][0]["accuracy"])):
            at = [(self.x(seen(run, point)), self.y(100 * point["accuracy"][distance])) for point in points_of(run)]
            yield '<path d="M%s" class="line l%d"/>' % ("L".join("%.1f %.1f" % place for place in at), distance)
            yield "".join('<circle cx="%.1f" cy="%.1f" r="2.2" class="l%d"/>' % (*place, distance) for place in at)


def picture(path, models):
    width, height, parts = max(LEAST_WIDTH, LEFT + len(models) * (PANEL + GAP)), BOTTOM + 62, []
    for i, (name, runs) in enumerate(models.items()):
        panel = Panel(LEFT + i * (PANEL + GAP), runs)
        parts += [label(panel.left, TOP - 8, NAMES.get(name, name), "model"), *panel.ticks()]
        for run in runs:
            parts += panel.lines(run)
    for distance in range(4):
        parts += ['<circle cx="%d" cy="%d" r="4" class="l%d"/>' % (LEFT + 150 * distance, height - 22, distance),
                label(LEFT + 150 * distance + 9, height - 18, "%d token%s ahead" % (distance + 1, "s" if distance else ""), "small")]
    write_card(path, width, height, "Learning curves of eagle", LINES,
               "eagle: right guesses on held-out texts, per cent, by million tokens learned from", parts)


def rows(name, run):
    """Some points of a curve: the first, the last, and those nearest to each doubling between them."""
    curve, kept = run["curve"], []
    for point in curve:
        if not kept or point is curve[-1] or seen(run, point) >= 2 * max(1, seen(run, kept[-1])):
            kept.append(point)
    for point in kept:
        yield "| %s | %.2f | %.0f | %s | %.2f |" % (
            name, seen(run, point) / 1e6, point["seconds"] / 60, ", ".join("%.1f" % (100 * value) for value in point["accuracy"]), point["tokens_per_pass"])


def table(models):
    text = []
    for name, runs in models.items():
        for run in runs:
            data = run["data"]
            text += ["%s: %s, %s; %s; %d texts held out. `%s`" % (name, run["machine"], run["date"], run["text"], data["held_out_texts"], run["line"]), "",
                     "| model | million tokens learned from | minutes | right at 1, 2, 3, 4, % | tokens a pass |", "| --- | --- | --- | --- | --- |",
                     *rows(name, run), ""]
    return "\n".join(text).rstrip()


def add_run(args):
    with open(args.add, encoding="utf-8") as f:
        said = json.load(f)
    path = os.path.join(args.out, args.model + ".json")
    runs = read(path)["runs"] if os.path.exists(path) else []
    curve = [{key: point[key] for key in ("step", "tokens", "seconds", "held_out_loss", "tokens_per_pass", "accuracy")} for point in said["curve"]]
    runs.append({"before": args.before, "text": args.text, "machine": args.machine, "line": args.line, "date": time.strftime("%Y-%m-%d"), "data": said["data"],
                 "curve": curve})
    write(path, {"model": args.model, "runs": runs})


def models_of(folder):
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        curves = read(path)
        found[curves["model"]] = curves["runs"]
    if not found:
        raise Failure("%s: no curves" % folder)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--out", default=os.path.join(ROOT, "bench", "papers", "curves"), help="folder of what is kept")
    add("--add", help="what `forerun train --json` printed")
    add("--model", help="... of this model")
    add("--before", type=int, default=0, help="tokens that the pack had seen which it went on from")
    add("--text", default="", help="what it learned from, in words")
    add("--machine", default="", help="the processor, in words")
    add("--line", default="forerun train eagle", help="the command, in short")
    add("--svg", help="the picture")
    add("--doc", help="a file whose part between the marks is written anew")
    args = parser.parse_args()
    if args.add and not args.model:
        parser.error("--model NAME is missing")
    with sentences(__file__):
        if args.add:
            add_run(args)
        if args.svg:
            picture(args.svg, models_of(args.out))
        if args.doc:
            between_markers(args.doc, MARKS, table(models_of(args.out)))


if __name__ == "__main__":
    main()
