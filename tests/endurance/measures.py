"""Results that must not depend on threads, instruction set and memory; and texts that must come back."""
import json
import os

import draws
import tally
from conversations import company_of
from lines import pick, prepare
from trial import Failed, shown


def same(trial, args, model, kind, about):
    """Runs a line as it is with one thread, then in other company: the same bytes on stdout, the same end."""
    first_args = args + ["-t", "1"]
    first = trial.run(first_args)
    tally.lines[kind] += 1
    for _ in range(3):
        more = [a for g in company_of(trial, model) for a in g]
        done = trial.run(args + more)
        tally.lines[kind] += 1
        if (done.code, done.out, done.sentence()) != (first.code, first.out, first.sentence()):
            raise Failed("%s %r (%d, %s), and %r (%d, %s): %s\n    against: %s" % (
                about, done.out[:150], done.code, done.sentence(), first.out[:150], first.code, first.sentence(), shown(args + more), shown(first_args)))
    if first.code:
        tally.said_no("(%s) %s" % (kind, first.sentence()))
    elif not first.out:
        raise Failed("says nothing: %s" % shown(first_args))


def logits(trial):
    rng = trial.rng
    prepare(trial)
    model = pick(trial, 0.15)
    asked = ["-p", draws.text(rng, 100)] if rng.random() < 0.6 else ["--ids", ",".join(str(rng.randrange(300)) for _ in range(rng.randint(1, 40)))]
    args = ["logits", "--json", "-m", model, "--top", rng.choice([1, 5, 32, 1000])] + asked
    args += (["--all"] if rng.random() < 0.5 else []) + (["--kv-type", rng.choice(["q8_0", "f16+q8_0"])] if rng.random() < 0.15 else [])
    same(trial, args, model, "logits", "logits are")


def perplexity(trial):
    rng = trial.rng
    prepare(trial)
    model = pick(trial, 0.15)
    text = " ".join(draws.text(rng, 100) for _ in range(rng.randint(1, 12)))
    args = ["perplexity", "--json", "-q", "-m", model, "-f", trial.write("text.txt", text), "-c", rng.choice([4, 5, 16, 64, 100])]
    args += ["--kv-type", rng.choice(["q8_0", "f16+q8_0"])] if rng.random() < 0.15 else []
    same(trial, args, model, "perplexity", "perplexity is")


def unicode_text(rng):
    """Random text: characters of all planes, words, spaces, marks that combine, turn marks."""
    ranges = [(0x20, 0x7E), (0x20, 0x7E), (1, 0x1F), (0x80, 0x24F), (0x300, 0x36F), (0x370, 0x5FF), (0x900, 0xDFF), (0x2000, 0x206F),
              (0x3040, 0x9FFF), (0xE000, 0xFFFD), (0x1F300, 0x1FAFF), (0x10000, 0x10FFFF)]
    pieces = []
    for _ in range(rng.randint(0, 12)):
        low, high = rng.choice(ranges)
        how = rng.random()
        if how < 0.6:
            pieces.append("".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 8))))
        elif how < 0.8:
            pieces.append(rng.choice(draws.TEXTS))
        else:
            pieces.append(rng.choice([" ", "\n", "\t", "\r\n", "\u3000"]) * rng.randint(1, 9))
    return "".join(pieces)


def pump(trial, command, model, asked, more=()):
    source = trial.write("asked.jsonl", "".join(json.dumps(a, ensure_ascii=trial.rng.random() < 0.5) + "\n" for a in asked))
    args = [command, "-m", model] + list(more)
    with open(source, "rb") as stdin:
        done = trial.run(args, stdin=stdin)
    tally.lines[command] += 1
    answers = [json.loads(line) for line in done.out.decode().split("\n") if line]
    if done.code or len(answers) != len(asked):
        raise Failed("%d lines were asked, %d answered, code %d: %s < %s: %s" % (len(asked), len(answers), done.code, shown(args), source, done.sentence()))
    return answers


def tokens(trial):
    """detokenize gives back what tokenize read: texts, and bytes, of which a byte-level vocabulary reads U+FFFD where they are no text."""
    rng = trial.rng
    model = pick(trial, 0.2)
    tiny = model != trial.models.get(draws.REAL)  # whose vocabulary lacks some bytes
    texts = [unicode_text(rng) if tiny else draws.text(rng, 200) for _ in range(40)]
    blobs = [] if not tiny else [bytes(rng.randrange(256) for _ in range(rng.randint(0, 20))) for _ in range(20)]
    asked = [{"text": t} for t in texts] + [{"hex": b.hex()} for b in blobs]
    # A SentencePiece vocabulary puts a space behind a special token that stands in the text.
    byte_level = not any(word in os.path.basename(model) for word in ("spm", "gemma3", "phi3"))
    ids = pump(trial, "tokenize", model, asked, ["--special"] if byte_level and rng.random() < 0.2 else [])
    back = pump(trial, "detokenize", model, [{"ids": a["ids"]} for a in ids])
    for question, answer, reply in zip(asked, ids, back):
        sent = question["text"].encode() if "text" in question else bytes.fromhex(question["hex"])
        came = bytes.fromhex(reply["hex"]) if "hex" in reply else reply["text"].encode()
        if came not in (sent, sent.decode(errors="replace").encode()):
            raise Failed("%s: %r comes back as %r, by %r" % (model, sent, came, answer["ids"]))


KINDS = {"logits": (2, logits), "perplexity": (1, perplexity), "tokens": (1, tokens)}
