"""Random command lines of `run`, which must give what the same line with `--drafter none` gives.

One trial draws a model, a prompt and a way to sample, asks plain decoding once, and then several drafted lines.
"""
import functools
import json
import os
import re
import shlex
import subprocess

import draws
import tally
from trial import Failed, Skipped, shown

VARIANTS = 6  # drafted lines for each plain one
ALIKE = ("text", "tokens", "finish_reason", "prompt_tokens", "completion_tokens")
COLOURS = re.compile(rb"\x1b\[[0-9;]*m")


@functools.lru_cache(maxsize=None)
def instruction_sets(forerun, model):
    """Those that the program takes on this machine."""
    known = ["auto", "scalar", "avx2", "avx-vnni", "avx512", "amx"]
    def works(isa):
        return subprocess.run([forerun, "logits", "-m", model, "--ids", "1", "--isa", isa], capture_output=True).returncode == 0
    return [isa for isa in known if works(isa)]


class Line:
    """A drawn line of `run`, without who drafts."""

    def __init__(self, trial, model, most):
        rng = trial.rng
        self.trial, self.model = trial, model
        self.tiny = os.path.basename(model).startswith("tiny-")
        prompt, self.stdin = draws.prompt(trial, model, 300 if self.tiny else 160)
        n = rng.choice([1, 2, 3, rng.randint(1, most), rng.randint(1, most), most])
        context = rng.choice([None] * 5 + [8, 40, 64, 100, 128, rng.randint(60, 300), rng.randint(60, 300), 512])
        if rng.random() < 0.12 and (context or self.tiny):
            n, context = -1, context or 200
            context = min(context, 64 + most)
        self.groups = [["-m", model]] + prompt + [draws.spelled(rng, "n", "n-predict", n)] + draws.sampling(rng)
        if context:
            self.groups.append(draws.spelled(rng, "c", "ctx-size", context))
        if rng.random() < 0.12:
            self.groups.append(["--kv-type", rng.choice(["q8_0", "f16+q8_0", "f16"])])
        if rng.random() < 0.3:
            self.groups.append(["--ignore-eos"])

    def run(self, more, shuffled=True, form=("--json",)):
        """(how it ended, the arguments). `more`: groups of options that are added."""
        groups = self.groups + more + [[f] for f in form]
        if shuffled:
            self.trial.rng.shuffle(groups)
        args = ["run"] + [a for g in groups for a in g]
        kwargs = {}
        if self.stdin:
            kwargs["stdin"] = open(self.stdin, "rb")
        try:
            done = self.trial.run(args, **kwargs)
        finally:
            if self.stdin:
                kwargs["stdin"].close()
        return done, args

    def typed(self, args):
        return shown(args) + (" < " + shlex.quote(self.stdin) if self.stdin else "")


def answer(line, done, args):
    """The JSON of a run that went well; None of one that was refused with a sentence."""
    if done.code in (1, 2) and done.err.strip() and not done.out:
        return None
    if done.code:
        raise Failed("ended with %d, not 0, 1 or 2 with a sentence: %s: %s" % (done.code, line.typed(args), done.sentence()))
    try:
        found = json.loads(done.out.decode())
    except ValueError as why:
        raise Failed("no JSON (%s): %s" % (why, line.typed(args))) from None
    if len(found["tokens"]) != found["completion_tokens"] or not found["lossless"]:
        raise Failed("%d tokens, completion_tokens %d, lossless %s: %s" % (len(found["tokens"]), found["completion_tokens"], found["lossless"], line.typed(args)))
    return found


def stops(trial, said):
    """Options that end the text at something that the model says."""
    options = []
    for _ in range(trial.rng.randint(1, 3)):
        at = trial.rng.randrange(len(said))
        piece = said[at:at + trial.rng.choice([1, 1, 2, 3, 5, 12])]
        if "\0" not in piece and "\ufffd" not in piece:
            options.append(["--stop", piece])
    return options


def company(line):
    """Options of which the bytes must not depend: threads, instruction set, memory."""
    rng, options = line.trial.rng, []
    if rng.random() < 0.6:
        options.append(draws.spelled(rng, "t", "threads", rng.choice([1, 1, 2, 3])))
    if rng.random() < 0.3:
        there = [isa for isa in instruction_sets(line.trial.forerun, line.model) if line.tiny or isa != "scalar"]
        options.append(["--isa", rng.choice(there)])
    if rng.random() < 0.15:
        options.append(["--low-memory"])
    if rng.random() < 0.2:
        options.append([rng.choice(["-q", "--quiet"])])
    return options


def refusal_of_its_own(line, more, args, sentence):
    """Whether the drafter's options, as they stand in `args`, are refused whatever the prompt and the context: then
    plain decoding's sentence, which is about those, is not to be expected."""
    more = sorted(more, key=lambda g: [args[i:i + len(g)] for i in range(len(args))].index(g))
    kept = line.trial.run(["run", "-m", line.model, "--raw", "-p", "hello", "-n", "2", "--json"] + [a for g in more for a in g])
    return kept.code in (1, 2) and kept.sentence() == sentence


def compare(line, plain, plain_done, plain_args, names, more):
    done, args = line.run(more)
    found = answer(line, done, args)
    against = "%s\n    against: %s" % (line.typed(args), line.typed(plain_args))
    tally.drew(names, found)
    if plain is None:
        if found is not None:
            raise Failed("plain decoding refuses (%s), this does not: %s" % (plain_done.sentence(), against))
        if (done.sentence(), done.code) != (plain_done.sentence(), plain_done.code) and not refusal_of_its_own(line, more, args, done.sentence()):
            raise Failed("refuses with '%s' (%d), plain decoding with '%s' (%d): %s" % (done.sentence(), done.code, plain_done.sentence(), plain_done.code, against))
        tally.said_no(done.sentence())
        return
    if found is None:
        tally.said_no("(drafter alone) " + done.sentence())
        return
    for key in ALIKE:
        if found[key] != plain[key]:
            raise Failed("%s differs: %s, plain: %s: %s" % (key, different(found[key], plain[key]), different(plain[key], found[key]), against))


def different(a, b):
    """What is worth showing of a value that is not b."""
    if not isinstance(a, (str, list)) or not isinstance(b, type(a)):
        return repr(a)
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    return "%r from %d of %d on" % (a[at:at + 12], at, len(a))


def compare_streamed(line, plain_done_args, names, more):
    """What is streamed to stdout, in colours or none, is what plain decoding streams."""
    colour = line.trial.rng.choice([(), (), ("--color=always",), ("--color",)])
    done, args = line.run(more, form=colour)
    plain, plain_args = plain_done_args
    tally.drew(names, None)
    if done.code and done.err.strip() and not done.out:
        return tally.said_no("(drafter alone) " + done.sentence())
    if COLOURS.sub(b"", done.out) != COLOURS.sub(b"", plain.out) or done.code != plain.code:
        raise Failed("the streamed bytes differ (%d bytes, %d; code %d, %d): %s\n    against: %s" % (
            len(done.out), len(plain.out), done.code, plain.code, line.typed(args), line.typed(plain_args)))


def lines(trial, model, most, kind):
    line = Line(trial, model, most)
    none = [["--drafter", "none"], ["-t", "1"]]
    done, args = line.run(none, shuffled=False)
    tally.lines[kind] += 1
    plain = answer(line, done, args)
    if plain and plain["text"] and trial.rng.random() < 0.35:
        line.groups += stops(trial, plain["text"])
        done, args = line.run(none, shuffled=False)
        plain = answer(line, done, args)
    streamed = line.run(none, shuffled=False, form=()) if plain and trial.rng.random() < 0.3 else None
    failures = []
    for _ in range(VARIANTS if plain else 2):
        names, more = draws.drafting(trial, model) if trial.rng.random() < 0.95 else (["none"], [["--drafter", "none"]])
        more += company(line)
        tally.lines[kind] += 1
        try:
            if streamed and trial.rng.random() < 0.4:
                compare_streamed(line, streamed, names, more)
            else:
                compare(line, plain, done, args, names, more)
        except Failed as failure:
            failures.append(str(failure))
    if failures:
        raise Failed("\n  and ".join(failures))


def prepare(trial):
    """What passes cost is measured once a run, not once a trial; at times anew."""
    if trial.rng.random() < 0.9:
        trial.env["XDG_CACHE_HOME"] = draws.shared("cache")


def pick(trial, real):
    """The path of a tiny model, or with the probability `real` of a trained one."""
    tiny = [n for n in sorted(trial.models) if n.startswith("tiny-")]
    if trial.rng.random() < real and draws.REAL in trial.models:
        return trial.models[draws.REAL]
    if not tiny:
        raise Skipped("no tiny models")
    return trial.model(*tiny)


def tiny_lines(trial):
    prepare(trial)
    lines(trial, pick(trial, 0), 300 if trial.rng.random() < 0.3 else 80, "lines")


def real_lines(trial):
    prepare(trial)
    lines(trial, trial.model(draws.REAL), 48, "real-lines")


KINDS = {"lines": (12, tiny_lines), "real-lines": (4, real_lines)}
