"""The speculative modes of llama.cpp and ik_llama.cpp: how they are called, how their output is
read, and what is reported.

The result of one prompt in one mode is a tuple: (tokens, seconds, accepted, drafted, same text as
with plain decoding).
"""
import json
import re

from calls import Failure

# The modes of llama.cpp: program and arguments, at its own settings. DRAFT is replaced by the draft model.
SIMPLE = "llama-speculative-simple"
MODES = {
    "draft": [SIMPLE, "--spec-type", "draft-simple", "-md", "DRAFT"],
    "draft-tree": ["llama-speculative", "-md", "DRAFT"],
    "lookup": ["llama-lookup"],
    "ngram-simple": [SIMPLE, "--spec-type", "ngram-simple"],
    "ngram-cache": [SIMPLE, "--spec-type", "ngram-cache"],
    "ngram-mod": [SIMPLE, "--spec-type", "ngram-mod"],
}
# Of ik_llama.cpp, all by its llama-spec-bench: arguments.
IK_MODES = {
    "draft": ["-md", "DRAFT", "--spec-type", "draft"],
    "ngram-simple": ["--spec-type", "ngram-simple"],
    "ngram-cache": ["--spec-type", "ngram-cache"],
    "ngram-mod": ["--spec-type", "ngram-mod"],
    "suffix": ["--spec-type", "suffix"],
}


def rate(found):
    return found[0] / found[1]


def total(runs):
    return sum(f[0] for f in runs) / sum(f[1] for f in runs)


def speeds(modes):
    """Of the prompt just done."""
    return ", ".join("%s %.1f%s" % (mode, rate(runs[-1]), "" if runs[-1][4] else " (other text)")
                     for mode, runs in modes.items()) + " tokens/s"


def best(modes):
    """The mode that was fastest over all its prompts."""
    return max(modes, key=lambda mode: total(modes[mode]))


def mode_rows(own, modes):
    """One line a mode: its speed and its ratio, prompt by prompt, to the same program's plain decoding."""
    rows = []
    for mode, runs in modes.items():
        drafted, differs = sum(f[3] for f in runs), sum(not f[4] for f in runs)
        note = "text differs: %d of %d" % (differs, len(runs))
        if drafted:
            note += "; accepted: %.0f %%" % (100 * sum(f[2] for f in runs) / drafted)
        ratios = [rate(f) / rate(plain) for f, plain in zip(runs, modes["none"])]
        speed = total(runs)
        rows.append(("%s %s" % ("forerun" if own else "llama.cpp", mode), "", "tokens/s", speed if own else None,
                     None if own else speed, ratios, note))
    return rows


def best_row(ours, theirs):
    a, b = best(ours), best(theirs)
    return ("speculative", "", "tokens/s", total(ours[a]), total(theirs[b]),
            [rate(x) / rate(y) for x, y in zip(ours[a], theirs[b])], "%s against %s" % (a, b))


def read_mode(program, out, err, text):
    """(tokens, seconds, accepted, drafted) of what a speculative program of llama.cpp printed."""
    said = err + out.replace(text, b"").decode(errors="replace")
    speed = re.search(r"decoded\s+(\d+) tokens in\s+([0-9.]+) seconds", said)
    accepted, drafted = re.search(r"n_accept\s*= (\d+)", said), re.search(r"n_drafted\s*= (\d+)", said)
    if not (speed and accepted and drafted):
        raise Failure("%s: its statistics were not found in what it printed" % program)
    return int(speed.group(1)), float(speed.group(2)), int(accepted.group(1)), int(drafted.group(1))


def read_spec_bench(out):
    """((tokens, seconds, accepted, drafted), text) of what llama-spec-bench printed: one attempt's line among others."""
    for line in out.decode(errors="replace").splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict) and found.get("row_type") == "attempt":
            if not found["quality"]["ok"]:
                raise Failure("llama-spec-bench: %s" % found["quality"]["error"])
            drafts = found["speculative"]
            return (found["tokens"]["generated"], found["timing"]["decode_s"], drafts["accepted_tokens"], drafts["draft_tokens"]), found["output"]
    raise Failure("llama-spec-bench: no attempt in what it printed")


def same_start(text, expected):
    """Whether a mode's text is the plain one, past which it may go on by a pass."""
    return text.startswith(expected)


def same_text(out, prompt, expected, ended):
    """Whether the text after the prompt is the plain one. A mode may continue past it by a pass, or print the end token."""
    at = out.find(prompt)
    if at < 0:
        raise Failure("a speculative program of llama.cpp did not print its prompt")
    got = out[at + len(prompt):]
    if not got.startswith(expected):
        return False
    rest = got[len(expected):].strip()
    return not ended or not rest or rest.startswith(b"<|")


def read_prompts(path, limit):
    """First user turn of the first `limit` prompts."""
    if not path:
        raise Failure("speculative modes need --prompts FILE.jsonl")
    found = []
    try:
        with open(path, encoding="utf-8") as f:
            for line in f:
                if line.strip() and len(found) < limit:
                    found.append(json.loads(line)["messages"][0]["content"])
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise Failure("--prompts %s: %s" % (path, error)) from error
    if not found:
        raise Failure("--prompts %s: no prompts in it" % path)
    return found
