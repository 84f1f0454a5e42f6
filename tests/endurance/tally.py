"""What the command lines of a whole run came to: counted as they end, printed once behind the trials."""
import collections
import re

lines = collections.Counter()  # by kind
drafters = collections.Counter()  # by each drafter of a SPEC
tokens, passes = collections.Counter(), collections.Counter()  # by drafter, of answers of four passes or more
refused = collections.Counter()  # by sentence


def drew(names, answer):
    """An answer (the JSON of run; None where it is not known) that these drafters gave."""
    drafters.update(names)
    if answer and answer["passes"] >= 4:
        key = names[0] if len(names) == 1 else "(joined)"
        tokens[key] += answer["completion_tokens"]
        passes[key] += answer["passes"]


def said_no(sentence):
    """A refusal: counted without its numbers and names."""
    plain = re.sub(r"'[^']*'|\"[^\"]*\"|/\S+", "...", sentence)
    refused[re.sub(r"[0-9a-f]{16}|\d+(\.\d+)?", "N", plain)[:110]] += 1


def show():
    if not lines:
        return
    print("%6d command lines" % sum(lines.values()))
    for kind in sorted(lines):
        print("%6d %s" % (lines[kind], kind))
    for name, n in sorted(drafters.items()):
        rate = ", %.2f tokens a pass alone" % (tokens[name] / passes[name]) if passes[name] else ""
        print("%6d drafted by %s%s" % (n, name, rate))
    if passes["(joined)"]:
        print("       joined ones: %.2f tokens a pass" % (tokens["(joined)"] / passes["(joined)"]))
    for sentence, n in refused.most_common():
        print("%6d refused: %s" % (n, sentence))
