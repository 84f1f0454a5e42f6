#!/usr/bin/env python3
"""Sabotage and random command lines against a built forerun, for as long as one likes.

    tests/endurance/endurance.py [--minutes 15] [--only KIND,KIND] [--seed N]
    tests/endurance/endurance.py --again KIND:SEED          one trial again, as it was

SIGUSR1 stops it after the trial at hand until SIGUSR2 (for a benchmark between), SIGTERM ends it with the counts.

Every trial is drawn from its kind and seed alone. A promise that does not hold is printed with both, and the
files of that trial stay. At the end: trials by kind, skipped ones with the reason, failures. Exit code 0: none failed.
"""
import argparse
import collections
import importlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import tally
from trial import Failed, Skipped, Trial

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# Modules of this folder with KINDS = {name: (weight, function(trial) -> None)}.
MODULES = ["lines", "conversations", "measures", "kills", "mutations", "disk", "writers", "descriptors", "signals", "chats", "overwrites"]


def all_kinds():
    kinds = {}
    for name in MODULES:
        if os.path.exists(os.path.join(HERE, name + ".py")):
            kinds.update(importlib.import_module(name).KINDS)
    return kinds


def find_models(folder, tiny):
    """Models by name: real ones of `folder`, tiny random ones (tiny-ARCH...) of `tiny`."""
    models = {}
    for where in (folder, tiny):
        for name in sorted(os.listdir(where)) if where and os.path.isdir(where) else []:
            if name.endswith(".gguf"):
                models[name[:-5]] = os.path.join(where, name)
    return models


def make_tiny(folder):
    """Makes the tiny models where they are missing or older than the program that makes them, if that is built."""
    maker, made = os.path.join(ROOT, "build", "tests", "bin", "tiny_models"), os.path.join(folder, "packs")
    if os.path.exists(maker) and (not os.path.isdir(made) or os.path.getmtime(made) < os.path.getmtime(maker)):
        os.makedirs(folder, exist_ok=True)
        subprocess.run([maker, folder], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def one(kind, function, seed, args, models):
    """None, or the sentence of what did not hold; Skipped goes on to the caller."""
    folder = tempfile.mkdtemp(prefix="endurance-%s-" % kind, dir=args.folder)
    try:
        function(Trial(os.path.abspath(args.forerun), models, random.Random("%s:%d" % (kind, seed)), folder))
    except Failed as failure:
        return "%s (its files: %s)" % (failure, folder)
    except Skipped:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--minutes", type=float, default=15, metavar="M", help="how long (default: 15)")
    add("--trials", type=int, metavar="N", help="or so many trials")
    add("--only", metavar="KIND,...", help="these kinds alone; a name's beginning is enough")
    add("--seed", type=int, default=int(time.time()), metavar="N", help="of the first trial (default: the clock)")
    add("--again", metavar="KIND:SEED", help="one trial again")
    add("--forerun", default=os.path.join(ROOT, "build", "forerun"), metavar="PATH")
    add("--models", default=os.environ.get("FR_MODELS", os.path.join(ROOT, "models")), metavar="DIR")
    add("--tiny", default=os.path.join(ROOT, "build", "tests", "tiny"), metavar="DIR", help="tiny random models, made by build/tests/bin/tiny_models")
    add("--folder", metavar="DIR", help="where trials have their files (default: the system's)")
    args = parser.parse_args()
    args.models, args.tiny = os.path.abspath(args.models), os.path.abspath(args.tiny) # trials run in folders of their own
    kinds = all_kinds()
    if args.only:
        kinds = {k: v for k, v in kinds.items() if any(k.startswith(w) for w in args.only.split(","))}
    make_tiny(args.tiny)
    models = find_models(args.models, args.tiny)
    if not kinds or not os.path.exists(args.forerun):
        print("endurance: no such kind, or no program at %s (make build)" % args.forerun, file=sys.stderr)
        return 2
    if args.again:
        kind, seed = args.again.rsplit(":", 1)
        failure = one(kind, all_kinds()[kind][1], int(seed), args, models)
        print(failure or "held")
        return 1 if failure else 0
    return many(args, kinds, models)


class Wishes:
    """What signals ask for between two trials: a pause, or the end."""

    def __init__(self):
        self.pause = self.end = False
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(number, self.hear)

    def hear(self, number, frame):
        if number in (signal.SIGUSR1, signal.SIGUSR2):
            self.pause = number == signal.SIGUSR1
        else:
            self.end = True

    def wait(self):
        """Waits while a pause is wished for; the seconds of it."""
        begun = time.monotonic()
        while self.pause and not self.end:
            time.sleep(0.2)
        return time.monotonic() - begun


def many(args, kinds, models):
    wishes = Wishes()
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN: # of nohup: children would ignore it too, and a handler is not handed on
        signal.signal(signal.SIGHUP, lambda number, frame: None)
    order, tried, skipped, failures = random.Random(args.seed), collections.Counter(), {}, []
    end, seed = time.monotonic() + 60 * args.minutes, args.seed
    told = time.monotonic()
    names = sorted(kinds)
    while (args.trials is None and time.monotonic() < end) or (args.trials and seed - args.seed < args.trials):
        kind = order.choices(names, [kinds[n][0] for n in names])[0]
        try:
            failure = one(kind, kinds[kind][1], seed, args, models)
            tried[kind] += 1
            if failure:
                failures.append("%s:%d" % (kind, seed))
                print("FAILED --again %s:%d: %s" % (kind, seed, failure), flush=True)
        except Skipped as why:
            skipped["%s: %s" % (kind, why)] = skipped.get("%s: %s" % (kind, why), 0) + 1
        except KeyboardInterrupt:
            break
        seed += 1
        if wishes.end:
            break
        end += wishes.wait()
        if time.monotonic() - told > 30:
            told = time.monotonic()
            print("%d trials, %d failed, %.0f minutes left" % (sum(tried.values()), len(failures), (end - told) / 60), file=sys.stderr, flush=True)
    for kind in sorted(tried):
        print("%6d %s" % (tried[kind], kind))
    for why in sorted(skipped):
        print("%6d skipped: %s" % (skipped[why], why))
    tally.show()
    print("seed %d: %d passed, %d failed" % (args.seed, sum(tried.values()) - len(failures), len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
