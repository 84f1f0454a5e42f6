#!/usr/bin/env python3
"""Checks two promises about long runs and shared machines.

    bench/endurance.py memory -m models/smollm2-135m.gguf [--minutes 30]
    bench/endurance.py share  -m models/smollm2-135m.gguf [--pairs 5]

memory: `forerun bench` answers its prompts again and again in one process, with plain decoding and
with prompt-lookup, in a new session for each conversation. VmRSS is sampled from /proc. Memory must
not grow: after the first tenth of the time (at most two minutes), the smallest size in the last
quarter may exceed that in the first quarter by at most 1 % and 1 MB. Smallest sizes are compared
because sessions come and go.

share: plain decoding runs in turns alone and together with one single-threaded loop of the same
priority. The result is the speed with the loop as a share of the speed alone, the median of the
pairs.

Exit code 0: the promise holds. 1: it does not, or could not be tested. Only Python's standard
library is needed.
"""
import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from calls import Failure, run, say

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROMPTS = ["Write a short story about a lighthouse.", "Count from one to twenty in words, twice.",
           "Explain how a steam engine works.", "Repeat this sentence five times: the river runs to the sea."]
REPEATS = 1000  # the most that `forerun bench` takes: days, for most models


def resident(pid):
    """VmRSS in bytes; None when the process is gone."""
    try:
        with open("/proc/%d/status" % pid, encoding="ascii") as f:
            for line in f:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def slope(samples):
    """Bytes a minute, by least squares."""
    seconds, sizes = zip(*samples)
    middle, mean = statistics.mean(seconds), statistics.mean(sizes)
    spread = sum((s - middle) ** 2 for s in seconds)
    return 60 * sum((s - middle) * (z - mean) for s, z in samples) / spread if spread else 0.0


def sample(child, args):
    """[(seconds, bytes)] until the time is over. Failure when the program ends before it."""
    samples, start = [], time.monotonic()
    while time.monotonic() - start < 60 * args.minutes:
        time.sleep(min(args.every, max(0.1, 6 * args.minutes)))
        size = resident(child.pid)
        if size is None or child.poll() is not None:
            raise Failure("forerun ended after %.0f s with exit code %s" % (time.monotonic() - start, child.wait()))
        samples.append((time.monotonic() - start, size))
        if args.csv:
            with open(args.csv, "a", encoding="ascii") as f:
                f.write("%.0f,%d\n" % samples[-1])
    return samples


def judge(samples, minutes):
    """Prints the figures; whether memory stayed."""
    settled = [s for s in samples if s[0] > min(120, 6 * minutes)]
    if len(settled) < 8:
        raise Failure("%d samples, expected 8 or more: take more --minutes or less --every" % len(settled))
    quarter = len(settled) // 4
    first, last = min(s[1] for s in settled[:quarter]), min(s[1] for s in settled[-quarter:])
    grew = last - first > 0.01 * first + 1e6
    print("memory: %.1f MB at the start, %.1f MB at the end (least of a quarter; %.1f to %.1f in all), slope %+.1f kB a minute "
          "over %.1f minutes: %s" % (first / 1e6, last / 1e6, min(s[1] for s in settled) / 1e6, max(s[1] for s in settled) / 1e6,
                                     slope(settled) / 1e3, samples[-1][0] / 60, "it GREW" if grew else "no growth"))
    return not grew


def memory(args, folder):
    prompts = os.path.join(folder, "prompts.jsonl")
    with open(prompts, "w", encoding="utf-8") as f:
        for i, text in enumerate(PROMPTS):
            f.write(json.dumps({"id": str(i), "messages": [{"role": "user", "content": text}]}) + "\n")
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen([args.forerun, "bench", "-m", args.model, "--prompts", prompts, "--drafters", "none,prompt-lookup",
                                  "--repeat", str(REPEATS), "-n", str(args.predict), "--temp", "0.8", "--seed", "1", "--json", "--quiet"]
                                 + threads(args), stdout=said, stderr=said)
        try:
            samples = sample(child, args)
        except Failure as failure:
            said.seek(0)
            raise Failure("%s: %s" % (failure, said.read().decode(errors="replace").strip()[-300:])) from failure
        finally:
            if child.poll() is None:
                child.send_signal(signal.SIGINT)
                child.wait()
    return judge(samples, args.minutes)


def threads(args):
    return ["-t", str(args.threads)] if args.threads else []


def speed(args):
    said = run([args.forerun, "run", "-m", args.model, "-p", PROMPTS[0], "-n", str(args.predict), "--ignore-eos",
                "--drafter", "none", "--temp", "0", "--json", "--quiet"] + threads(args))
    return json.loads(said)["tok_s"]


def speed_beside_loop(args):
    loop = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        time.sleep(0.3)  # it runs by then
        return speed(args)
    finally:
        loop.kill()
        loop.wait()


def share(args, _):
    parts = []
    for pair in range(args.pairs):
        alone, beside = speed(args), speed_beside_loop(args)
        parts.append(beside / alone)
        say("pair %d of %d: %.1f alone, %.1f tokens/s beside a busy loop" % (pair + 1, args.pairs, alone, beside))
    part = statistics.median(parts)
    print("share: %.2f of the speed alone (%.2f to %.2f, %d pairs), expected %.2f or more: %s"
          % (part, min(parts), max(parts), len(parts), args.least, "ok" if part >= args.least else "too SLOW"))
    return part >= args.least


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("test", choices=["memory", "share"])
    add("-m", "--model", required=True, metavar="FILE")
    add("-t", "--threads", type=int, metavar="N", help="default: what forerun takes on its own")
    add("--forerun", default=os.path.join(ROOT, "build", "forerun"), metavar="PATH")
    add("-n", "--predict", type=int, default=256, metavar="N", help="tokens of an answer (default: 256)")
    add("--minutes", type=float, default=30, metavar="M", help="memory: how long (default: 30)")
    add("--every", type=float, default=5, metavar="S", help="memory: seconds between samples (default: 5)")
    add("--csv", metavar="FILE", help="memory: samples are appended: second,bytes")
    add("--pairs", type=int, default=5, metavar="N", help="share: default 5")
    add("--least", type=float, default=0.40, metavar="PART", help="share: default 0.40")
    args = parser.parse_args()
    try:
        for path in (args.forerun, args.model):
            if not os.path.exists(path):
                raise Failure("%s: no such file" % path)
        with tempfile.TemporaryDirectory() as folder:
            return 0 if {"memory": memory, "share": share}[args.test](args, folder) else 1
    except (Failure, OSError) as failure:
        say("endurance.py: %s" % failure)
        return 1


if __name__ == "__main__":
    sys.exit(main())
