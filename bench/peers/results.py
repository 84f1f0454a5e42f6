"""Results of peers.py: rounds in a JSON file, their summaries, and the tables made from them.

A round is {date, cpu, isa, threads, model, part, forerun, asked: [name], sides: {name: value}}. All
sides of a round ran one after the other. A side in `asked` that could not answer has no value.

A value is tokens per second (plain, prompt), {rows: ms} (pass), or
{mode: [tokens, seconds, accepted, drafted, same text]} (speculative).
"""
import json
import os
import statistics

import modes as spec
from calls import Failure

OWN = "forerun"
MARKS = ("<!-- all peers: begin, written by bench/peers/peers.py -->", "<!-- all peers: end -->")  # in the page and in docs/results.md
PARTS = ["plain", "prompt", "pass", "speculative"]
MACHINE = ("cpu", "isa", "threads")
SHORT = 8  # an answer of fewer tokens gives no rate: its first token is the prompt's, and takes no time


def load(path):
    if not os.path.exists(path):
        return []
    try:
        with open(path, encoding="utf-8") as f:
            rounds = json.load(f)["rounds"]
        return [dict(found, sides=dict(found["sides"])) for found in rounds if found["part"] in PARTS]
    except (ValueError, KeyError, TypeError) as error:
        raise Failure("%s: not results of peers.py: %s" % (path, error)) from error


def save(path, rounds):
    """Replaced in one step: a break loses no earlier round."""
    with open(path + ".new", "w", encoding="utf-8") as f:
        f.write('{"rounds": [\n%s\n]}\n' % ",\n".join(json.dumps(found) for found in rounds))
    os.replace(path + ".new", path)


def grouped(rounds, *fields):
    groups = {}
    for found in rounds:
        groups.setdefault(tuple(found[field] for field in fields), []).append(found)
    return groups


class Measure:
    """One line of the table: values by side, and by peer the ratios of the rounds that have both sides. Above 1: forerun's favour."""

    def __init__(self, title, unit, rounds, value, faster_is_less=False, note=None):
        self.title, self.unit, self.values, self.ratios, self.note = title, unit, {}, {}, note or (lambda side: "")
        for found in rounds:
            own = value(OWN, found)
            for side in found["sides"]:
                got = value(side, found)
                self.values.setdefault(side, []).append(got)
                if side != OWN:
                    self.ratios.setdefault(side, []).append(got / own if faster_is_less else own / got)

    def best(self):
        """The peer that forerun is ahead of by least."""
        return min(self.ratios, key=lambda peer: statistics.median(self.ratios[peer]))


def long_answers(rounds):
    """The rounds without the sides whose answer was short in a mode."""
    kept = [dict(found, sides={side: runs for side, runs in found["sides"].items() if all(run[0] >= SHORT for run in runs.values())})
            for found in rounds]
    return [found for found in kept if OWN in found["sides"] and len(found["sides"]) > 1]


def fastest_modes(rounds):
    """{side: its mode that was fastest over all rounds, among those of every round}, and the runs of it."""
    names, runs = {}, {}
    for side in {side for found in rounds for side in found["sides"]}:
        own = [found["sides"][side] for found in rounds if side in found["sides"]]
        common = [mode for mode in own[0] if all(mode in one for one in own)]
        names[side] = spec.best({mode: [one[mode] for one in own] for mode in common})
        runs[side] = [one[names[side]] for one in own]
    return names, runs


def speculative_measure(rounds):
    names, runs = fastest_modes(rounds)

    def note(side):
        differs = sum(not one[4] for one in runs[side])
        return names[side] + (", other text in %d of %d" % (differs, len(runs[side])) if differs else "")
    return Measure("best speculative mode", "tok/s", rounds, lambda side, found: spec.rate(found["sides"][side][names[side]]), note=note)


def measures(rounds):
    """Of one model on one machine."""
    by = {part: [found for found in rounds if found["part"] == part and OWN in found["sides"] and len(found["sides"]) > 1] for part in PARTS}

    def number(side, found):
        return found["sides"][side]
    lines = []
    if by["plain"]:
        lines.append(Measure("plain decoding", "tok/s", by["plain"], number))
    if by["prompt"]:
        lines.append(Measure("prompt of 512 tokens", "tok/s", by["prompt"], number))
    for n in sorted({int(n) for found in by["pass"] for n in found["sides"][OWN]}):
        of_n = [found for found in by["pass"] if str(n) in found["sides"][OWN]]
        lines.append(Measure("pass of %d row%s" % (n, "s" * (n > 1)), "ms", of_n, lambda side, found, n=n: found["sides"][side][str(n)], True))
    answered = long_answers(by["speculative"])
    if answered:
        lines.append(speculative_measure(answered))
    return lines


def value(numbers):
    middle = statistics.median(numbers)
    return "%.0f" % middle if middle >= 100 else "%.1f" % middle if middle >= 10 else "%.2f" % middle


def span(ratios):
    return "**%.2f** (%.2f to %.2f)" % (statistics.median(ratios), min(ratios), max(ratios))


def cell(measure, side):
    if side not in measure.values:
        return ""
    text = value(measure.values[side])
    if side in measure.ratios:
        text += ": " + span(measure.ratios[side])
    note = measure.note(side)
    return text + (", " + note if note else "")


def table(lines):
    peers = list(dict.fromkeys(peer for line in lines for peer in line.ratios))
    text = ["| | forerun | " + " | ".join(peers) + " | over the best of them | rounds |", "| --- " * (len(peers) + 4) + "|"]
    for line in lines:
        text.append("| %s, %s | " % (line.title, line.unit) + " | ".join(cell(line, side) for side in [OWN] + peers)
                    + " | %s | %d |" % (over_best(line), max(len(ratios) for ratios in line.ratios.values())))
    return "\n".join(text)


def summary(rounds):
    """The table for docs/results.md: the ratio to the best of the peers, one line a model."""
    text = []
    for machine, of_machine in grouped(rounds, *MACHINE).items():
        models = {model: measures(own) for (model,), own in grouped(of_machine, "model").items()}
        titles = list(dict.fromkeys(line.title for lines in models.values() for line in lines))
        peers = sorted({peer for lines in models.values() for line in lines for peer in line.ratios})
        text += ["%s, %s, %s threads, %s: forerun's speed over the best of %s, medians of rounds with least and greatest. "
                 "[peers.md](peers.md) has all peers." % (*machine, " to ".join(date_span(of_machine)), ", ".join(peers)), "",
                 "| model | " + " | ".join(titles) + " |", "| --- " * (len(titles) + 1) + "|"]
        for model, lines in models.items():
            by = {line.title: line for line in lines}
            text.append("| %s | " % model + " | ".join(over_best(by[title]) if title in by else "" for title in titles) + " |")
        text.append("")
    return "\n".join(text).rstrip()


def date_span(rounds):
    dates = sorted(found["date"] for found in rounds)
    return sorted({dates[0], dates[-1]})


def over_best(line):
    best = line.best()
    return "%s, %s" % (span(line.ratios[best]), best)


def listed(values):
    return ", ".join(sorted(values))


def details(rounds, command=""):
    """Every model's table, with machine, dates and command."""
    text = []
    for machine, of_machine in grouped(rounds, *MACHINE).items():
        for (model,), own in grouped(of_machine, "model").items():
            text += ["### %s: %s, %s, %s threads, %s" % (model, *machine, " to ".join(date_span(own))), "",
                     table(measures(own)), ""]
    text.append("forerun: %s.%s" % (listed({found["forerun"] for found in rounds}), " Command: `%s`." % command if command else ""))
    return "\n".join(text)
