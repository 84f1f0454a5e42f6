"""What the measurements of this folder share: how forerun is called, and the options that all of them have."""
import argparse
import json
import subprocess
import sys


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
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode:
        sys.exit("%s\n%s" % (" ".join(line), done.stderr))
    return json.loads(done.stdout)
