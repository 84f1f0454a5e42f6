"""How a token is drawn."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ._native import c_id, c_struct, ffi
from .errors import ArgumentError


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn. The defaults are those of ``forerun run``, and so are the bytes.

    What is out of range is an ArgumentError where the generation begins.
    """

    temperature: float = 0.0
    """0: greedy; at most 100."""
    top_k: int = 40
    """Draw from so many of the likeliest tokens; 0: off."""
    top_p: float = 0.95
    """Draw from the likeliest tokens that hold this probability; 1: off, 0: the likeliest alone."""
    min_p: float = 0.05
    """Drop tokens below this share of the likeliest one's probability; 0: off."""
    repeat_penalty: float = 1.0
    """Makes tokens of the last text less likely; 1: off; at most 100."""
    repeat_last_n: int = 64
    """Tokens that it looks back on; 0: none, -1: the whole context."""
    frequency_penalty: float = 0.0
    """Taken from a token's logit for each time that it was generated."""
    presence_penalty: float = 0.0
    """Taken once from the logit of every generated token."""
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    """By token id: -100 to 100, added to its logit; ``-math.inf``: it never comes."""
    seed: int | None = None
    """64 bits; the same seed gives the same text. None: drawn at random, `Result.seed` tells it."""

    def _in_c(self) -> tuple[Any, list[Any], int]:
        """The fr_sampling, the memory behind it, and the seed."""
        seed = random.SystemRandom().getrandbits(32) if self.seed is None else self.seed
        entries = [
            {"token": c_id("logit_bias", token), "bias": bias}
            for token, bias in self.logit_bias.items()
        ]
        bias = ffi.new("fr_logit_bias[]", entries)
        # A 0 of fr_sampling is the default and not what 0 says here.
        if self.repeat_penalty == 0:
            raise ArgumentError("repeat_penalty: expected more than 0, found 0")
        off = self.repeat_last_n == 0 and 0 < self.repeat_penalty <= 100
        sampling = c_struct(
            "fr_sampling",
            temperature=self.temperature,
            top_k=1 if self.top_p == 0 and self.top_k >= 0 else self.top_k,
            top_p=self.top_p,
            min_p=self.min_p,
            repeat_penalty=1 if off else self.repeat_penalty,
            repeat_last_n=self.repeat_last_n,
            frequency_penalty=self.frequency_penalty,
            presence_penalty=self.presence_penalty,
            bias=bias if entries else ffi.NULL,
            n_bias=len(entries),
            seed=seed,
        )
        return sampling, [bias], seed
