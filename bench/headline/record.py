#!/usr/bin/env python3
"""Records the two runs of the README's recording, one after the other, as asciinema files (version
2).

    bench/headline/record.py -m MODEL.gguf -o bench/headline     writes plain.cast and drafted.cast there
    bench/headline/recording.py bench/headline/plain.cast bench/headline/drafted.cast docs/pictures/recording.svg

The program writes to a terminal of its own. The recording has its output with the time since the
start of the program. A run before the recordings, which is discarded, measures the machine and
reads the model's file into memory.
"""
import argparse
import fcntl
import json
import os
import pty
import struct
import sys
import termios
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROMPT = "Write a small Python program that reads a CSV file of orders and prints the total of each customer. Explain how it works."
COLUMNS, LINES = 60, 30
RUNS = {"plain": ["--drafter", "none"], "drafted": ["--color"]}


def events_of(command):
    """[(seconds, text)] of a program on a terminal."""
    child, terminal = pty.fork()
    if not child:
        os.execv(command[0], command)
    began, found, rest = time.monotonic(), [], b""
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        rest += data
        try:
            text, rest = rest.decode(), b""
        except UnicodeDecodeError:  # a character came in part
            continue
        found.append((round(time.monotonic() - began, 4), text))
    _, status = os.waitpid(child, 0)
    if status:
        raise SystemExit("%s: status %d" % (" ".join(command[:3]), status))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", required=True, metavar="FILE")
    parser.add_argument("-o", "--out", required=True, metavar="DIR")
    parser.add_argument("-n", "--tokens", default="600")
    parser.add_argument("--forerun", default=os.path.join(ROOT, "build", "forerun"), metavar="PATH")
    args = parser.parse_args()
    command = [os.path.abspath(args.forerun), "run", "-m", args.model, "-p", PROMPT, "-n", args.tokens]
    events_of(command[:-1] + ["8"])
    for name, more in RUNS.items():
        shown = "forerun run -m %s%s" % (os.path.basename(args.model), "".join(" " + word for word in more))
        head = {"version": 2, "width": COLUMNS, "height": LINES, "timestamp": int(time.time()), "command": shown, "title": PROMPT}
        found = events_of(command + more)
        with open(os.path.join(args.out, name + ".cast"), "w", encoding="utf-8") as f:
            for one in [head] + [[at, "o", text] for at, text in found]:
                f.write(json.dumps(one) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
