"""Calls `forerun-lab replay` for the scripts of bench/: what drafters gain on prompts. An
interrupted replay continues."""
import json
import subprocess

from calls import Failure, name_of

MOST = 64  # drafters of one call (lab/cmd/replay/replay.h)


def replay(line, files, specs, stem):
    """({spec: {"setup": what its results depend on, "sets": {task: [a result for each prompt, by its key]}}}, seconds of work).

    `line` has the program, the command and all options but these. Answers and results lie at STEM and are gone on with; what
    comes back is of these prompts and of today's packs and program alone, whatever else lies there."""
    found, seconds = {}, 0
    for first in range(0, len(specs), MOST):
        call = [*map(str, line), "--json", "--quiet", "--prompts", ",".join(files), "--drafters", ",".join(specs[first:first + MOST]),
                "--answers", stem + ".answers.jsonl", "-o", stem + ".results.jsonl"]
        done = subprocess.run(call, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise Failure("replay of %s: exit code %d" % (name_of(stem), done.returncode))
        said = json.loads(done.stdout)
        seconds += sum(said["seconds"][part] for part in ("answers", "replay", "check"))
        for one in said["drafters"]:
            found[one["setup"]["drafter"]] = {"setup": one["setup"], "sets": by_task(one["prompts"])}
    return found, seconds


def by_task(lines):
    """By key, so that two drafters' lines are of the same prompts, place by place."""
    sets = {}
    for line in sorted(lines, key=lambda line: line["key"]):
        sets.setdefault(line.get("task") or line["set"], []).append(line)
    return sets
