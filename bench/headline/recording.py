#!/usr/bin/env python3
"""Shows two recordings of a terminal side by side in one animated SVG.

    bench/headline/recording.py LEFT.cast RIGHT.cast OUT.svg

Reads asciinema files (version 2) as record.py writes them: text, line ends and colours, no other
control codes. The timing is that of the recordings. Without animations the last picture is shown.
The texts, without colours and without the statistics after them, are compared; the result is
written below the picture.
"""
import json
import re
import sys
from xml.sax.saxutils import escape

FRAME = 0.08  # seconds: what came within them appears together
TYPED, HELD = 1.0, 9.0  # seconds before the programs start and after the end of the slower one
CHAR, LINE, SIZE = 7.22, 15.5, 12
PAD, GAP, ABOVE, HEAD, FOOT = 14, 14, 36, 98, 34
STATISTICS = re.compile(r"\r?\n\d+ tokens at [0-9.]+/s, .*$", re.S)
COLOURS = {"32": "g", "36": "c", "35": "m", "33": "y", "34": "b"}
STYLE = """
text { font: %dpx ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #d7dde4; white-space: pre }
.t { fill: #9aa4af } .h { font-weight: 600; fill: #ffffff } .g { fill: #6fdc8c } .c { fill: #5fd3e0 } .m { fill: #d79be8 } .y { fill: #e8cf6a } .b { fill: #82b1ff }
""" % SIZE


class Cast:
    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            lines = [json.loads(line) for line in f if line.strip()]
        self.head, self.events = lines[0], [(at, text) for at, kind, text in lines[1:] if kind == "o"]
        self.width, self.height = self.head["width"], self.head["height"]
        self.seconds = self.events[-1][0]
        whole = "".join(text for _, text in self.events)
        self.answer = STATISTICS.sub("", re.sub(r"\x1b\[[0-9;]*m", "", whole)).replace("\r\n", "\n")

    def cells(self):
        """Runs of characters of one time, line, column and colour, as a terminal of this width shows them; and when
        the n-th line was begun."""
        line, column, colour = 0, 0, ""
        runs, begun = [], [0.0]
        for at, text in self.events:
            at = round(at / FRAME) * FRAME
            for part in re.split(r"(\x1b\[[0-9;]*m|\r\n|\n|\r)", text):
                code = re.fullmatch(r"\x1b\[([0-9;]*)m", part)
                if code:
                    colour = COLOURS.get(code.group(1), "")
                elif part in ("\r\n", "\n", "\r"):
                    column = 0
                    if part != "\r":
                        line += 1
                        begun.append(at)
                else:
                    for c in part:
                        if column == self.width:
                            line, column = line + 1, 0
                            begun.append(at)
                        last = runs[-1] if runs else None
                        if last and last[0] == at and last[1] == line and last[3] == colour:
                            last[4] += c
                        else:
                            runs.append([at, line, column, colour, c])
                        column += 1
        return runs, begun


class Film:
    """Elements, and the keyframes of every moment that something appears at."""

    def __init__(self, seconds):
        self.seconds, self.moments = seconds, {}

    def share(self, at):
        return "%.3f%%" % (100 * at / self.seconds)

    def shown_from(self, at):
        return self.moments.setdefault(self.share(at), "k%d" % len(self.moments))

    def rules(self):
        text = ["@keyframes %s{0%%{opacity:0}%s{opacity:1}to{opacity:1}}.%s{animation:%s %.2fs step-end infinite}" % (
            name, share, name, name, self.seconds) for share, name in self.moments.items()]
        return "\n".join(text) + "\n@media (prefers-reduced-motion:reduce){*{animation-duration:1ms!important;animation-iteration-count:1!important}}"

    def scrolled(self, name, moves):
        """A rule by which an element is moved up by so many lines at these moments."""
        frames = ["0%{transform:none}"] + ["%s{transform:translateY(%.1fpx)}" % (self.share(at), -LINE * by) for at, by in moves]
        end = "translateY(%.1fpx)" % (-LINE * moves[-1][1]) if moves else "none"
        return "@keyframes %s{%sto{transform:%s}}.%s{transform:%s;animation:%s %.2fs step-end infinite}" % (
            name, "".join(frames), end, name, end, name, self.seconds)


def card(left, top, width, height):
    return '<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="8" fill="#12161c" stroke="#3a424c"/>' % (left, top, width, height)


def pane(cast, film, left, name, title):
    """(elements, rule) of one terminal."""
    width, top = cast.width * CHAR + 2 * PAD, HEAD
    runs, begun = cast.cells()
    moves = [(TYPED + at, i + 1 - cast.height) for i, at in enumerate(begun) if i >= cast.height]
    moves = list(dict(moves).items())  # of one moment the last
    out = [card(left, ABOVE + 2, width, top + cast.height * LINE - ABOVE + 6),
           '<text x="%.1f" y="%d" class="h">%s</text>' % (left + PAD, ABOVE + 24, escape(title)),
           '<text x="%.1f" y="%d" class="t">$ %s</text>' % (left + PAD, ABOVE + 46, escape(cast.head["command"])),
           '<svg x="%.1f" y="%.1f" width="%.1f" height="%.1f"><g class="%s">' % (left + PAD, top, width - PAD, cast.height * LINE + 4, name)]
    for at, line, column, colour, text in runs:
        kind = film.shown_from(TYPED + at) + (" " + colour if colour else "")
        if text.strip():
            out.append('<text x="%.1f" y="%.1f" class="%s">%s</text>' % (column * CHAR, line * LINE + 12, kind, escape(text)))
    return out + ["</g></svg>"], film.scrolled(name, moves), width


def drawn(left, right):
    film = Film(TYPED + max(left.seconds, right.seconds) + HELD)
    one, rule_one, width = pane(left, film, 4, "left", "one token a pass")
    two, rule_two, more = pane(right, film, 4 + width + GAP, "right", "drafting, the default (coloured tokens were guessed)")
    total, height = 8 + width + GAP + more, HEAD + left.height * LINE + 16 + FOOT
    same = left.answer == right.answer
    if not same:
        raise SystemExit("recording.py: the two texts differ")
    said = "the same %d bytes: %.1f s one token a pass, %.1f s drafting, start of the program and reading the prompt included" % (
        len(left.answer.encode()), left.seconds, right.seconds)
    end = film.shown_from(TYPED + max(left.seconds, right.seconds))
    asked = [card(4, 4, total - 8, 28), '<text x="%.1f" y="22" class="t">"%s"</text>' % (4 + PAD, escape(left.head["title"]))]
    foot = [card(4, height - 30, total - 8, 26),
            '<text x="%.1f" y="%.1f" class="h %s">%s</text>' % (4 + PAD, height - 13, end, escape(said))]
    return "\n".join(['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img">' % (total, height, total, height),
                      "<title>%s</title><style>%s%s\n%s\n%s</style>" % (escape(left.head["title"]), STYLE, film.rules(), rule_one, rule_two)]
                     + asked + one + two + foot) + "\n</svg>\n"


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    text = drawn(Cast(sys.argv[1]), Cast(sys.argv[2]))
    with open(sys.argv[3], "w", encoding="utf-8") as f:
        f.write(text)
    print("%s: %d bytes" % (sys.argv[3], len(text.encode())))


if __name__ == "__main__":
    main()
