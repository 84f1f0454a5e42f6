"""Draws the parts of a command line of `run`: prompts, sampling, drafters with their settings, trees."""
import functools
import json
import os
import re
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REAL = "smollm2-135m"

WORDS = "the and then you water in one thing wind other he went on to a of é € sum 42".split()
TEXTS = [
    "Why is the sky blue?", "hello", "a", " ", "\n", ".", "Write a list of ten animals.",
    "for (int i = 0; i < n; i++) {\n    sum += x[i];\n}\nfor (int j = 0; j < n; j++) {\n",
    "def add(a, b):\n    return a + b\n\ndef sub(a, b):\n", "{\"a\": [1, 2, 3], \"b\": {\"a\": [1, 2, 3]}}",
    "one two three one two three one two three one two", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "1 2 3 4 5 6 7 8 9 10 1 2 3 4 5",
    "Ünïcödé — “quotes”, 日本語のテキスト, עברית, 🙂👩‍👩‍👧‍👦🇫🇷 e\u0301", "\u200b\ufeff\u202e", "🙂" * 12, "  leading and trailing  ",
    "Repeat after me: the wind and the water, the wind and the water, the wind and", "\t\ttabs\r\nand\r\nlines\r\n\r\n",
    "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n", "<s></s><unk><|endoftext|>", "%s%n%d \\n \\x00 $HOME `id`", "-n 3",
    "Translate to French: The house is small.", "What is 17 * 23? Think step by step."]


def text(rng, longest):
    """A prompt of at most about `longest` characters."""
    how = rng.random()
    if how < 0.7:
        return rng.choice(TEXTS)[:longest]
    if how < 0.85:
        return " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, max(1, longest // 4))))
    part = " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 9)))
    return (part + rng.choice([" ", "\n", ", "])) * max(1, longest // (len(part) + 2))


def template(trial, model):
    """Options that name a chat template: where the model has none, at times elsewhere."""
    by_arch = {"gemma3": ["gemma", "gemma3"], "phi3": ["phi3"]}
    parts = os.path.basename(model).split("-")
    bare = parts[0] == "tiny" and (parts[1] in by_arch or "spm" in parts)
    if bare and trial.rng.random() < 0.97 or trial.rng.random() < 0.05:
        return [["--chat-template", trial.rng.choice(by_arch.get(parts[1], ["chatml", "llama2", "zephyr"]))]]
    return []


def messages(rng, longest):
    said = [{"role": "system", "content": text(rng, longest // 4)}] if rng.random() < 0.2 else []
    for _ in range(rng.randint(0, 2)):
        said += [{"role": "user", "content": text(rng, longest // 4)}, {"role": "assistant", "content": text(rng, longest // 4)}]
    said.append({"role": "user", "content": text(rng, longest // 3)})
    return said


def prompt(trial, model, longest):
    """(options, the file that stdin reads or None)."""
    rng, how = trial.rng, trial.rng.random()
    if how < 0.2:
        said = messages(rng, longest)
        said = said if rng.random() < 0.5 else {"messages": said}
        path = trial.write("messages.json", json.dumps(said, ensure_ascii=rng.random() < 0.5))
        return [["--messages", path]] + template(trial, model), None
    raw = [["--raw"]] if rng.random() < 0.35 else template(trial, model)
    said = text(rng, longest)
    if how < 0.6:
        return raw + [[rng.choice(["-p", "--prompt"]), said]], None
    data = said.encode()
    if rng.random() < 0.1:
        data += bytes(rng.randrange(256) for _ in range(rng.randint(1, 8)))
    path = trial.write("prompt.txt", data)
    if how < 0.8:
        return raw + [[rng.choice(["-f", "--file"]), path]], None
    return raw + ([["-f", "-"]] if rng.random() < 0.5 else []), path


def spelled(rng, short, name, value):
    """One option, in one of the ways it can be written."""
    forms = [["--" + name, str(value)], ["--%s=%s" % (name, value)]]
    return rng.choice(forms + ([["-" + short, str(value)]] * 2 if short else []))


def sampling(rng):
    given = [spelled(rng, "s", "seed", rng.choice([0, 1, 7, rng.randrange(1 << 31)]))]

    def at_times(share, name, values):
        if rng.random() < share:
            given.append(spelled(rng, None, name, rng.choice(values)))

    at_times(0.75, "temp", [0, 0.3, 0.8, 1, 1.3, 2])
    at_times(0.3, "top-k", [0, 1, 2, 5, 40, 100, 100000])
    at_times(0.3, "top-p", [0, 0.1, 0.5, 0.9, 0.95, 1])
    at_times(0.3, "min-p", [0, 0.01, 0.05, 0.3, 1])
    at_times(0.4, "repeat-penalty", [0.5, 0.7, 1, 1.05, 1.3, 2])
    at_times(0.25, "repeat-last-n", [-1, 0, 1, 2, 16, 64, 1000])
    return given


# ---------------------------------------------------------------- drafters

@functools.lru_cache(maxsize=None)
def settings(forerun):
    """{drafter: {key: (VALUE, description)}} as the program lists them."""
    listed = subprocess.run([forerun, "run", "--help-drafters"], capture_output=True, text=True, check=True).stdout
    found, name, key = {}, None, None
    for line in listed.split("\n"):
        indent = len(line) - len(line.lstrip())
        if indent == 2:
            name, key = re.match(r"[a-z-]+", line.strip()).group(), None
            found[name] = {}
        elif indent > 2 and name:
            start = re.match(r"([a-z-]+)=([A-Z]+) +(.*)", line.strip())
            if start:
                key = start.group(1)
                found[name][key] = (start.group(2), start.group(3))
            elif key:
                found[name][key] = (found[name][key][0], found[name][key][1] + " " + line.strip())
    return found


CHOICES = {"chain", "beam", "sequoia", "auto", "dynamic", "static", "fresh", "reuse", "fused"}


def setting(trial, value, described):
    """A value of a setting, by what is said of it; rarely one beyond its ends."""
    rng = trial.rng
    if value == "FOLDER":
        return trial.path("store%d" % rng.randint(0, 1))
    named = sorted(CHOICES & set(re.findall(r"[a-z]+", described)))
    if value in ("SHAPE", "NAME"):
        return rng.choice(named or ["auto"])
    ends = re.search(r"(\d+)(?: \([a-z]+\))? to (\d+)", described)
    if not ends:
        return rng.choice([0, 1] if re.search(r"\b[01]:", described) else [0, 1, 7, 512, 4096])
    low, high = int(ends.group(1)), int(ends.group(2))
    if rng.random() < 0.03:
        return rng.choice([low - 1, high + 1])
    if value in ("P", "X"):
        return rng.choice([low, high, low + 1e-6, (low + high) / 2, round(rng.uniform(low, high), 3)])
    usual = [default for default in re.findall(r"default (\d+)", described)]
    return rng.choice([low, low + 1, high, rng.randint(low, high), rng.randint(low, min(high, 8 + low))] + usual)


def packs(model, kind):
    """The packs of a kind for the model at this path: the project's, or those beside it."""
    folder, name = os.path.dirname(model), os.path.basename(model)[:-5]
    for place in (os.path.join(folder, "packs"), os.path.join(ROOT, "packs")):
        if os.path.isdir(place):
            there = [os.path.join(place, f) for f in sorted(os.listdir(place)) if f.startswith("%s-%s" % (name, kind))]
            if there:
                return there
    return []


_shared = tempfile.TemporaryDirectory(prefix="endurance-shared-")


def shared(name):
    """A path in a folder that all trials of this run have: what takes time to make, and is the same for all."""
    return os.path.join(_shared.name, name)


def store(trial, model):
    """A datastore for the model: one beside it, else made of the prompts here."""
    beside = model[:-5] + ".frd"
    path = beside if os.path.exists(beside) else shared(os.path.basename(model) + ".frd")
    if not os.path.exists(path):
        source = trial.write("texts.jsonl", "".join(json.dumps({"text": t * 3}) + "\n" for t in TEXTS))
        if trial.run(["datastore", "-m", model, "--data", source, "-o", path, "-q"]).code:
            return None
    return path


def odd_name(trial, path):
    """The file, at times by a link with a name that is hard to take apart."""
    rng = trial.rng
    if rng.random() > 0.1:
        return path
    link = trial.path(rng.choice(["a b", "a+none", "a+b", "x@y", "p:q", "é🙂", "a@ppd:b", "-x", "a=b", "a,b"]) + str(rng.randrange(1000)))
    os.symlink(path, link)
    return link


def draft_model(trial, model):
    """A second model: the same, a sibling, or (rarely) one that cannot be one."""
    rng, name = trial.rng, os.path.basename(model)
    tiny = sorted(p for n, p in trial.models.items() if n.startswith("tiny-"))
    siblings = [p for p in tiny if os.path.basename(p).split("-")[1] == name.split("-")[1]] or [model]
    return rng.choice([model] * 2 + siblings * 2 + (tiny or [model])[:1]) if name.startswith("tiny-") or rng.random() < 0.1 else model


def part(trial, name, model, driven=False):
    """One drafter of a SPEC: its name, with a file where it wants one or may have one."""
    rng = trial.rng
    if name == "rest":
        path = store(trial, model)
        return "rest:" + odd_name(trial, path) if path else "prompt-lookup"
    if name == "draft-model":
        file = draft_model(trial, model)
        by = "@" + part(trial, rng.choice([n for n in settings(trial.forerun) if n not in ("auto", "none", "draft-model")]), file, True) if rng.random() < 0.4 and not driven else ""
        return "draft-model:" + odd_name(trial, file) + by
    there = packs(model, name)
    if there and rng.random() < 0.6:
        return "%s:%s" % (name, odd_name(trial, rng.choice(there)))
    return name


def drafting(trial, model):
    """(the names of who drafts, options that say so and how)."""
    rng, known = trial.rng, settings(trial.forerun)
    n = rng.choices([1, 2, 3, 4], [55, 25, 12, 8])[0]
    names = rng.sample([name for name in known if name not in ("auto", "none")], n)
    if n == 1 and rng.random() < 0.06:
        names = ["auto"]
    parts = [part(trial, name, model) for name in names]
    options = [["--drafter", "+".join(parts)] if rng.random() < 0.7 else ["--drafter=" + "+".join(parts)]]
    keys = [(k, v) for name in names for k, v in known.get(name, {}).items()]
    for key, (value, described) in rng.sample(keys, min(len(keys), rng.choice([0, 0, 1, 1, 2, 3]))):
        options.append(["--draft-opt", "%s=%s" % (key, setting(trial, value, described))])
    if rng.random() < 0.15:  # as many rows as there can be
        options = options[:1] + [["--draft-opt", "%s=%d" % given] for given in (("depth", 16), ("width", 16), ("threshold", 0)) if given[0] in dict(keys)]
        options.append(["--tree", str(rng.choice([64, 90, 100, 127]))])
    else:
        options += tree(trial)
    if rng.random() < 0.7:  # without it, drafters that guess badly are soon left out
        options.append(["--no-adapt"])
    if rng.random() < 0.1:
        options.append(["--accept", "exact"])
    return names, options


# ---------------------------------------------------------------- trees

def shape(rng):
    """A random shape as text: paths of ranks, every one behind those it goes on from."""
    paths, taken = [()], {()}
    wide = rng.choice([1, 2, 4, 10])
    for _ in range(rng.choice([1, 2, 5, 20, 60, 127])):
        path = (rng.choice(paths[-wide * 2:]) if rng.random() < 0.7 else rng.choice(paths)) + (min(int(rng.expovariate(1 / wide)), 9),)
        if path not in taken and len(path) <= 16:
            taken.add(path)
            paths.append(path)
    lines = [".".join(map(str, p)) for p in paths[1:]]
    if rng.random() < 0.3:
        rng.shuffle(lines)
    return "\n".join(lines) + rng.choice(["\n", ""])


def tree(trial):
    rng, how = trial.rng, trial.rng.random()
    if how < 0.35:
        return []
    if how < 0.45:
        return [["--tree", "auto"]]
    if how < 0.85:
        return [spelled(rng, None, "tree", rng.choice([1, 2, 3, 4, 8, 16, 31, 32, 40, 64, 100, 127, 127, rng.randint(1, 128)]))]
    return [["--tree", trial.write("shape%d.txt" % rng.randrange(10 ** 6), shape(rng))]]
