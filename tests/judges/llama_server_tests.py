#!/usr/bin/env python3
"""llama.cpp's own server tests over `forerun serve`, with llama-server's results under the same mapping as the reference.

    tests/judges/llama_server_tests.py [--of theirs|ours|both] [--dir DIR] [--program build/forerun] [--only PATTERN]

The tests are in the source package of llama-cpp-python (fetched into --dir, outside of this tree, as bench/peers/build.py
does, which also builds llama-server). wrapper.py starts either program with models of FR_MODELS, plugin.py keeps the tests
from fetching and from judging what the model wrote. A test counts if llama-server passes it and left_out.txt does not name
it; 95 of 100 of those must pass. Exit code: 0 if so, 1 if not.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import venv

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(1, os.path.join(ROOT, "bench"))
sys.path.insert(1, os.path.join(ROOT, "bench", "peers"))

import build as peers
from calls import Failure, run, say

FILES = ["basic", "chat_completion", "compat_anthropic", "compat_oai_responses", "completion", "ctx_shift", "ignore_eos", "infill",
         "metrics", "security", "slot_save", "speculative", "template", "tokenize", "tool_call"]
NEEDS = ["pytest~=8.3.3", "pytest-timeout", "filelock~=3.16", "numpy~=2.2.6", "openai~=2.14.0", "prometheus-client~=0.20.0",
         "requests~=2.32.3", "wget~=3.2", "aiohttp"]
SECONDS, TRIES, BAR = 300, 2, 95


def python_of(args):
    if args.python:
        return args.python
    place = os.path.join(args.dir, "venv-judge")
    python = os.path.join(place, "bin", "python")
    if not os.path.exists(python):
        say("installing what the tests need in %s" % place)
        venv.create(place, with_pip=True)
        run([python, "-m", "pip", "install", *NEEDS])
    return python


def program_of(args, of):
    if of == "ours":
        return os.path.abspath(args.program)
    return os.path.abspath(args.server) if args.server else os.path.join(peers.build(args.dir, args.jobs), "llama-server")


def read_results(path):
    """{id: (outcome, why)}; of several tries the best."""
    found = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            for line in f:
                one = json.loads(line)
                if found.get(one["id"], ("",))[0] != "passed":
                    found[one["id"]] = (one["outcome"], one["why"])
    return found


def call_pytest(args, of, tests, results, ids):
    env = dict(os.environ, LLAMA_SERVER_BIN_PATH=os.path.join(HERE, "wrapper.py"), FR_JUDGE_OF=of,
               FR_JUDGE_PROGRAM=program_of(args, of), FR_JUDGE_TESTS=tests, FR_JUDGE_RESULTS=results, FR_MODELS=args.models,
               PYTEST_WORKERS="1", PORT=str(args.port), PYTHONPATH=HERE, PYTHONDONTWRITEBYTECODE="1")
    with open(os.path.join(args.dir, "judge-%s.log" % of), "w", encoding="utf-8") as log:
        subprocess.run([python_of(args), "-m", "pytest", "-p", "plugin", "-p", "no:cacheprovider", "-q", "-m", "not slow",
                        "--timeout", str(SECONDS), *ids], cwd=tests, env=env, stdout=log, stderr=subprocess.STDOUT, check=False)


def judge(args, of, tests, reference):
    """Runs the tests, then those once more that failed: a machine that does other work makes some late."""
    results = os.path.join(args.dir, "judge-%s.jsonl" % of)
    if os.path.exists(results) and not args.only:
        os.remove(results)
    ids = ["unit/test_%s.py" % name for name in FILES]
    if args.only:
        ids = [test for test in sorted(set(read_results(results)) | set(reference)) if matches(args.only, test)]
    for _ in range(TRIES):
        call_pytest(args, of, tests, results, ids)
        found = read_results(results)
        ids = [test for test, (outcome, _) in found.items()
               if outcome == "failed" and (not reference or test in reference) and (not args.only or matches(args.only, test))]
        if not ids:
            break
    return found


def matches(pattern, test):
    return re.fullmatch(".*".join(re.escape(part) for part in pattern.split("*")), test) is not None


def read_left_out():
    """[(pattern, reason)]: a pattern of ids, where * is anything, and why."""
    with open(os.path.join(HERE, "left_out.txt"), encoding="utf-8") as f:
        return [tuple(part.strip() for part in line.split(" -- ", 1)) for line in f if line.strip() and line[0] != "#"]


def report(theirs, ours):
    """Whether the bar is reached."""
    reasons = read_left_out()
    reference = [test for test, (outcome, _) in theirs.items() if outcome == "passed"]
    left = [test for test in reference if any(matches(pattern, test) for pattern, _ in reasons)]
    asked = [test for test in reference if test not in left]
    passed = [test for test in asked if ours.get(test, ("",))[0] == "passed"]
    percent = 100 * len(passed) / max(1, len(asked))
    for test in asked:
        if test not in passed:
            print("failed: %s: %s" % (test, ours.get(test, ("", "not run"))[1]))
    print("llama-server passes %d of %d; left out %d (left_out.txt), asked %d; forerun passes %d: %.1f %% (at least %d)"
          % (len(reference), len(theirs), len(left), len(asked), len(passed), percent, BAR))
    extra = [test for test in left if ours.get(test, ("",))[0] == "passed"]
    if extra:
        print("left out, and passed: %d" % len(extra))
    return percent >= BAR


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--of", choices=["theirs", "ours", "both"], default="both", help="whose server runs (default: both)")
    add("--dir", default=os.environ.get("FR_JUDGE_DIR", os.path.join(os.path.dirname(ROOT), "judge")), metavar="DIR",
        help="sources, results and logs, outside of this tree (default: FR_JUDGE_DIR, or judge beside the tree)")
    add("--program", default=os.path.join(ROOT, "build", "forerun"), metavar="FILE", help="forerun (default: build/forerun)")
    add("--server", metavar="FILE", help="a llama-server that is there (default: built in --dir)")
    add("--models", default=os.environ.get("FR_MODELS", os.path.join(ROOT, "models")), metavar="DIR", help="default: FR_MODELS")
    add("--python", metavar="FILE", help="one that has what the tests need (default: installed in --dir)")
    add("--port", type=int, default=18080, help="of the servers (default: 18080)")
    add("--jobs", type=int, default=1, metavar="N", help="of the build (default: 1)")
    add("--only", metavar="PATTERN", help="only tests whose id matches, where * is anything; the others' results stay")
    args = parser.parse_args()
    args.models = os.path.abspath(args.models)
    args.dir = os.path.abspath(args.dir)
    tests = os.path.join(peers.fetch(args.dir), "tools", "server", "tests")
    theirs = read_results(os.path.join(args.dir, "judge-theirs.jsonl"))
    if args.of != "ours":
        theirs = judge(args, "theirs", tests, {})
    ours = read_results(os.path.join(args.dir, "judge-ours.jsonl"))
    if args.of != "theirs":
        ours = judge(args, "ours", tests, {test for test, (outcome, _) in theirs.items() if outcome == "passed"})
    return 0 if report(theirs, ours) or args.of == "theirs" else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        say("error: %s" % failure)
        sys.exit(2)
