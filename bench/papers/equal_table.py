"""The tables of trainings at an equal budget: the methods, compared with the figures of their
papers, and recipes of eagle."""
import glob
import os
from collections import namedtuple

from calls import Failure, sets_of_prompts
from measure import read
from intervals import interval, lines_of, pooled, ratio

# learner: what `train` calls it; drafter: what drafts with the pack; trial: steps that are timed; claims: its paper's order;
# seeds: how many of the line's it gets.
Method = namedtuple("Method", "name learner drafter settings options trial claims seeds", defaults=((), (), (4, 24), "", 3))

METHODS = [
    Method("Medusa", "medusa", "medusa", (), ("--depth", "4"), (10, 60)),
    Method("Hydra", "medusa", "medusa", ("variant=hydra",), ("--depth", "4"), (10, 60), "before Medusa (Ankner et al. 2024)"),
    Method("EAGLE", "eagle", "eagle", (), (), (4, 24), "before Medusa (Li et al. 2024)"),
    Method("EAGLE, three layers", "eagle", "eagle", ("taps=2,15,27",), (), (4, 24), "before EAGLE (Li et al. 2025)"),
    Method("hidden-state", "hidden-state", "hidden-state", (), (), (4, 24), "late tokens before others (abstract)"),
    Method("hidden-state, token bias without gate", "hidden-state", "hidden-state", ("gate=0",), (), (4, 24), ""),
    Method("hidden-state, no token bias", "hidden-state", "hidden-state", ("inject=0",), (), (4, 24), ""),
    Method("hidden-state, states alone", "hidden-state", "hidden-state", ("pure=1",), (), (4, 24), ""),
    Method("Chimera", "chimera", "chimera", (), (), (4, 24), "before Medusa at every distance (§4.3)"),
    Method("PPD", "ppd", "ppd", (), (), (4, 40), "before Medusa at every distance (§5.2)"),
    Method("Hidden Transfer", "hidden-transfer", "hidden-transfer", (), (), (4, 40), "before Medusa before early exit (§4.3, §4.4)"),
    Method("early exit, layer 10", "early-exit", "early-exit", ("exit=10",), (), (10, 60)),
    Method("early exit, layer 15", "early-exit", "early-exit", ("exit=15",), (), (10, 60)),
    Method("early exit, layer 20", "early-exit", "early-exit", ("exit=20",), (), (10, 60)),
]

def recipe(name, settings=(), options=(), seeds=1, taps="2,15,27", rise=0):
    return Method(name, "eagle", "eagle", ("taps=" + taps, "steps-rise=%d" % rise, *settings), options, seeds=seeds)


# One change each against three layers' states.
RECIPES = [
    recipe("the final state alone", taps="none", seeds=3),
    recipe("three layers' states", seeds=3),
    recipe("... more steps later", rise=1, seeds=3),
    recipe("... three steps", (), ("--depth", "3")),
    recipe("... 4096 tokens to draft", (), ("--vocab", "4096")),
    recipe("... without distance of states", ("feature=0",)),
    recipe("... feed-forward of 768", ("ffn=768",)),
    recipe("... feed-forward of 3072", ("ffn=3072",)),
    recipe("... the target's last layer", ("init=last-layer",)),
    recipe("... mean of the last tenth, rate to zero", (), ("--average", "0.1", "--lr-end", "0"), seeds=3),
]

LISTS = {"methods": METHODS, "recipes": RECIPES}
BASES = {"methods": "Medusa", "recipes": "three layers' states"}  # what the others are compared with


def prompts_of(ones):
    """Every prompt's tokens and passes, of all seeds together."""
    shapes = {tuple((task, len(one["sets"][task])) for task in sorted(one["sets"])) for one in ones}
    if len(shapes) > 1:
        raise Failure("seeds on different prompts: %s" % " and ".join(map(str, sorted(shapes))))
    sets = [lines_of(one["sets"]) for one in ones]
    return [[sum(line[0] for line in lines), sum(line[1] for line in lines)] for lines in zip(*sets)]


def seeds_of(ones):
    return ", ".join("%.2f" % value for value in of_seeds(ones))


def over_base(result, name):
    """Tokens a pass over the base's, of the seeds that both have, on the same samples of the prompts. It separates systems that intervals cannot."""
    base = BASES[result["list"]]
    mine, bases = ({one["seed"]: one for one in result["methods"].get(which, ())} for which in (name, base))
    both = sorted(mine.keys() & bases.keys())
    if name == base or not both:
        return ""
    return "%.3f (%.3f to %.3f)" % ratio(*(prompts_of([ones[seed] for seed in both]) for ones in (mine, bases)))


RIGHT = {"right_everywhere": "right at 1, 2, 3, 4, % (seeds at 1)", "right": "right where all before was, % (seeds at 1)"}


def rights_of(result):
    """Shares of right guesses in trainings: of all rows, if any training has them, and of rows whose earlier guesses were all right."""
    return [which for which in RIGHT if any(which in one for ones in result["methods"].values() for one in ones)]


def right_of(ones, which):
    """Right at distances 1 to 4, as far as there are heads, per cent: the mean of the seeds that tell it, and how far they lie apart at the first."""
    ones = [one for one in ones if which in one]
    if not ones:
        return ""
    places = zip(*(one[which][:4] for one in ones))
    mean, first = [sum(values) / len(values) for values in places], [one[which][0] for one in ones]
    apart = " (%.1f to %.1f)" % (100 * min(first), 100 * max(first)) if len(ones) > 1 else ""
    return ", ".join("%.1f" % (100 * value) for value in mean) + apart


def of_seeds(ones):
    return [pooled(lines_of(one["sets"])) for one in ones]


def stands_out(result, found):
    """The method before all others whatever prompts are drawn, and with every seed before theirs: one seed shows no order."""
    best = max(found, key=lambda name: found[name][0])
    others = [name for name in found if name != best]
    seeds = {name: of_seeds(ones) for name, ones in result["methods"].items()}
    apart = all(found[best][1] > found[other][2] and min(seeds[best]) > max(seeds[other]) for other in others)
    return best if others and len(seeds[best]) > 1 and apart else None


def rows(result):
    claims = {method.name: method.claims for method in LISTS[result["list"]]}
    found = {name: interval(prompts_of(ones)) for name, ones in result["methods"].items()}
    best = stands_out(result, found)
    for name in sorted(found, key=lambda name: -found[name][0]):
        ones = result["methods"][name]
        value, low, high = found[name]
        cell = "%.2f (%.2f to %.2f)" % (value, low, high)
        taken = sum(one["seconds"] for one in ones) / len(ones)
        cells = [name, "%d" % ones[0]["steps"], "%.0f" % taken, "%.0f" % (ones[0]["tokens"] / 1000), *(right_of(ones, which) for which in rights_of(result)), "**%s**" % cell if name == best else cell, over_base(result, name), seeds_of(ones)]
        yield "| %s |" % " | ".join(cells + [claims.get(name, "")] * any(claims.values()))


def describe(result):
    ones = next(iter(result["methods"].values()))
    data, sets = ones[0]["data"], ones[0]["sets"]
    seeds = sorted({len(found) for found in result["methods"].values()})
    checked = sum(one["checked"] for found in result["methods"].values() for one in found)
    dates, machines = (sorted({one[key] for found in result["methods"].values() for one in found}) for key in ("date", "machine"))
    budget = "%d steps" % result["steps"] if result["steps"] else "%.0f seconds of %d thread%s" % (result["seconds"], result["threads"], "s" * (result["threads"] > 1))
    return ("%s, %s, %s: %s each, %d texts (%d thousand tokens of answers; %d texts held out), %s seed%s; "
            "trees of 16 rows, greedy, %d tokens, %s; %d results checked by full decoding, all equal." % (
                result["model"], " and ".join(machines), " to ".join(sorted({dates[0], dates[-1]})), budget, data["texts"],
                data["answer_tokens"] // 1000, data["held_out_texts"], " or ".join(map(str, seeds)), "s" * (seeds[-1] > 1), result["tokens"],
                sets_of_prompts({task: len(lines) for task, lines in sets.items()}), checked))


def table(folder, which):
    """Of all models that have results of this list: equal time, then equal tokens."""
    text = []
    for path in (path for kind in ("", "-tokens") for path in sorted(glob.glob(os.path.join(folder, "*-%s%s.json" % (which, kind))))):
        result = read(path)
        head = ["method" if which == "methods" else "recipe", "steps", "processor seconds", "thousand tokens seen", *(RIGHT[which] for which in rights_of(result)), "tokens a pass", "over " + BASES[which], "seeds"]
        head += ["its paper's order"] * (which == "methods")
        text += [describe(result), "", "| %s |" % " | ".join(head), "| --- " * len(head) + "|", *rows(result), ""]
    if not text:
        raise Failure("%s: no results of %s" % (folder, which))
    return "\n".join(text).rstrip()
