"""Shared by the measurements of this folder: calls of forerun, replays and trainings."""
import json
import os
import subprocess
import sys

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[1:1] = [BENCH, os.path.join(BENCH, "peers")]
import replays
from calls import Failure, run
from machine import cpu_name, physical_cores


def add_results(add, folder):
    """Options that all measurements have: the program, where results are kept, what is done with them."""
    add("--bin", default=os.path.join(os.path.dirname(BENCH), "build", "forerun-lab"))
    add("--out", default=os.path.join(BENCH, "papers", folder), help="folder of what the tables are made from")
    add("--status", action="store_true", help="run nothing")
    add("--doc", help="a file whose part between the marks is written anew")


def ask(args, command, *more):
    """The JSON that a command of forerun prints of args.model."""
    return json.loads(run([args.bin, command, "-m", args.model, *map(str, more), "--json", "--quiet"]))


def replay(args, model, files, specs, stem, *more):
    """{spec: {"setup", "sets"}} of these drafters on the prompts of these files: see replays.py."""
    line = [args.bin, "replay", "-m", model, "-t", args.threads, "-n", args.tokens, "--seed", args.seed, "--check", args.check, *more]
    return replays.replay(line, files, specs, stem)[0]


def machine_of(args):
    """The processor and the threads that a caption names, unless the line gives its own words."""
    threads = getattr(args, "threads", physical_cores())
    return args.machine or "%s, %d thread%s" % (cpu_name(), threads, "s" * (threads != 1))


def drop(*paths):
    for path in filter(os.path.exists, paths):
        os.remove(path)


def train(line):
    """(what a training says at its end, the processor seconds that it took). The line names the pack by -o; what stood there
    goes, no checkpoint is left, and what is said on the way lies beside it."""
    pack = line[line.index("-o") + 1]
    drop(pack, pack + ".ckpt")
    with open(pack + ".out", "w+", encoding="utf-8") as out, open(pack + ".err", "w", encoding="utf-8") as err:
        child = subprocess.Popen(line, stdout=out, stderr=err, stdin=subprocess.DEVNULL, env=dict(os.environ, OMP_WAIT_POLICY="passive"))
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except KeyboardInterrupt:
            child.wait()  # it got the signal too, and writes its results
            raise
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise Failure("%s: exit code %d: see %s.err" % (" ".join(line[:3]), child.returncode, pack))
        drop(pack + ".ckpt")
        out.seek(0)
        return json.load(out), usage.ru_utime + usage.ru_stime
