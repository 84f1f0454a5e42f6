"""Tables of the results of compare.py, in Markdown. `forerun bench --report` alone draws pages."""
import glob
import math
import os

from calls import Failure
from measure import read
from systems import NOT_BUILT, SPEC_BENCH, SYSTEMS

MARKS = ("<!-- comparison: begin, written by bench/comparison/compare.py -->", "<!-- comparison: end -->")
LATER = ["memory, MB", "training"]
SURE = 0.95  # the confidence that the sign test's interval of the answers' median must have
OPTIONS = {s.name: s.options for s in SYSTEMS}


def same_parts(a, b):
    """Whether two SPECs join the same drafters."""
    return sorted(a.split("+")) == sorted(b.split("+"))


def interval(run):
    """(low, high) of a speed-up; of few prompts it could be anything."""
    return (run["speedup_low"], run["speedup_high"]) if run["speedup_confidence"] >= SURE else (0, math.inf)


def meet(a, b):
    """Whether the intervals of two runs meet, so that neither is the faster."""
    return interval(a)[0] <= interval(b)[1] and interval(b)[0] <= interval(a)[1]


class Results:
    """What one model's units say: run(temperature, task, system) is a run of `forerun bench`, or None."""

    def __init__(self, folder):
        self.name = os.path.basename(folder)
        about = read(os.path.join(folder, "model.json"))
        self.probed, self.trainings = about["systems"], about["trainings"]
        units = [read(path) for path in sorted(glob.glob(os.path.join(folder, "*.json"))) if not path.endswith("model.json")]
        self.units = [unit for unit in units if not unit.get("again")]
        self.again = {(unit["temperature"], unit["task"]): unit for unit in units if unit.get("again")}
        self.found, self.temperatures, self.tasks = {}, [], []
        for unit in self.units:
            for name, run in zip(unit["names"], unit["runs"]):
                self.found[unit["temperature"], unit["task"], name] = run
            for value, known in ((unit["temperature"], self.temperatures), (unit["task"], self.tasks)):
                if value not in known:
                    known.append(value)
        self.temperatures.sort()
        self.tasks.sort()
        self.taken = {task: max(u["limit"] for u in self.units if u["task"] == task) for task in self.tasks}

    def run(self, temperature, task, name):
        return self.found.get((temperature, task, name))

    def runs(self, temperature, name):
        return [run for task in self.tasks if (run := self.run(temperature, task, name))]

    def tasks_at(self, temperature):
        return [task for task in self.tasks if self.run(temperature, task, "plain")]

    def whole(self, temperature, name):
        """The runs of all sets, or none: means are over all or not at all."""
        runs = self.runs(temperature, name)
        return runs if len(runs) == len(self.tasks_at(temperature)) else []

    def winner(self, temperature, task):
        """(speed-up, system) of the fastest, `auto` left out."""
        speeds = [(run["speedup"], s.name) for s in SYSTEMS if s.name != "auto" and (run := self.run(temperature, task, s.name))]
        return max(speeds, default=(1, "plain"))

    def matched(self, temperature, task):
        """Whether the prompts cannot tell `auto` from the fastest, or it is the very drafter that is the fastest."""
        auto, (speed, name) = self.run(temperature, task, "auto"), self.winner(temperature, task)
        fastest = self.run(temperature, task, name)
        same = fastest and not OPTIONS[name] and same_parts(auto["used"], fastest["used"])
        return auto["speedup"] >= speed or bool(same) or meet(auto, fastest)

    def behind(self):
        """(temperature, task, the fastest) of sets where `auto` was slower than another drafter without options."""
        for temperature in self.temperatures:
            for task in self.tasks:
                name = self.winner(temperature, task)[1]
                if self.run(temperature, task, "auto") and not self.matched(temperature, task) and name != "plain" and not OPTIONS[name]:
                    yield temperature, task, name

    def near(self, temperature, task):
        """Systems that the prompts cannot tell from the fastest, it left out."""
        name = self.winner(temperature, task)[1]
        fastest = self.run(temperature, task, name)
        return [s.name for s in SYSTEMS if s.name not in ("auto", name) and (run := self.run(temperature, task, s.name)) and meet(run, fastest)]

    def ahead(self, temperature, task):
        """The fastest, where its interval lies above all others' (`auto` left out); or None."""
        name = self.winner(temperature, task)[1]
        sure = name != "plain" and self.run(temperature, task, name)["speedup_confidence"] >= SURE
        return name if sure and not self.near(temperature, task) else None

    def training(self, system):
        """Of the pack that a SPEC names, if it was trained."""
        spent = self.trainings.get(system.spec.split("+")[0].split(":")[0])
        return "%.0f min, %.2f M tokens" % (spent["seconds"] / 60, spent["tokens"] / 1e6) if spent else ""


def load(out):
    folders = sorted(os.path.dirname(path) for path in glob.glob(os.path.join(out, "*", "model.json")))
    results = [found for found in map(Results, folders) if found.units]
    if not results:
        raise Failure("%s: no results" % out)
    return results


def mean(values):
    """The geometric one."""
    return math.exp(sum(map(math.log, values)) / len(values))


def table(results, temperature):
    """(head, lines of (system, cells, whether the best)): speed-up and tokens a pass by task, over all of them as the clock
    says and as the cost of passes predicts, then what it takes."""
    tasks = results.tasks_at(temperature)
    head = tasks + ["all", "predicted", "rows a pass", "drafting"] + LATER
    lines = []
    for system in SYSTEMS:
        runs = results.runs(temperature, system.name)
        if not runs or system.spec == "none":
            continue
        cells = []
        for task in tasks:
            run = results.run(temperature, task, system.name)
            best = system.name == results.ahead(temperature, task)
            cells.append(("%.2f (%.2f)" % (run["speedup"], run["tokens_per_pass"]) if run else "", best))
        whole = results.whole(temperature, system.name)
        predicted = [run.get("predicted_speedup") for run in whole]
        rest = ["%.2f" % mean([run["speedup"] for run in whole]) if whole else "",
                "%.2f" % mean(predicted) if predicted and all(predicted) else "",
                "%.1f" % (sum(run["rows_per_pass"] for run in runs) / len(runs)),
                "%.0f %%" % (100 * sum(run["draft_share"] for run in runs) / len(runs)),
                "%.0f" % (results.probed[system.name]["memory"] / 1e6), results.training(system)]
        lines.append((system, cells + [(text, False) for text in rest]))
    return head, lines


def describe(results, temperature=None):
    """Where and how it was measured, at all temperatures or at one."""
    units = [u for u in results.units if temperature in (None, u["temperature"])]
    unit = units[0]
    machines = sorted({"%s, %s, %d threads" % (u["machine"]["cpu"], u["machine"]["isa"], u["machine"]["threads"]) for u in units})
    return ("%s, %s; %s prompts a set, %d tokens each" %
            ("; ".join(machines), span(u["date"] for u in units), span(u["limit"] for u in units), unit["tokens"]))


def span(values):
    """The least and the most."""
    values = sorted(set(values))
    return str(values[0]) if len(values) == 1 else "%s to %s" % (values[0], values[-1])


def unequal(results):
    """Names of systems whose bytes were not plain decoding's."""
    return sorted({key[2] for key, run in results.found.items() if run["lossless"] and not run["identical"]})


def second_look(results, temperature, task):
    """The unit that took `auto` and the fastest on prompts of their own, or None; of another fastest it says nothing."""
    unit = results.again.get((temperature, task))
    return unit if unit and unit["names"][2] == results.winner(temperature, task)[1] else None


def auto_sets(results, temperature):
    """(set, speed-up of `auto`, of the fastest, its name, second look or None) of every set. To look again where `auto` came in
    behind and to count that in its favour would flatter it, so the two are reported and counted apart."""
    for task in results.tasks:
        if results.run(temperature, task, "auto"):
            speed, name = results.winner(temperature, task)
            look = None if results.matched(temperature, task) else second_look(results, temperature, task)
            yield task, results.run(temperature, task, "auto")["speedup"], speed, name, look


def auto_counts(results, temperature):
    """What `auto` used and how near it came to the fastest, counted for the first prompts and for the others."""
    sets = list(auto_sets(results, temperature))
    near = sum(results.matched(temperature, task) for task, *_ in sets)
    looks = [look for *_, look in sets if look]
    again = sum(meet(look["runs"][1], look["runs"][2]) for look in looks)
    used = sorted({run["used"] for run in results.runs(temperature, "auto")})
    text = "At temperature %g `auto` used `%s`. On %d of %d sets it was the fastest drafter, or the intervals of the two meet." % (
        temperature, "`, `".join(used), near, len(sets))
    few = sum(run["speedup_confidence"] < SURE for run in results.runs(temperature, "auto"))
    if few:
        text += " %s too few prompts to separate any two drafters." % ("All of them have" if few == len(sets) else "%d of them have" % few)
    if looks:
        text += " Of the other sets %d were run again on other prompts; there the intervals meet on %d." % (len(looks), again)
    return text


def auto_table(results, temperature):
    """Counts, and the sets as a table."""
    text = [auto_counts(results, temperature), "",
            "| | `auto` | fastest | | other prompts | `auto` | fastest | predicted |", "| --- " * 8 + "|"]
    for task, auto, speed, name, look in auto_sets(results, temperature):
        again = [""] * 4
        if look:
            runs = look["runs"][1:]
            predicted = [run.get("predicted_speedup") for run in runs]
            again = ["%d" % look["limit"], *("%.2f" % run["speedup"] for run in runs),
                     "%.2f, %.2f" % tuple(predicted) if all(predicted) else ""]
        text.append("| %s | %.2f | %.2f | %s | %s |" % (task, auto, speed, name, " | ".join(again)))
    return text


def auto_temperatures(results):
    """Those at which `auto` ran."""
    return [temperature for temperature in results.temperatures if results.runs(temperature, "auto")]


def apart(results):
    """A sentence on systems that had runs without the others, or nothing."""
    found = {name for unit in results.units if "auto" not in unit["names"] for name in unit["names"][1:]}
    names = list(dict.fromkeys(s.name.partition(",")[0] for s in SYSTEMS if s.name in found))
    if not names:
        return []
    return ["Settings of %s apply to all drafters of a run, so they had separate runs, in turns with plain decoding." % " and ".join(names), ""]


def absent(results):
    """Systems that did not run, and why."""
    return ["%s: %s" % (name, about["why"]) for name, about in results.probed.items() if "why" in about]


def markdown(head, lines):
    text = ["| | " + " | ".join(head) + " |", "| --- " * (len(head) + 1) + "|"]
    for system, cells in lines:
        text.append("| %s | " % system.name + " | ".join("**%s**" % c if best else c for c, best in cells) + " |")
    return text


def beside_papers(every):
    """Every published figure beside ours: speed-ups (tokens a pass), greedy, mean of all sets."""
    text = ["| | published | " + " | ".join(results.name for results in every) + " |", "| --- " * (len(every) + 2) + "|"]
    for system in filter(lambda s: s.published, SYSTEMS):
        ours = []
        for results in every:
            runs = results.whole(results.temperatures[0], system.name)
            ours.append("%.2f (%.2f)" % (mean([r["speedup"] for r in runs]), mean([r["tokens_per_pass"] for r in runs])) if runs else "")
        text.append("| %s | %s | %s |" % (system.name, system.published, " | ".join(ours)))
    return text


def ahead_on_most(first, second):
    """Whether the first runs are faster than the second on so many sets that a coin would do it in less than 1 of 20 cases."""
    n, won = len(first), sum(a["speedup"] > b["speedup"] for a, b in zip(first, second))
    return 2 * sum(math.comb(n, k) for k in range(won, n + 1)) / 2 ** n <= 1 - SURE


def other_orders(results):
    """Pairs of systems that Spec-Bench's two machines agree on: how many stand in that order here on most sets, how many in
    neither, and a sentence for each of those that are turned round."""
    runs, kept, open_pairs, turned = {}, 0, 0, []
    for name in SPEC_BENCH:
        if whole := results.whole(results.temperatures[0], name):
            runs[name] = whole
    speed = {name: mean([run["speedup"] for run in whole]) for name, whole in runs.items()}
    for first in runs:
        for second in runs:
            if not all(a > b for a, b in zip(SPEC_BENCH[first], SPEC_BENCH[second])):
                continue
            if ahead_on_most(runs[first], runs[second]):
                kept += 1
            elif not ahead_on_most(runs[second], runs[first]):
                open_pairs += 1
            else:
                turned.append("%s (%.2f) before %s (%.2f), there %.2f and %.2f on an A100, %.2f and %.2f on a 3090"
                              % (second, speed[second], first, speed[first], SPEC_BENCH[second][0], SPEC_BENCH[first][0],
                                 SPEC_BENCH[second][1], SPEC_BENCH[first][1]))
    return kept, open_pairs, turned


def order_line(results):
    kept, open_pairs, turned = other_orders(results)
    if not kept + open_pairs + len(turned):
        return "%s: no system of Spec-Bench ran on all sets." % results.name
    return "%s: %d pairs, %d of them in Spec-Bench's order, %d in neither%s." % (
        results.name, kept + open_pairs + len(turned), kept, open_pairs, "; reversed: " + "; ".join(turned) if turned else "")


def details(every):
    """The part of docs/papers/comparison.md."""
    text = []
    for results in every:
        text += ["### %s" % results.name, "", "%s." % describe(results), ""]
        for temperature in results.temperatures:
            text += ["Temperature %g, speed-up (tokens a pass):" % temperature, ""] + markdown(*table(results, temperature)) + [""]
        for temperature in auto_temperatures(results):
            text += auto_table(results, temperature) + [""]
        text += apart(results)
        wrong = unequal(results)
        text += ["**Bytes differ from plain decoding: %s.**" % ", ".join(wrong) if wrong else "All bytes equal.", ""]
        if absent(results):
            text += ["Not run: " + "; ".join(absent(results)) + ".", ""]
    text += ["### Beside the papers", "",
             "Published figures are of models of 1.4B to 13B on GPUs (Spec-Bench's of Vicuna 7B on an A100).", ""] + beside_papers(every) + [""]
    text += ["Pairs of systems that have the same order on both of Spec-Bench's machines, an A100 and a 3090, 7B. Here a pair has an order "
             "if eight or more of nine sets agree, which chance gives in less than 1 of 20 cases:", ""]
    text += ["- " + order_line(results) for results in every] + [""]
    text += ["Not built: " + "; ".join("%s (%s)" % pair for pair in NOT_BUILT) + "."]
    return "\n".join(text)


def with_interval(run):
    """A speed-up of all tokens, and the interval of the answers' median, if there are enough."""
    if not run:
        return ""
    return "%.2f" % run["speedup"] + (" (%.2f to %.2f)" % interval(run) if run["speedup_confidence"] >= SURE else "")


def summary(every):
    """The table of docs/results.md: the fastest of every set, and `auto`."""
    text = []
    for results in every:
        first = results.temperatures[0]
        text += ["%s (%s), %s:" % (results.name, describe(results, first), "temperature %g" % first if first else "greedy"), "",
                 "| prompts | fastest besides `auto` | | not separable from it | `auto` |", "| --- | --- | --- | --- | --- |"]
        for task in results.tasks:
            name = results.winner(first, task)[1]
            auto, near = results.run(first, task, "auto"), results.near(first, task)
            fastest = results.run(first, task, name)
            few = "too few prompts" if fastest and fastest["speedup_confidence"] < SURE else ", ".join(near)
            text.append("| %s | %s | %s | %s | %s |" % (task, with_interval(fastest), name, few, with_interval(auto)))
        text.append("")
    return "\n".join(text).rstrip()
