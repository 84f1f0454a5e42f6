"""How tokens are drawn."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ._native import c_id, c_struct, ffi
from .errors import ArgumentError


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn. The defaults are those of ``forerun run`` and give the same bytes.

    A value out of range raises ArgumentError when a generation begins.
    """

    temperature: float = 0.0
    """0: greedy; at most 100."""
    top_k: int = 40
    """Draw from this number of likeliest tokens; 0: off."""
    top_p: float = 0.95
    """Draw from the likeliest tokens whose probabilities add up to this; 1: off, 0: only the
    best."""
    min_p: float = 0.05
    """Drop tokens less probable than this share of the best token's probability; 0: off."""
    repeat_penalty: float = 1.0
    """Makes tokens of the preceding text less likely; 1: off; at most 100."""
    repeat_last_n: int = 64
    """Number of preceding tokens that ``repeat_penalty`` applies to; 0: none, -1: the whole
    context."""
    frequency_penalty: float = 0.0
    """Subtracted from a token's logit for each time it was generated; 0: off."""
    presence_penalty: float = 0.0
    """Subtracted once from the logit of each generated token; 0: off."""
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    """By token id: -100 to 100, added to the logit; ``-math.inf``: the token is never drawn."""
    seed: int | None = None
    """64 bits; the same seed gives the same text. None: random; `Result.seed` has it."""

    def _in_c(self) -> tuple[Any, list[Any], int]:
        """The fr_sampling, the memory that it points to, and the seed."""
        seed = random.SystemRandom().getrandbits(32) if self.seed is None else self.seed
        entries = [
            {"token": c_id("logit_bias", token), "bias": bias}
            for token, bias in self.logit_bias.items()
        ]
        bias = ffi.new("fr_logit_bias[]", entries)
        # In fr_sampling 0 is the default; here it has the meaning above.
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
