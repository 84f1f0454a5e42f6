"""Tokens per pass of many prompts, with intervals. A line of a prompt begins with its tokens and
its passes."""
import math
import random

SAMPLES = 2000


def lines_of(sets, tasks=None):
    """The lines of {task: lines}, task by task in the order of their names; of these tasks alone where some are given."""
    return [line for task in sorted(sets if tasks is None else tasks) for line in sets[task]]


def pooled(lines):
    return sum(line[0] for line in lines) / sum(line[1] for line in lines)


def bootstrap(n, value, seed=0):
    """(value of all n places, low, high): between the last two lie 95 of 100 samples, n places drawn again."""
    draw, places = random.Random(seed), range(n)
    samples = sorted(value(draw.choices(places, k=n)) for _ in range(SAMPLES))
    return value(places), samples[SAMPLES // 40], samples[-1 - SAMPLES // 40]


def interval(lines, seed=0):
    """(pooled, low, high): tokens a pass and where 95 of 100 samples of the prompts lie. One prompt says nothing of others."""
    if len(lines) < 2:
        return pooled(lines), 0, math.inf
    return bootstrap(len(lines), lambda some: pooled([lines[i] for i in some]), seed)


def ratio(lines, others):
    """(pooled ratio, low, high): both on the same samples of the prompts. One prompt says nothing of others."""
    if len(lines) < 2:
        return pooled(lines) / pooled(others), 0, math.inf
    return bootstrap(len(lines), lambda some: pooled([lines[i] for i in some]) / pooled([others[i] for i in some]))
