"""What the measurements of this folder share: how forerun is called, and the options that all of them have."""
import argparse
import json
import os
import sys

sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from calls import Failure, run


def options(doc):
    """A parser that describes itself by `doc`, of --bin and --model."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/forerun")
    parser.add_argument("--model", required=True)
    parser.add_argument("--drafter", default="ppd")
    return parser


def ask(args, command, *more):
    """The JSON that a command of forerun prints of args.model; ends the program where it fails."""
    line = [args.bin, command, "-m", args.model, *map(str, more), "--json", "--quiet"]
    try:
        return json.loads(run(line))
    except Failure as failure:
        sys.exit(str(failure))
