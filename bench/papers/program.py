"""What the measurements of this folder share: how forerun is called, replays and trainings."""
import json
import os
import subprocess
import sys

sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from calls import Failure, json_lines, run


def ask(args, command, *more):
    """The JSON that a command of forerun prints of args.model."""
    return json.loads(run([args.bin, command, "-m", args.model, *map(str, more), "--json", "--quiet"]))


def replay(args, model, files, specs, stem, *more):
    """What `forerun-lab replay` finds for these drafters on the prompts of these files: a line for each, those before included,
    since answers and results lie at STEM and are gone on with."""
    line = [args.bin, "replay", "-m", model, "-t", str(args.threads), "--quiet", "--json", "--prompts", ",".join(files),
            "--drafters", ",".join(specs), "-n", str(args.tokens), "--seed", str(args.seed), "--check", str(args.check),
            "--answers", stem + ".answers.jsonl", "-o", stem + ".results.jsonl", *more]
    done = subprocess.run(line, stdout=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise Failure("replay: exit code %d" % done.returncode)
    return json_lines(stem + ".results.jsonl")


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
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise Failure("%s: exit code %d: see %s.err" % (" ".join(line[:3]), child.returncode, pack))
        drop(pack + ".ckpt")
        out.seek(0)
        return json.load(out), usage.ru_utime + usage.ru_stime
