#!/usr/bin/env python3
"""Draws the README's picture and writes its table in docs/results.md, from the results of
headline.py.

    bench/headline/picture.py docs/headline.csv docs/pictures/headline.svg [--doc docs/results.md]

The picture has its own background, so it can be read on light and dark pages.
"""
import argparse
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(1, os.path.join(ROOT, "bench"))

from calls import Failure, between_markers, say
from drawing import NAMES, label, write_card
from headline import saved
from speeds import OURS, OURS_PLAIN, PLAIN, models

MARKS = ("<!-- headline: begin, written by bench/headline/picture.py -->", "<!-- headline: end -->")
WIDTH, LEFT, RIGHT, BAR, ROW, PANEL, TOP = 860, 196, 170, 16, 23, 132, 50
STYLE = """
text { font: 13px -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #1f2328 }
.card { fill: #ffffff; stroke: #d1d9e0 } .grid { stroke: #e6eaef } .span { stroke: #57606a; stroke-width: 1.5 } .halo { stroke: #ffffff; stroke-width: 4; opacity: 0.75 }
.title { font-size: 15px; font-weight: 600 } .model { font-weight: 600 } .small { font-size: 11.5px; fill: #59636e } .bold { font-weight: 600 }
.s0 { fill: #c9a58d } .s1 { fill: #bc6c3a } .s2 { fill: #8fb4dc } .s3 { fill: #1f6fc4 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .card { fill: #0d1117; stroke: #30363d } .grid { stroke: #262c34 } .span { stroke: #d0d7de } .halo { stroke: #0d1117 } .small { fill: #9198a1 }
  .s0 { fill: #7d6150 } .s1 { fill: #c9773f } .s2 { fill: #3f638b } .s3 { fill: #3f8fe6 }
}
"""


def title_of(system):
    return {PLAIN: "llama.cpp", OURS_PLAIN: "forerun, not drafting", OURS: "forerun"}.get(
        system, "llama.cpp, " + system.partition("=")[2])


def speed_text(value):
    return "%.0f" % value if value >= 100 else "%.1f" % value


def whisker(low, high, y):
    path = "M%.1f %.1fH%.1fM%.1f %.1fv7M%.1f %.1fv7" % (low, y, high, low, y - 3.5, high, y - 3.5)
    return "".join('<path d="%s" class="%s" fill="none"/>' % (path, kind) for kind in ("halo", "span"))


def panel(model, top, scale):
    """Bars of one model: their length is times llama.cpp's plain decoding, `scale` pixels each."""
    base, out = model.speed(PLAIN), [label(16, top + 14, NAMES.get(model.name, model.name), "model")]
    for i, system in enumerate(model.systems):
        y = top + 24 + i * ROW
        value, (least, most) = model.speed(system), model.span(system)
        length, low, high = (v / base * scale for v in (value, least, most))
        middle = y + BAR / 2
        out += [label(LEFT - 8, middle + 4.5, title_of(system), "bold" if system == OURS else "", "end"),
                '<rect x="%d" y="%.1f" width="%.1f" height="%d" class="s%d"/>' % (LEFT, y, length, BAR, i),
                whisker(LEFT + low, LEFT + high, middle)]
        text = "%s tok/s" % speed_text(value)
        if system != PLAIN:
            text += "  ·  %.1f times" % (value / base)
        out.append(label(LEFT + max(length, high) + 8, middle + 4.5, text, "bold" if system == OURS else ""))
    return out


def footer(found, lines):
    first = lines[0]
    return ["Tokens a second while answering, without reading the prompt; temperature 0, at most %d tokens, the same GGUF files." % max(
                int(l["tokens"]) for l in lines),
            "Bars: median of %d prompts (HumanEval, GSM8K, Alpaca, MT-bench), each the median of %d rounds. Thin lines: slowest to fastest prompt." % (
                len(found[0].prompts), min(m.rounds for m in found)),
            "%s, %s, %s threads, %s. Of llama.cpp's speculative modes the fastest is shown. bench/headline" % (
                first["cpu"], first["isa"].upper().replace("AVX512", "AVX-512"), first["threads"], max(l["date"] for l in lines))]


def picture(path, found, lines):
    most = max(m.span(s)[1] / m.speed(PLAIN) for m in found for s in m.systems)
    scale = (WIDTH - LEFT - RIGHT) / most
    height = TOP + PANEL * len(found) + 68
    parts = []
    bottom = TOP + PANEL * len(found) - 10
    for tick in range(int(most) + 1):
        x = LEFT + tick * scale
        parts += ['<path d="M%.1f %dV%d" class="grid"/>' % (x, TOP - 4, bottom), label(x, bottom + 13, "%d" % tick, "small", "middle")]
    for i, model in enumerate(found):
        parts += panel(model, TOP + i * PANEL, scale)
    parts += [label(16, height - 38 + 14 * i, text, "small") for i, text in enumerate(footer(found, lines))]
    write_card(path, WIDTH, height, "Speed of forerun beside llama.cpp on three models", STYLE,
               "Speed on two CPU cores, in times llama.cpp's plain decoding", parts)


def span(values, digits="%.2f"):
    return "%s (%s to %s)" % tuple(digits % v for v in values)


def details(found, lines):
    """Every system's speeds and ratios, for docs/results.md."""
    first = lines[0]
    text = ["%s, %s, %s threads, %s; %d prompts, %d rounds, temperature 0, at most %d tokens. Medians over the prompts, with slowest and fastest "
            "prompt in brackets, each of them the median of its rounds; ratios are of the same prompt." % (
                first["cpu"], first["isa"], first["threads"], max(l["date"] for l in lines), len(found[0].prompts),
                min(m.rounds for m in found), max(int(l["tokens"]) for l in lines)),
            "",
            "| model | system | tokens/s | rounds apart | times llama.cpp | times forerun not drafting | text as plain |", "| --- " * 7 + "|"]
    for model in found:
        for system in model.systems:
            ours = system in (OURS, OURS_PLAIN)
            text.append("| %s | %s | %s | %.2f | %s | %s | %s |" % (
                NAMES.get(model.name, model.name), title_of(system), span((model.speed(system), *model.span(system)), "%.1f"), model.apart(system),
                "" if system == PLAIN else span(model.ratios(system, PLAIN)),
                span(model.ratios(system, OURS_PLAIN)) if ours and system != OURS_PLAIN else "", "%d of %d" % model.same(system)))
    text += ["", "By set and prompt: forerun's speed over forerun not drafting, and in brackets over llama.cpp's plain decoding.", "",
             "| model | " + " | ".join(found[0].sets()) + " |", "| --- " * (1 + len(found[0].sets())) + "|"]
    for model in found:
        speeds = model.speeds
        cells = [", ".join("%.2f (%.2f)" % (speeds[OURS][at] / speeds[OURS_PLAIN][at], speeds[OURS][at] / speeds[PLAIN][at]) for at in own)
                 for own in model.sets().values()]
        text.append("| %s | %s |" % (NAMES.get(model.name, model.name), " | ".join(cells)))
    return "\n".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv")
    parser.add_argument("svg")
    parser.add_argument("--doc", metavar="FILE", help="rewrite the table between this file's markers")
    args = parser.parse_args()
    try:
        lines = [l for l in saved(args.csv) if int(l["round"]) > 0]
        if not lines:
            raise Failure("%s: nothing was measured" % args.csv)
        found = models(lines)
        picture(args.svg, found, lines)
        print(details(found, lines))
        say("left out as disturbed: %d of %d answers" % (sum(m.dropped for m in found), len(lines)))
        if args.doc:
            between_markers(args.doc, MARKS, details(found, lines))
    except (Failure, OSError) as failure:
        say("picture.py: %s" % failure)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
