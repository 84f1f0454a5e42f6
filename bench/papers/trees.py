#!/usr/bin/env python3
"""Tokens a pass by rows of a pass, for PPD's dynamic, static and random sparse trees (PPD, arXiv 2405.18628, figure 8).

Runs `forerun-lab bench` with planned trees of each shape and size. "free rows" is the speed-up that the same tokens a pass
would be where rows cost nothing, as on the papers' GPUs: tokens a pass itself. "here" is what the clock says.

    bench/papers/trees.py --model MODEL.gguf --prompts prompts.jsonl --drafter ppd-planned --rows 8,16,32,60,105
"""
from program import ask, options

SHAPES = "dynamic", "static", "random"


def measure(args, shape, rows):
    """(tokens a pass, speed-up) of planned trees."""
    runs = ask(args, "bench", "--prompts", args.prompts, "--limit", args.limit, "-n", args.tokens, "--drafters",
               args.drafter, "--no-adapt", "--draft-opt", "tree=" + shape, "--draft-opt", "rows=%d" % rows)["runs"]
    found = [r for r in runs if r["drafter"] == args.drafter][0]
    return found["tokens_per_pass"], found["speedup"]


def main():
    parser = options(__doc__)
    parser.set_defaults(bin="build/forerun-lab", drafter="ppd-planned")
    parser.add_argument("--prompts", required=True)
    parser.add_argument("--rows", default="8,16,32,60,105")
    parser.add_argument("--limit", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=64)
    args = parser.parse_args()
    print("%5s" % "rows" + "".join("  %22s" % s for s in SHAPES))
    print("%5s" % "" + "  %10s %11s" % ("free rows", "here") * len(SHAPES))
    for rows in map(int, args.rows.split(",")):
        cells = [measure(args, shape, rows) for shape in SHAPES]
        print("%5d" % rows + "".join("  %10.2f %10.2fx" % (tokens, speed) for tokens, speed in cells), flush=True)


if __name__ == "__main__":
    main()
