"""The commands that write, as the trials of sabotage run them: small inputs, a line, what it may write, what must be equal.

Every work runs in a folder of its own (its working folder, with its own cache), so that the same line runs
undisturbed in one folder and disturbed in another. Inputs lie in the trial's folder `in`, made once a trial.
"""
import gzip
import hashlib
import json
import os
import re

from trial import Failed, shown

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TRAINED = ["medusa", "eagle", "hidden-state", "chimera", "ppd", "hidden-transfer", "early-exit"]
# What an unfinished run may leave, and a finished one not.
LOCK, UNFINISHED = re.compile(r"\.lock$"), re.compile(r"\.part$|\.lock$")
WORDS = "the one and other water wind sum of x for in then you went on end thing".split()


class Work:
    """`line` as it runs in a folder; `outputs`: the names there that it may write, folders with all in them.
    `value(trial, folder)` is what the end must have in common with an undisturbed run's, None where a clock decides.
    `resume`: what the next line has besides where a checkpoint lies there. `prints`: stdout is an answer."""

    def __init__(self, name, line, outputs, value=None, resume=None, prints=False):
        self.name, self.line, self.outputs, self.value, self.resume, self.prints = name, line, outputs, value, resume, prints

    def again(self, folder):
        """The line that goes on with what lies in `folder`."""
        there = self.resume and os.path.exists(os.path.join(folder, self.outputs[0] + ".ckpt"))
        return self.line + ([self.resume] if there else [])


# ---------------------------------------------------------------- inputs

def text(rng, words):
    return " ".join(rng.choice(WORDS) for _ in range(words)) + "."


def prompts(trial, n, answered=False, name="prompts.jsonl"):
    """Conversations of one or two turns, plain or packed; with answers where `answered`."""
    lines = []
    for i in range(n):
        messages = [{"role": "user", "content": text(trial.rng, trial.rng.randint(2, 20))}]
        if answered:
            messages.append({"role": "assistant", "content": text(trial.rng, trial.rng.randint(5, 30))})
        lines.append(json.dumps({"id": "p-%d" % i, "messages": messages}))
    data = "".join(line + "\n" for line in lines).encode()
    os.makedirs(trial.path("in"), exist_ok=True)
    return trial.write("in/" + name, gzip.compress(data, mtime=0) if name.endswith(".gz") else data)


def shards(trial, model, n=30):
    """A folder of what the model computes for given answers, with a residual of layer 1."""
    data = prompts(trial, n, True, "answered.jsonl")
    folder = trial.path("in/states")
    must(trial.run(["capture", "-m", model, "--data", data, "-o", folder, "--taps", "1", "-t", "1", "-q"], env=env_of(trial, "in")), "capture")
    return folder


def pack_of(model, method):
    """A pack that lies ready for a model: beside the tiny ones, in the project's folder for the others; None: there is none."""
    name = "%s-%s.gguf" % (os.path.basename(model)[:-5], method)
    for folder in (os.path.join(os.path.dirname(model), "packs"), os.path.join(ROOT, "packs")):
        if os.path.exists(os.path.join(folder, name)):
            return os.path.join(folder, name)
    return None


def tiny_models(trial):
    """Names of those that the works can run with: a chat template, room for a conversation, layers that every training knows, packs."""
    unfit = re.compile("-spm|-gemma3|-phi3|-short|-window")
    return [m for m in sorted(trial.models) if m.startswith("tiny-") and not unfit.search(m) and pack_of(trial.models[m], "medusa")]


def small_model(trial):
    """A model that is done in a moment: a tiny one, now and then the real one, which takes its time where the tiny ones do not."""
    tiny = tiny_models(trial)
    if tiny and trial.rng.random() < 0.85:
        return trial.models[trial.rng.choice(tiny)]
    return trial.model("smollm2-135m", *tiny[:1])


def tiny_model(trial):
    return trial.model(*(tiny_models(trial) or ["smollm2-135m"]))


def env_of(trial, folder):
    """The environment of a working folder, which is made: nothing is shared with another one's."""
    at = trial.path(folder)
    os.makedirs(trial.path("in"), exist_ok=True)
    os.makedirs(at, exist_ok=True)
    return dict(trial.env, XDG_CACHE_HOME=os.path.join(at, "cache"), XDG_STATE_HOME=os.path.join(at, "state"), XDG_DATA_HOME=os.path.join(at, "data"))


# ---------------------------------------------------------------- works

def is_tiny(model):
    return os.path.basename(model).startswith("tiny-")


def distill(trial):
    model = small_model(trial)
    tiny = is_tiny(model)
    asked = prompts(trial, trial.rng.randint(20, 200) if tiny else 8, name=trial.rng.choice(["prompts.jsonl", "prompts.jsonl.gz"]))
    line = ["distill", "-m", model, "--prompts", asked, "-o", "answers.jsonl", "-n", 32 if tiny else 8, "-c", 400, "-t", 1,
            "--width", trial.rng.choice([3, 8, 32])]
    if trial.rng.random() < 0.6:
        line += ["--capture", "states", "--taps", "1"]
    return Work("distill", line, ["answers.jsonl", "states"], answers)


def capture(trial):
    model = small_model(trial)
    data = prompts(trial, trial.rng.randint(40, 400) if is_tiny(model) else 8, True)
    return Work("capture", ["capture", "-m", model, "--data", data, "-o", "states", "-t", 1, "--width", 8], ["states"],
                lambda trial, at: captured(trial, at, model))


def train(trial, method=None):
    """Of given states, so that steps alone decide the bits."""
    method, model = method or trial.rng.choice(TRAINED), tiny_model(trial)
    tiny = is_tiny(model)
    line = ["train", method, "-m", model, "--data", shards(trial, model), "-o", "pack.gguf", "--steps", trial.rng.randint(2, 40) if tiny else 2,
            "--checkpoint-every", trial.rng.choice([1, 1, 60]), "-t", 1, "--batch-rows", 128]
    line += ["--vocab", 300] if tiny else []
    line += ["--set", "exit=1"] if method == "early-exit" else []
    return Work("train", line, ["pack.gguf", "pack.gguf.ckpt"], content("pack.gguf"), "--resume")


def train_prompts(trial):
    """The model's answers first."""
    model = tiny_model(trial)
    asked = prompts(trial, 40)
    line = ["train", trial.rng.choice(["medusa", "eagle"]), "-m", model, "--data", asked, "-o", "pack.gguf", "--steps", 5, "--tokens", 1200,
            "-t", 1, "--batch-rows", 128] + (["--vocab", 300] if is_tiny(model) else [])
    return Work("train-prompts", line, ["pack.gguf", "pack.gguf.ckpt", "pack.gguf.data"], None, "--resume")


def datastore(trial):
    model = small_model(trial)
    data = prompts(trial, trial.rng.randint(50, 3000), True)
    return Work("datastore", ["datastore", "-m", model, "--data", data, "-o", "store.frd"], ["store.frd"], content("store.frd"))


def tune(trial):
    model = small_model(trial)
    return Work("tune", ["tune", "-m", model, "--drafter", "prompt-lookup", "-t", 1, "-n", 8, "--limit", 2], [])


def bench(trial):
    model = small_model(trial)
    asked = prompts(trial, 8 if is_tiny(model) else 2)
    return Work("bench", ["bench", "-m", model, "--prompts", asked, "--drafters", "prompt-lookup,lookahead", "-n", 16, "-t", 1, "--report", "report"], ["report"])


def curve(trial):
    return Work("curve", ["curve", "-m", small_model(trial), "--rows", "1,2", "--context", 16, "-t", 1, "--plot", "curve.svg"], ["curve.svg"])


def accuracy(trial):
    model = small_model(trial)
    line = ["accuracy", "-m", model, "--prompts", prompts(trial, 8), "--drafter", "prompt-lookup", "-n", 16, "-t", 1, "--plot", "accuracy.svg"]
    return Work("accuracy", line, ["accuracy.svg"])


def answer(trial):
    """One answer of a drafter that keeps n-grams, with the profile that is measured on the way."""
    model = small_model(trial)
    line = ["run", "-m", model, "-p", text(trial.rng, 20), "-n", 48, "-c", 256, "-t", 1]
    pack = pack_of(model, "chimera")
    line += ["--drafter", "chimera:" + pack, "--draft-opt", "store=store", "--draft-opt", "cache=8"] if pack else []
    plain = ["run"] + line[1:11] + ["--drafter", "none", "-q"]
    return Work("run", line, ["store"], lambda trial, at: must(trial.run(plain, env=env_of(trial, "in")), "run").out, prints=True)


WORKS = {"distill": (4, distill), "capture": (2, capture), "train": (6, train), "train-prompts": (2, train_prompts),
         "datastore": (2, datastore), "tune": (2, tune), "bench": (2, bench), "curve": (1, curve),
         "accuracy": (1, accuracy), "run": (3, answer)}


def kinds(prefix, function, without=()):
    """KINDS of a module: `function(trial, work)` on each work."""
    made = {}
    for name, (weight, make) in WORKS.items():
        if name not in without:
            made["%s-%s" % (prefix, name)] = (weight, lambda trial, make=make: function(trial, make(trial)))
    return made


# ---------------------------------------------------------------- what is looked at afterwards

def answers(trial, at):
    """The answers by id; Failed where a line is none or comes twice."""
    found = {}
    for line in lines_of(os.path.join(at, "answers.jsonl")):
        if line["id"] in found:
            raise Failed("answers.jsonl: %s stands there twice" % line["id"])
        found[line["id"]] = line["messages"]
    return found


def captured(trial, at, model):
    """How many texts and tokens a folder of shards holds, as a reader of it counts."""
    out = must(trial.run(["datastore", "-m", model, "--data", os.path.join(at, "states"), "-o", os.path.join(at, "count.frd"), "--json"]), "datastore").out
    os.unlink(os.path.join(at, "count.frd"))
    told = json.loads(out)
    return told["texts"], told["tokens"]


def content(name):
    """The bytes of a file, but for the seconds that a training took, and the checksum of a pack, which depends on them."""
    def read(trial, at):
        with open(os.path.join(at, name), "rb") as f:
            data = f.read()
        for key in (b"forerun.train.seconds", b"forerun.checksum"):
            found = data.find(key)
            if found >= 0: # the key, 4 bytes of type, 8 of a number
                data = data[:found] + data[found + len(key) + 12:]
        return hashlib.sha256(data).hexdigest()
    return read


def lines_of(path, cut=False):
    """JSON of every line; `cut`: the last may be without its end."""
    with open(path, "rb") as f:
        lines = f.read().split(b"\n")
    if lines[-1] and not cut:
        raise Failed("%s ends within a line: %r" % (path, lines[-1][-60:]))
    try:
        return [json.loads(line) for line in lines[:-1]]
    except ValueError as why:
        raise Failed("%s: a line is not JSON: %s" % (path, why)) from None


def must(done, what):
    """An undisturbed run, which has to work."""
    if done.code:
        raise Failed("%s: exit code %d undisturbed: %s" % (what, done.code, done.err.decode(errors="replace")[-400:]))
    return done


def sentence(done, line, codes):
    """One of `codes`, and with 1 and 2 one sentence of forerun's as the last line on stderr."""
    said = done.err.decode(errors="replace").strip()
    if done.code not in codes:
        raise Failed("exit code %d, expected %s: %s: %s" % (done.code, "/".join(map(str, codes)), shown(line), said[-400:]))
    if done.code in (1, 2) and not re.search(r"(^|\n|\r)forerun: [^\n]{8,}$", said):
        raise Failed("exit code %d without a sentence: %s: %r" % (done.code, shown(line), said[-300:]))
    return done


def files_below(folder):
    for at, _, names in os.walk(folder):
        for name in names:
            yield os.path.join(at, name)


def touched(paths):
    """What must not change: content and time of all files in some folders, or of single files."""
    state = {}
    for path in paths:
        for file in files_below(path) if os.path.isdir(path) else [path]:
            s = os.lstat(file)
            with open(file, "rb") as f:
                state[file] = (s.st_mtime_ns, s.st_size, hashlib.sha256(f.read()).hexdigest() if s.st_size < 1 << 25 else "")
    return state


def inputs_of(trial, line):
    """Everything a line reads: the folder of inputs, the models and packs that it names."""
    named = [a.split(":", 1)[1] if ":" in a else a for a in map(str, line)]
    return [trial.path("in")] + [a for a in named if os.path.isabs(a) and os.path.isfile(a) and not a.startswith(trial.path("in"))]


def untouched(before):
    for file, state in before.items():
        if not os.path.exists(file):
            raise Failed("%s is gone, which was not to be written" % file)
        if touched([file])[file] != state:
            raise Failed("%s was changed, which was not to be written" % file)


def whole(trial, at, cut=False):
    """Every file under a final name is whole; `cut`: the run was killed, so that a growing file of lines may end within one."""
    for path in files_below(at):
        if UNFINISHED.search(path) or path.endswith((".db", ".aside", ".ckpt", ".txt")):
            continue
        if path.endswith((".gguf", ".frd", ".profile")):
            done = trial.run(["inspect", "--json", path])
            if done.code or b'"not_usable":' in done.out:
                raise Failed("%s is not whole: %s %s" % (path, done.sentence(), done.out[-300:]))
        elif path.endswith(".jsonl"):
            lines_of(path, cut)
        elif path.endswith((".svg", ".html", ".json")):
            ended(path)


def ended(path):
    with open(path, encoding="utf-8") as f:
        data = f.read().rstrip()
    if path.endswith(".json"):
        try:
            json.loads(data)
        except ValueError as why:
            raise Failed("%s: %s" % (path, why)) from None
    elif not data.endswith("</svg>" if path.endswith(".svg") else "</html>"):
        raise Failed("%s ends with %r" % (path, data[-40:]))


def only_named(work, at, unfinished=None):
    """Nothing lies in a working folder but what may; `unfinished`: names of parts, or parts and locks, that may too."""
    for path in files_below(at):
        name = os.path.relpath(path, at)
        top = name.split(os.sep)[0]
        if UNFINISHED.search(name):
            if not (unfinished and unfinished.search(name)):
                raise Failed("%s was left behind" % path)
        elif top not in work.outputs and top not in ("cache", "state"):
            raise Failed("%s was not named as an output" % path)
