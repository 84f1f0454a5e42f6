"""Which system is ahead of which: ratios of tokens per pass, both on the same samples of the
prompts."""
from intervals import lines_of, ratio

# Pairs that papers compare, the one that is said to be ahead first.
PAIRS = [
    ("EAGLE", "Medusa-1"), ("EAGLE", "EAGLE-1, static tree"), ("hidden-state", "EAGLE"), ("hidden-state", "two-model"), ("Chimera", "Medusa-1"),
    ("Chimera", "Lookahead, 5/7/7"), ("Chimera", "EAGLE"), ("PPD", "Medusa-1"), ("PPD", "Lookahead, 5/7/7"), ("PPD", "REST"), ("PPD", "prompt lookup"),
    ("PPD inside the draft model", "two-model"), ("Hidden Transfer", "Medusa-1"), ("Hidden Transfer", "early exit"),
    ("Hidden Transfer", "self-speculative (layers by rule)"), ("Lookahead, 5/7/7", "Jacobi"), ("EAGLE and prompt lookup", "prompt lookup"),
    ("PPD and prompt lookup", "prompt lookup"), ("hidden-state and prompt lookup", "EAGLE and prompt lookup"),
]


def sets_apart(one, other, tasks):
    """(how many sets' intervals lie above 1, how many below)."""
    found = [ratio(one["sets"][task], other["sets"][task]) for task in tasks]
    return sum(low > 1 for _, low, _ in found), sum(high < 1 for _, _, high in found)


def ratio_table(result):
    """The pairs that are there with the same prompts, over all sets that both have."""
    systems, rows = result["systems"], []
    for names in PAIRS:
        if not all(name in systems for name in names):
            continue
        one, other = (systems[name] for name in names)
        tasks = [task for task in one["sets"].keys() & other["sets"].keys() if len(one["sets"][task]) == len(other["sets"][task])]
        if tasks:
            rows.append("| %s | %s | %.3f (%.3f to %.3f) | %d | %d | %d |" % (
                *names, *ratio(*(lines_of(system["sets"], tasks) for system in (one, other))), len(tasks), *sets_apart(one, other, tasks)))
    return ["| | over | tokens a pass, ratio | sets | ahead in | behind in |", "| --- | --- | --- | --- | --- | --- |", *rows, ""] if rows else []
