#!/usr/bin/env python3
"""The time of one pass by its number of rows, forerun beside llama.cpp: a CSV file and a picture.

    bench/peers/rows.py -m MODEL.gguf --llama-bench PATH --csv docs/pictures/rows.csv --svg docs/pictures/rows.svg

Rounds alternate between the two programs; the least time of each row count is kept, as shared machines only ever add.
forerun computes logits on every row; llama-bench, told to read a prompt of n tokens, on the last row alone.
The picture is drawn by gnuplot.
"""
import argparse
import csv
import json
import os
import subprocess
import sys

from llamacpp import ROOT, cpu_name, run

ROWS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32]

PLOT = """
set terminal svg size 760,420 font 'sans-serif,13' background rgb 'white'
set output '%(svg)s'
set datafile separator ','
set key top left Left reverse
set grid ytics lc rgb '#dddddd'
set border 3
set tics nomirror
set xlabel 'rows in one pass'
set ylabel 'milliseconds'
set xrange [0:%(most)d]
set yrange [0:*]
plot '%(csv)s' skip 1 using 1:3 with linespoints lw 2 pt 7 ps 0.5 lc rgb '#c05020' title 'llama.cpp (logits on the last row)', \\
     '%(csv)s' skip 1 using 1:2 with linespoints lw 2 pt 7 ps 0.5 lc rgb '#2060a0' title 'forerun (logits on every row)'
"""


def own(args):
    found = json.loads(run([args.forerun, "curve", "-m", args.model, "--rows", ",".join(map(str, ROWS)),
                            "--context", "16", "--quiet", "--json"]))
    return dict(zip(found["rows"], found["ms"])), found["machine"]


def peer(args, threads):
    found = json.loads(run([args.llama_bench, "-m", args.model, "-t", str(threads), "-p", ",".join(map(str, ROWS)),
                            "-n", "0", "-r", "3", "-o", "json"]))
    return {f["n_prompt"]: min(f["samples_ns"]) / 1e6 for f in found}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-m", "--model", required=True, metavar="FILE")
    parser.add_argument("--llama-bench", required=True, metavar="PATH")
    parser.add_argument("--forerun", default=os.path.join(ROOT, "build", "forerun"), metavar="PATH")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--csv", required=True, metavar="FILE")
    parser.add_argument("--svg", required=True, metavar="FILE")
    args = parser.parse_args()
    ours, theirs = {}, {}
    for _ in range(args.rounds):
        found, machine = own(args)
        ours = {n: min(ms, ours.get(n, ms)) for n, ms in found.items()}
        found = peer(args, machine["threads"])
        theirs = {n: min(ms, theirs.get(n, ms)) for n, ms in found.items()}
    with open(args.csv, "w", newline="", encoding="utf-8") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(["rows", "forerun ms", "llama.cpp ms"])
        out.writerows([n, "%.2f" % ours[n], "%.2f" % theirs[n]] for n in ROWS)
    subprocess.run(["gnuplot"], input=PLOT % {"svg": args.svg, "csv": args.csv, "most": ROWS[-1]}, text=True, check=True)
    print("%s, %s, %d threads: %s" % (cpu_name(), machine["isa"], machine["threads"],
                                      " ".join("%d: %.1f | %.1f" % (n, ours[n], theirs[n]) for n in ROWS)))


if __name__ == "__main__":
    sys.exit(main())
