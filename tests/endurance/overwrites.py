"""Outputs that are inputs of the same line, by whatever path, and outputs onto files of another kind: refused with both names, and the
file stays as it was."""
import os
import shutil

from trial import Failed
from works import WORKS, env_of, files_below, prompts, sentence, shards, shown, text, tiny_model, touched, untouched

ALIASES = ("itself", "dotted", "symlink", "hard link", "symlink to folder")


def alias(trial, path):
    """Another path of the same file."""
    kind, other = trial.rng.choice(ALIASES), os.path.join(trial.folder, "another%s" % os.path.splitext(path)[1])
    folder, name = os.path.split(path)
    if kind == "dotted":
        return os.path.join(folder, ".", os.pardir, os.path.basename(folder), name)
    if kind == "symlink":
        os.symlink(path, other)
        return other
    if kind == "hard link" and not os.path.isdir(path):
        os.link(path, other)
        return other
    if kind == "symlink to folder":
        os.symlink(folder, trial.path("folder"))
        return os.path.join(trial.path("folder"), name)
    return path


def lines(trial, model, asked, answered, states, shape):
    """(line without the output, option of the output, inputs that it might be)."""
    common = ["-m", model, "-t", 1]
    return trial.rng.choice([
        (["distill", "--prompts", asked, "-n", 4] + common, "-o", [asked, model]),
        (["distill", "--prompts", asked, "-n", 4, "-o", "x.jsonl"] + common, "--capture", ["x.jsonl"]),
        (["capture", "--data", answered] + common, "-o", [answered, model]),
        (["train", "medusa", "--data", states, "--steps", 1] + common, "-o", [model, os.path.join(states, "shard-000000.frs")]),
        (["train", "medusa", "--data", asked, "--steps", 1] + common, "-o", [model, asked]),
        (["datastore", "--data", answered, "-m", model], "-o", [answered, model]),
        (["curve", "--rows", 1, "--context", 16] + common, "--plot", [model]),
        (["accuracy", "--prompts", asked, "-n", 4, "--drafter", "prompt-lookup"] + common, "--plot", [model, asked]),
    ])


def own(trial):
    """A copy of a tiny model, for the case that it is written over."""
    return shutil.copy(tiny_model(trial), trial.path("in/model.gguf"))


def input_as_output(trial):
    env_of(trial, "b")
    model = own(trial)
    asked, answered, states = prompts(trial, 6), prompts(trial, 12, True, "given.jsonl"), shards(trial, model, 12)
    line, option, inputs = lines(trial, model, asked, answered, states, None)
    named = trial.rng.choice(inputs)
    output = alias(trial, named) if os.path.isabs(named) else named
    before = touched([trial.path("in")])
    line = line + [option, output]
    done = sentence(trial.run(line, cwd=trial.path("b"), env=env_of(trial, "b")), line, (1, 2))
    untouched(before)
    for name in (output, named):
        if os.path.basename(name) not in done.sentence():
            raise Failed("does not name %s: %s: %s" % (name, shown(line), done.sentence()))


def foreign(trial):
    """A file of another kind stands where the output will be."""
    name = trial.rng.choice([n for n in WORKS if n not in ("tune", "run")])
    work = WORKS[name][1](trial)
    output = work.outputs[-1] if name == "distill" and "--capture" in work.line and trial.rng.random() < 0.5 else work.outputs[0]
    at = trial.path("b")
    env_of(trial, "b")
    there = os.path.join(at, output)
    kinds = {"text": b"Notes of the day.\nNothing came of it.\n", "zeros": b"\0" * 5000, "picture": b"\x89PNG\r\n\x1a\n" + b"\1\2\3" * 400,
             "json": b'{"a": 1}\n', "model": open(tiny_model(trial), "rb").read()}
    if output == "answers.jsonl": # that is what a power cut leaves of a file that grows: no answers are lost
        del kinds["zeros"]
    kind = trial.rng.choice(sorted(kinds))
    if name == "bench": # a folder: what it would write into stands there
        os.makedirs(there)
        there = os.path.join(there, "index.html")
    if output == "states":
        if kind == "model":
            kind = "text"
    with open(there, "wb") as f:
        f.write(kinds[kind])
    before = touched([there])
    done = trial.run(work.line, cwd=at, env=env_of(trial, "b"))
    try:
        sentence(done, work.line, (1, 2))
    except Failed as why:
        raise Failed("onto a file of another kind (%s): %s" % (kind, why)) from None
    untouched(before)
    if os.path.basename(there) not in done.sentence():
        raise Failed("does not name %s: %s: %s" % (there, shown(work.line), done.sentence()))
    left = [f for f in files_below(at) if f != there and "/cache/" not in f]
    if left:
        raise Failed("refused, and yet wrote %s: %s" % (left[0], shown(work.line)))


KINDS = {"overwrite-input": (12, input_as_output), "overwrite-foreign": (12, foreign)}
