"""Files of every kind that is read, with bytes flipped, cut, added, doubled, zeroed or swapped, and a command that reads them: an exit
code and one sentence, no crash, no hang, no memory that a file merely claims; never an answer that `--drafter none` does not give."""
import json
import os
import resource
import shutil
import struct
import time

from chats import Terminal
from kills import must
from trial import Failed, Skipped, crash, shown
from works import TRAINED, content, env_of, pack_of, prompts, sentence, shards, text, tiny_model

MEMORY = 3 << 30 # bytes that a command on a small file may take
SECONDS = 60


# ---------------------------------------------------------------- damage

def block(rng, data):
    size = min(len(data), rng.choice([1, 4, 8, 16, 64, 512, 4096]))
    at = rng.randrange(max(1, len(data) - size + 1))
    return at, size


def flip_bit(rng, data):
    at = place(rng, data)
    data[at] ^= 1 << rng.randrange(8)


def set_byte(rng, data):
    data[place(rng, data)] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])


def set_number(rng, data):
    if len(data) >= 8:
        at = min(place(rng, data), len(data) - 8)
        data[at:at + 8] = struct.pack("<Q", rng.choice([0, 1, 1 << 31, 1 << 32, 1 << 40, 1 << 63, (1 << 64) - 1, len(data)]))


def cut(rng, data):
    del data[place(rng, data):]


def append(rng, data):
    data += bytes(rng.randrange(256) for _ in range(rng.choice([1, 7, 32, 4096])))


def double(rng, data):
    at, n = block(rng, data)
    data[at:at] = data[at:at + n]


def zero(rng, data):
    at, n = block(rng, data)
    data[at:at + n] = bytes(n)


def drop(rng, data):
    at, n = block(rng, data)
    del data[at:at + n]


def swap(rng, data):
    a, n = block(rng, data)
    b = rng.randrange(max(1, len(data) - n + 1))
    x, y = bytes(data[a:a + n]), bytes(data[b:b + n])
    data[a:a + n] = y
    data[b:b + n] = x


DAMAGE = [flip_bit, flip_bit, set_byte, set_number, cut, append, double, zero, drop, swap]


def place(rng, data):
    """Anywhere; half the time at the beginning, where headers are."""
    return rng.randrange(min(len(data), 512) if rng.random() < 0.5 else len(data)) if data else 0


def damage(trial, path):
    """Damages a file in place: a sentence of how."""
    with open(path, "rb") as f:
        data = bytearray(f.read())
    done = []
    for _ in range(trial.rng.choice([1, 1, 1, 2, 5, 20])):
        how = trial.rng.choice(DAMAGE)
        if data:
            how(trial.rng, data)
            done.append(how.__name__)
    with open(path, "wb") as f:
        f.write(data)
    return "%s (%s)" % (os.path.basename(path), ", ".join(done))


def copied(trial, path, name):
    os.makedirs(trial.path("in"), exist_ok=True)
    return shutil.copy(path, trial.path("in/" + name))


def bounded(trial, line, **kwargs):
    """Runs the line with a bound of memory, but under a sanitizer, which takes what it likes."""
    with open(trial.forerun, "rb") as f:
        sanitized = b"__asan_init" in f.read()
    limit = None if sanitized else lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    return trial.run(line, timeout=SECONDS, preexec_fn=limit, cwd=trial.path("b"), env=env_of(trial, "b"), **kwargs)


def refused_or(trial, line, how, check, **kwargs):
    """Exit code 1 or 2 with a sentence; or 0, and then `check(out)` has to hold."""
    try:
        done = sentence(bounded(trial, line, **kwargs), line, (0, 1, 2))
    except Failed as why:
        raise Failed("%s: %s" % (how, why)) from None
    if done.code == 0:
        bad = check(done.out)
        if bad:
            raise Failed("%s: %s: %s" % (how, bad, shown(line)))
    return done


def anything(out):
    return None


def equal(expected, what="not the answer of --drafter none"):
    return lambda out: None if out == expected else "%s: %r, expected %r" % (what, out[:80], expected[:80])


# ---------------------------------------------------------------- the files

def ask(model, rng, more=()):
    """A line of `run` on the model, which always has the same answer."""
    return ["run", "-m", model, "-p", text(rng, rng.randint(2, 30)), "-n", 24, "-c", 256, "-t", 1, "-q", "--chat-template", "chatml"] + list(more)


def plain(trial, line):
    return must(trial.run(line + ["--drafter", "none"], env=env_of(trial, "a")), "run").out


def mutated_model(trial):
    """Its text may be another one; then all drafters give that one."""
    env_of(trial, "b")
    tiny = [m for m in sorted(trial.models) if m.startswith("tiny-")]
    model = copied(trial, trial.model(*(tiny if tiny and trial.rng.random() < 0.95 else ["smollm2-135m"])), "model.gguf")
    how = damage(trial, model)
    asked = prompts(trial, 3)
    line = ask(model, trial.rng)
    first = refused_or(trial, line + ["--drafter", "none"], how, anything)
    if first.code == 0:
        spec = trial.rng.choice(["prompt-lookup", "lookahead", "layer-skip", "draft-model:" + model, "auto"])
        # What it takes to draft may be refused where plain decoding is content.
        refused_or(trial, line + ["--drafter", spec], how, equal(first.out))
    other = trial.rng.choice([
        ["inspect", model], ["inspect", model, "--json"], ["perplexity", "-m", model, "-f", asked, "-c", 64],
        ["logits", "-m", model, "-p", "a b", "--json"], ["tune", "-m", model, "--drafter", "prompt-lookup", "-n", 4, "--limit", 1, "-t", 1],
        ["datastore", "-m", model, "--data", asked, "-o", "x.frd"], ["distill", "-m", model, "--prompts", asked, "-o", "x.jsonl", "-n", 4, "-c", 256],
        ["train", "medusa", "-m", model, "--data", asked, "-o", "x.gguf", "--steps", 1, "--tokens", 50, "--vocab", 300, "--batch-rows", 64]])
    refused_or(trial, other, how, anything)


def mutated_pack(trial):
    env_of(trial, "b")
    model, method = tiny_model(trial), trial.rng.choice(TRAINED + ["layer-skip"])
    pack = pack_of(model, method)
    if not pack:
        raise Skipped("no pack of %s" % method)
    pack = copied(trial, pack, "pack.gguf")
    if trial.rng.random() < 0.6: # as packs were before they had a checksum: whatever is damaged is read
        with open(pack, "rb") as f:
            old = f.read().replace(b"forerun.checksum", b"forerun.checksum"[::-1]).replace(b"forerun.version", b"forerun.version"[::-1])
        trial.write("in/pack.gguf", old)
    line = ask(model, trial.rng, ["--temp", trial.rng.choice([0, 0.8]), "-s", 7])
    expected = plain(trial, line)
    how = damage(trial, pack)
    refused_or(trial, line + ["--drafter", "%s:%s" % (method, pack)], how, equal(expected))
    refused_or(trial, ["inspect", pack], how, anything)


def mutated_store(trial):
    env_of(trial, "b")
    model = tiny_model(trial)
    store = trial.path("in/store.frd")
    must(trial.run(["datastore", "-m", model, "--data", prompts(trial, 60, True), "-o", store], env=env_of(trial, "a")), "datastore")
    line = ask(model, trial.rng)
    expected = plain(trial, line)
    how = damage(trial, store)
    refused_or(trial, line + ["--drafter", "rest:" + store], how, equal(expected))
    refused_or(trial, ["inspect", store], how, anything)


def never_in_the_way(trial, line, how, expected):
    """A cache is no reason not to answer."""
    for _ in range(2):
        done = bounded(trial, line)
        if done.code or done.out != expected:
            raise Failed("%s: exit code %d, answer %r, expected %r: %s: %s" % (how, done.code, done.out[:80], expected[:80], shown(line), done.sentence()))


def mutated_profile(trial):
    env_of(trial, "b")
    model = tiny_model(trial)
    must(bounded(trial, ["tune", "-m", model, "--drafter", "prompt-lookup", "-t", 1, "-n", 8, "--limit", 1]), "tune")
    folder = trial.path("b/cache/forerun")
    how = damage(trial, os.path.join(folder, sorted(f for f in os.listdir(folder) if f.endswith(".profile"))[0]))
    line = ask(model, trial.rng, ["--drafter", trial.rng.choice(["auto", "prompt-lookup", "lookahead"])])
    never_in_the_way(trial, line, how, plain(trial, line[:-2]))


def mutated_ngrams(trial):
    env_of(trial, "b")
    model = tiny_model(trial)
    pack = pack_of(model, "chimera")
    line = ask(model, trial.rng, ["--drafter", "chimera:" + pack, "--draft-opt", "store=store", "--draft-opt", "cache=8"])
    expected = plain(trial, line[:-6])
    for _ in range(2):
        must(bounded(trial, line), "run")
    how = damage(trial, trial.path("b/store/" + trial.rng.choice(os.listdir(trial.path("b/store")))))
    never_in_the_way(trial, line, how, expected)


def mutated_checkpoint(trial):
    """Refused; or the damage does not matter, and the end is that of an undisturbed training."""
    model = tiny_model(trial)
    method = trial.rng.choice(TRAINED)
    line = ["train", method, "-m", model, "--data", shards(trial, model), "-o", "pack.gguf", "--steps", 8, "-t", 1, "--batch-rows", 128, "--vocab", 300]
    line += ["--set", "exit=1"] if method == "early-exit" else []
    env_of(trial, "b")
    must(bounded(trial, line), "train")
    expected = content("pack.gguf")(trial, trial.path("b"))
    how = damage(trial, trial.path("b/pack.gguf.ckpt"))
    refused_or(trial, line + ["--resume"], how, lambda out: None if content("pack.gguf")(trial, trial.path("b")) == expected else "another pack")


def mutated_shards(trial):
    model = tiny_model(trial)
    states = shards(trial, model)
    env_of(trial, "b")
    method = trial.rng.choice(["medusa", "eagle"])
    line = ["train", method, "-m", model, "--data", states, "-o", "pack.gguf", "--steps", 3, "-t", 1, "--batch-rows", 128, "--vocab", 300]
    must(bounded(trial, line), "train")
    expected = content("pack.gguf")(trial, trial.path("b"))
    for name in os.listdir(trial.path("b")):
        if name != "cache":
            os.unlink(trial.path("b/" + name))
    how = damage(trial, os.path.join(states, trial.rng.choice([f for f in os.listdir(states) if f.endswith(".frs")])))
    same = lambda out: None if content("pack.gguf")(trial, trial.path("b")) == expected else "another pack"
    refused_or(trial, line, how, same)
    refused_or(trial, ["datastore", "-m", model, "--data", states, "-o", "x.frd"], how, anything)
    refused_or(trial, ["capture", "-m", model, "--data", trial.path("in/answered.jsonl"), "-o", states, "--taps", "1", "-t", 1], how, anything)


def mutated_prompts(trial):
    env_of(trial, "b")
    model = tiny_model(trial)
    asked = prompts(trial, 12, trial.rng.random() < 0.5, trial.rng.choice(["prompts.jsonl", "prompts.jsonl.gz"]))
    how = damage(trial, asked)
    for line in trial.rng.sample([
            ["distill", "-m", model, "--prompts", asked, "-o", "x.jsonl", "-n", 4, "-c", 400, "-t", 1],
            ["capture", "-m", model, "--data", asked, "-o", "states", "-t", 1],
            ["datastore", "-m", model, "--data", asked, "-o", "x.frd"],
            ["bench", "-m", model, "--prompts", asked, "--drafters", "prompt-lookup", "-n", 4, "--limit", 2, "-t", 1],
            ["accuracy", "-m", model, "--prompts", asked, "--drafter", "prompt-lookup", "-n", 4, "-t", 1],
            ["tune", "-m", model, "--prompts", asked, "--drafter", "prompt-lookup", "-n", 4, "--limit", 2, "-t", 1],
            ["train", "medusa", "-m", model, "--data", asked, "-o", "x.gguf", "--steps", 1, "--tokens", 60, "--vocab", 300, "--batch-rows", 64, "-t", 1],
            ["tokenize", "-m", model, "--messages"]], 3):
        with open(asked, "rb") as f:
            refused_or(trial, line, how, anything, stdin=f)


def mutated_answers(trial):
    """What distill is to go on with: refused, or lines that were whole stay."""
    env_of(trial, "b")
    model = tiny_model(trial)
    line = ["distill", "-m", model, "--prompts", prompts(trial, 10), "-o", "answers.jsonl", "-n", 8, "-c", 400, "-t", 1]
    must(bounded(trial, line), "distill")
    path = trial.path("b/answers.jsonl")
    how = damage(trial, path)
    with open(path, "rb") as f:
        there = f.read()
    whole = there[:there.rfind(b"\n") + 1]
    done = refused_or(trial, line, how, anything)
    with open(path, "rb") as f:
        now = f.read()
    if now != there if done.code else not now.startswith(whole):
        raise Failed("%s: exit code %d, and lost what was there: %s" % (how, done.code, shown(line)))


def mutated_messages(trial):
    env_of(trial, "b")
    model = tiny_model(trial)
    talk = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text(trial.rng, 8)}]
    path = trial.write("in/messages.json", json.dumps(talk))
    line = ["run", "-m", model, "--messages", path, "-n", 8, "-c", 256, "-t", 1, "-q"]
    how = damage(trial, path)
    first = refused_or(trial, line + ["--drafter", "none"], how, anything)
    if first.code == 0:
        refused_or(trial, line + ["--drafter", "prompt-lookup"], how, equal(first.out))


def mutated_tree(trial):
    env_of(trial, "b")
    model = tiny_model(trial)
    path = trial.write("in/tree.txt", "0\n1\n2\n0.0\n0.1\n0.0.0\n1.0\n0.0.0.0\n" * trial.rng.choice([1, 1, 3]))
    line = ask(model, trial.rng)
    expected = plain(trial, line)
    how = damage(trial, path)
    refused_or(trial, line + ["--drafter", trial.rng.choice(["prompt-lookup", "medusa:" + pack_of(model, "medusa")]), "--tree", path], how, equal(expected))


def mutated_history(trial):
    """Lines of earlier conversations, read on a terminal alone."""
    env_of(trial, "b")
    model = tiny_model(trial)
    folder = trial.path("b/state/forerun")
    os.makedirs(folder)
    path = os.path.join(folder, "chat_history")
    line = ["chat", "-m", model, "-n", 4, "-c", 200, "-t", 1, "--temp", 0, "--drafter", "none"]
    on_terminal(trial, line) # as the program itself writes it
    with open(path, "ab") as f:
        f.write(b"hello\\040there\nand\\040then\n" * 20)
    how = damage(trial, path)
    try:
        on_terminal(trial, line)
    except Failed as why:
        raise Failed("%s: %s" % (how, why)) from None


def on_terminal(trial, line):
    """A conversation of one question, the last but one of those before."""
    chat = Terminal(trial, line, "b")
    chat.talk([b"\x1b[A\x1b[A", b"/exit"], time.monotonic() + SECONDS)
    if chat.wait(SECONDS):
        raise Failed("exit code %d: %s: %r" % (chat.child.returncode, shown(line), chat.said[-300:]))


KINDS = {"mutate-model": (8, mutated_model), "mutate-pack": (6, mutated_pack), "mutate-store": (4, mutated_store), "mutate-profile": (4, mutated_profile),
         "mutate-ngrams": (4, mutated_ngrams), "mutate-checkpoint": (3, mutated_checkpoint), "mutate-shards": (3, mutated_shards),
         "mutate-prompts": (4, mutated_prompts), "mutate-answers": (3, mutated_answers), "mutate-messages": (2, mutated_messages),
         "mutate-tree": (2, mutated_tree), "mutate-history": (1, mutated_history)}
