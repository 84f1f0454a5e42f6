"""Results of llamacpp.py: rows of a CSV file, and the tables and the picture made from them."""
import datetime
import os
import shutil
import statistics
import subprocess

from calls import Failure, append_lines, between_markers, read_lines, say

FIELDS = ["date", "cpu", "isa", "model", "threads", "what", "rows", "unit", "ours", "theirs", "ratio", "least", "greatest", "pairs", "note"]
MEASUREMENT = FIELDS[1:7]  # a later line with the same values takes the place of an earlier one
MARKS = ("<!-- peers: begin, written by bench/peers/llamacpp.py -->", "<!-- peers: end -->")
PAGE_MARKS = ("<!-- llama.cpp: begin, written by bench/peers/llamacpp.py -->", "<!-- llama.cpp: end -->")
COLUMNS = [("pass", "1", "1 row"), ("pass", "8", "8 rows"), ("pass", "16", "16 rows"), ("prompt", "", "prompt of 512"),
           ("decode", "", "plain decoding"), ("speculative", "", "best speculative mode")]
TITLES = {"pass": "pass, logits on all rows", "decode": "plain decoding", "prompt": "prompt of 512 tokens", "memory": "peak memory",
          "speculative": "best speculative mode"}

PLOT = """
set terminal svg size 760,420 font 'sans-serif,13' background rgb 'white'
set output '%(path)s'
set key top left Left reverse
set grid ytics lc rgb '#dddddd'
set border 3
set tics nomirror
set title '%(title)s'
set xlabel 'rows in one pass, logits on every row'
set ylabel 'milliseconds'
set xrange [0:%(most)s]
set yrange [0:*]
$passes << END
%(data)s
END
plot $passes using 1:3 with linespoints lw 2 pt 7 ps 0.5 lc rgb '#c05020' title 'llama.cpp', \\
     $passes using 1:2 with linespoints lw 2 pt 7 ps 0.5 lc rgb '#2060a0' title 'forerun'
"""


def number(value):
    """Four digits, without an exponent."""
    return "" if value is None else "%.0f" % value if abs(value) >= 1000 else "%.4g" % value


def line(cpu, isa, model, threads, what, rows, unit, ours, theirs, ratios, note):
    """One line of the file. A ratio is above 1 where forerun is the better one, or a mode faster than its plain decoding."""
    values = [datetime.date.today().isoformat(), cpu, isa, model, threads, what, rows, unit, number(ours), number(theirs),
              number(statistics.median(ratios)), number(min(ratios)), number(max(ratios)), len(ratios), note]
    return dict(zip(FIELDS, map(str, values)))


def append(path, lines):
    append_lines(path, FIELDS, lines)


def read(path):
    lines = read_lines(path)
    for found in lines:
        if set(found) != set(FIELDS):
            raise Failure("%s: expected the columns %s" % (path, ",".join(FIELDS)))
    return lines


def newest(lines):
    kept = {}
    for found in lines:
        key = tuple(found[field] for field in MEASUREMENT)
        kept.pop(key, None)
        kept[key] = found
    return list(kept.values())


def machines(lines):
    """Lines by machine, instruction set and threads, in the order of the file."""
    groups = {}
    for found in lines:
        groups.setdefault((found["cpu"], found["isa"], found["threads"]), []).append(found)
    return groups


def models(lines):
    groups = {}
    for found in lines:
        groups.setdefault(found["model"], []).append(found)
    return groups


def span(found, digits="%.2f"):
    return "%s (%s to %s)" % tuple(digits % float(found[key]) for key in ("ratio", "least", "greatest"))


def row_count(rows):
    return "" if not rows else ", 1 row" if rows == "1" else ", %s rows" % rows


def cell(found):
    if not found:
        return ""
    text = "**%.2f** (%s against %s %s)" % (float(found["ratio"]), found["ours"], found["theirs"],
                                            found["unit"].replace("tokens/s", "tok/s"))
    return text + (", " + found["note"] if found["what"] == "speculative" else "")


def summary(lines):
    """The table for docs/results.md: what forerun is times llama.cpp's speed, one line a model."""
    text = []
    for (cpu, isa, threads), group in machines(lines).items():
        dates = sorted({found["date"] for found in group})
        text += ["%s, %s, %s threads, %s: forerun's speed over llama.cpp's, median of interleaved pairs; in brackets the figures of "
                 "forerun and llama.cpp. Passes have logits on every row. [peers.md](peers.md) has all results and ranges." % (
                     cpu, isa, threads, " to ".join(sorted({dates[0], dates[-1]}))), "",
                 "| model | " + " | ".join(title for _, _, title in COLUMNS) + " |", "| --- " * (len(COLUMNS) + 1) + "|"]
        for model, own in models(group).items():
            by = {(found["what"], found["rows"]): found for found in own}
            text.append("| %s | " % model + " | ".join(cell(by.get((what, rows))) for what, rows, _ in COLUMNS) + " |")
        text.append("")
    return "\n".join(text).rstrip()


def details(lines):
    """Every result as tables, by machine and model."""
    text = []
    for (cpu, isa, threads), group in machines(lines).items():
        for model, own in models(group).items():
            text += ["### %s, %s, %s, %s threads" % (model, cpu, isa, threads), "",
                     "| | forerun | llama.cpp | unit | ratio (least to greatest) | pairs | date | |", "| --- " * 8 + "|"]
            for found in own:
                title = TITLES.get(found["what"], found["what"]) + row_count(found["rows"])
                text.append("| %s | %s | %s | %s | %s | %s | %s | %s |" % (title, found["ours"], found["theirs"], found["unit"],
                                                                          span(found), found["pairs"], found["date"], found["note"]))
            text.append("")
    return "\n".join(text).rstrip()


def page(path, lines, peer):
    """The part of the page between its markers; a page that is not there yet is made of it."""
    text = ["llama.cpp is from the source package %s, built with GGML_NATIVE, at its own settings." % peer, "", details(lines)]
    if not os.path.exists(path):
        with open(path, "w", encoding="utf-8") as f:
            f.write("# forerun beside its peers\n\n%s\n%s\n" % PAGE_MARKS)
    between_markers(path, PAGE_MARKS, "\n".join(text))


def picture(path, lines):
    """Passes by rows of the model measured last that has them."""
    passes = [found for found in lines if found["what"] == "pass"]
    if not passes:
        raise Failure("%s: no passes were measured" % path)
    last = passes[-1]
    same = [f for f in passes if all(f[key] == last[key] for key in ("cpu", "isa", "model", "threads"))]
    same.sort(key=lambda found: int(found["rows"]))
    if not shutil.which("gnuplot"):
        say("skipped: %s: gnuplot is not installed" % path)
        return
    title = "%s, %s, %s threads" % (last["model"], last["isa"], last["threads"])
    data = "\n".join("%s %s %s" % (found["rows"], found["ours"], found["theirs"]) for found in same)
    done = subprocess.run(["gnuplot"], input=PLOT % {"path": path, "title": title, "most": same[-1]["rows"], "data": data}, text=True,
                          stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise Failure("gnuplot: %s" % done.stderr.strip())
