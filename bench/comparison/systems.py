"""The systems that the papers measure, as forerun runs them, and the figures of the papers.

A SPEC may contain {draft}, a smaller model of the same vocabulary, and {store}, a datastore.
--draft and --store name them; without them the row says so. Published figures are those of the
papers, on their machines: speed-up (tokens per pass).
"""
from collections import namedtuple

System = namedtuple("System", "name spec options published", defaults=((), ""))

SYSTEMS = [
    System("plain", "none"),
    System("auto", "auto"),
    System("Jacobi", "jacobi"),
    System("Lookahead, window on", "lookahead", ("window=3",), "1.27 (1.66): Spec-Bench"),
    System("Lookahead, window off", "lookahead", ("window=0",)),
    System("Lookahead, 5/7/7", "lookahead", ("ngram=5", "window=7", "guesses=7"), "1.27 (1.66): Spec-Bench"),
    System("prompt lookup", "prompt-lookup", (), "1.59 (1.73): Spec-Bench"),
    System("REST", "rest:{store}", (), "1.48 (1.82): Spec-Bench"),
    System("self-speculative (layers by rule)", "layer-skip", (), "1.24 XSum, 1.22 GSM8K: Hidden Transfer table 1, 13B"),
    System("early exit", "early-exit"),
    System("two-model", "draft-model:{draft}", (), "1.49 (2.28): Spec-Bench"),
    System("two-model, Sequoia's tree", "draft-model:{draft}", ("tree=sequoia",)),
    System("PPD inside the draft model", "draft-model:{draft}@ppd", (), "up to 1.22 times two-model: PPD §5.3"),
    System("Medusa-1", "medusa", (),
           "1.78 (2.32): Spec-Bench; 1.39 XSum, 1.73 GSM8K: Hidden Transfer table 1, 7B; (2.51): PPD table 1"),
    System("EAGLE", "eagle", (), "2.29 (3.61): Spec-Bench"),
    System("EAGLE-1, static tree", "eagle", ("tree=static",), "2.29 (3.61): Spec-Bench"),
    System("hidden-state", "hidden-state", (), "up to 3.3: Make Every Draft Count, abstract"),
    System("PPD", "ppd", (), "2.12 to 2.49, all models, greedy: PPD §5.1; (2.54), 7B, not greedy: table 1"),
    System("Hidden Transfer", "hidden-transfer", (), "1.79 XSum, 2.22 GSM8K: Hidden Transfer table 1, 7B"),
    System("Chimera", "chimera", (), "2.73 (3.30): Chimera §4.3.1, MT-bench, 7B"),
    System("EAGLE and prompt lookup", "eagle+prompt-lookup"),
    System("hidden-state and prompt lookup", "hidden-state+prompt-lookup"),
    System("PPD and prompt lookup", "ppd+prompt-lookup"),
    System("Hidden Transfer and prompt lookup", "hidden-transfer+prompt-lookup"),
    System("Chimera and prompt lookup", "chimera+prompt-lookup"),
    System("Medusa and prompt lookup", "medusa+prompt-lookup"),
    System("REST and prompt lookup", "rest:{store}+prompt-lookup"),
]

# What one harness measured of several: speed-ups over all sets of Spec-Bench (Xia et al. 2024; its Leaderboard.md), Vicuna
# 7B, greedy, on an A100, as the figures above, and on a 3090.
SPEC_BENCH = {"EAGLE": (2.29, 2.16), "Medusa-1": (1.78, 1.44), "prompt lookup": (1.59, 1.55), "two-model": (1.49, 1.83),
              "REST": (1.48, 1.32), "Lookahead, window on": (1.27, 1.08)}

NOT_BUILT = [
    ("Medusa-2", "trains the target together with its heads, so the target is no longer the user's model"),
    ("Blockwise parallel decoding", "likewise trains the target with its heads"),
    ("PaSS", "its look-ahead tokens are PPD's prompt tokens with one vector each, without trees: `ppd` with `ensemble=1`"),
]
