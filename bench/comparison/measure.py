"""The runs of the comparison. One unit is all systems of the same options, on one set of prompts,
at one temperature."""
import glob
import hashlib
import json
import os
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "peers"))

from calls import Failure, name_of, peak_run, run
from machine import physical_cores

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LEFT_OUT = ("passes_by_rows", "draft_stats", "accepted_by_depth")  # of a run: no table shows it
PROBE = "Count from one to twenty in words."


def write(path, value):
    """All of it or nothing."""
    with open(path + ".new", "w", encoding="utf-8") as f:
        json.dump(value, f)
        f.write("\n")
    os.replace(path + ".new", path)


def read(path):
    try:
        with open(path, encoding="utf-8") as f:
            return json.load(f)
    except (OSError, ValueError) as error:
        raise Failure("%s: %s" % (path, error)) from error


def check_same(path, found, head):
    """What was measured in another way is not gone on with."""
    for key, value in head.items():
        if found.get(key) != value:
            raise Failure("%s: measured with %s %s, here it is %s: give another --out, or take it away" % (path, key, found.get(key), value))


def resume(path, head, rest):
    """What lies at path and is gone on with, or the head and the rest of a new result. What was measured in another way is not."""
    if not os.path.exists(path):
        return {**head, **rest}
    found = read(path)
    check_same(path, found, head)
    return found


def same_prompts(path, found, tasks):
    """Keeps a short name of each task's prompts; what was measured with others is not gone on with."""
    for task, lines in tasks.items():
        now = hashlib.sha256("".join(lines).encode()).hexdigest()[:16]
        if found.setdefault("prompts", {}).setdefault(task, now) != now:
            raise Failure("%s: measured with other prompts of %s: give another --out" % (path, task))


def dates_of(found, ones):
    """When these parts of a result were measured, in words."""
    dates = sorted({one.get("date", found["date"]) for one in ones})
    return " to ".join(sorted({dates[0], dates[-1]}))


def read_prompts(files):
    """Lines of prompts by their task: {task: [line]}."""
    tasks = {}
    for path in files:
        try:
            with open(path, encoding="utf-8") as f:
                for line in filter(str.strip, f):
                    tasks.setdefault(json.loads(line).get("task") or name_of(path), []).append(line.strip() + "\n")
        except (OSError, ValueError, AttributeError) as error:
            raise Failure("%s: expected JSON lines of prompts: %s" % (path, error)) from error
    return tasks


def prompt_lines(patterns):
    """Lines of prompts by their task, of all files that these patterns name."""
    files = sorted(path for pattern in patterns for path in glob.glob(pattern))
    if not files:
        raise Failure("--prompts %s: no such file" % " ".join(patterns))
    return read_prompts(files)


def fill_of(args, model):
    """What a SPEC's {draft} and {store} are for this model, as far as the line names them."""
    return {key: given[name_of(model)] for key, given in (("draft", args.draft), ("store", args.store)) if name_of(model) in given}


def pairs(values, what):
    """{model: file} of MODEL=FILE."""
    found = {}
    for value in values:
        model, equals, path = value.partition("=")
        if not equals or not os.path.exists(path):
            raise Failure("--%s %s: expected MODEL=FILE of a file that is there" % (what, value))
        found[model] = path
    return found


def add_arguments(add):
    """Options of all that measure systems: what runs, and on what. Their --draft and --store go through pairs()."""
    add("--bin", default=os.path.join(ROOT, "build", "forerun-lab"))
    add("-m", "--model", action="append", default=[])
    add("--prompts", action="append", default=[], help="files of prompts; patterns are expanded")
    add("--draft", action="append", default=[], metavar="MODEL=FILE", help="the draft model of a model")
    add("--store", action="append", default=[], metavar="MODEL=FILE", help="the datastore of a model")
    add("-t", "--threads", type=int, default=physical_cores())
    add("--seed", type=int, default=1, help="of all answers at a temperature")


def write_prompts(folder, task, lines):
    """The file of these lines."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, task + ".jsonl")
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(lines)
    return path


class Machine:
    """How forerun is called. One seed for all units: at a temperature too, all systems write the same text."""

    def __init__(self, binary, threads, seed):
        self.binary, self.threads, self.seed = binary, threads, seed

    def on(self, model, command, *more, options=()):
        """The words of a call."""
        line = [self.binary, command, "-m", model, "-t", str(self.threads), "--quiet", "--json", *map(str, more)]
        for option in options:
            line += ["--draft-opt", option]
        return line

    def inspect(self, path):
        return json.loads(run([self.binary, "inspect", path, "--json"]))

    def bench(self, model, prompts, specs, options, temperature, tokens, report=None):
        """What `forerun bench` says, its `sets` and lists by prompt left out; its page goes to the folder `report`."""
        line = self.on(model, "bench", "--prompts", prompts, "--temp", temperature, "--seed", self.seed, "-n", tokens,
                       "--drafters", ",".join(specs), *(["--report", report] if report else []), options=options)
        said = json.loads(run(line, codes=(0, 1)))  # 1: bytes that differ, which the tables tell
        runs = [{key: value for key, value in found.items() if key not in LEFT_OUT} for found in said["runs"]]
        return {"machine": said["machine"], "model": said["model"], "runs": runs}


def probe(machine, model, systems, fill):
    """{name: {"spec", "memory" in bytes} or {"why": sentence}} of all systems, by a short answer each."""
    found = {}
    for system in systems:
        try:
            spec = system.spec.format(**fill)
            line = machine.on(model, "run", "-p", PROBE, "-n", 48, "--drafter", spec, options=system.options)
            found[system.name] = {"spec": spec, "memory": peak_run(line)[2]}
        except KeyError as missing:
            found[system.name] = {"why": "needs --%s" % missing.args[0]}
        except Failure as failure:
            found[system.name] = {"why": str(failure).splitlines()[-1].rpartition("forerun: ")[2]}
    return found


def trainings(machine, model, folder):
    """{drafter: {"seconds", "tokens", "steps"}}: what training the packs of this model took."""
    own = machine.inspect(model)["fingerprint"]
    found = {}
    for entry in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        pack = entry.endswith(".gguf") and machine.inspect(os.path.join(folder, entry)).get("pack")
        if pack and pack["target"] == own and pack.get("train"):
            found[pack["drafter"]] = {key: pack["train"][key] for key in ("seconds", "tokens", "steps")}
    return found


def by_options(systems, probed):
    """Systems that can run and draft, by their options: one call has options for all."""
    groups = {}
    for system in systems:
        if system.spec != "none" and "spec" in probed.get(system.name, ()):  # a system may be newer than what was probed
            groups.setdefault(system.options, []).append(system)
    return groups
