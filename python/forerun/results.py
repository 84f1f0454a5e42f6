"""What a generation gave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ._native import ffi, lib, sized_text, text_of

Finish = Literal["stop", "length", "interrupted"]
"""An end token or a stop string; ``max_tokens`` or the context's end; cancelled or broken off."""


def _rate(count: float, seconds: float) -> float:
    return count / seconds if seconds > 0 else 0.0


@dataclass(frozen=True)
class Stats:
    """Counts and times of one generation. All times are seconds."""

    finish: Finish
    used: str
    """The drafter that drafted in the end."""
    why: str
    """Half a sentence: why that one, and how it went."""
    lossless: bool
    """The rule of acceptance promises the bytes of plain decoding."""
    exact_law: bool
    """... or at least its distribution."""
    prompt_tokens: int
    prompt_reused: int
    """Tokens of the prompt that the session had read before."""
    completion_tokens: int
    passes: int
    """Passes of the model, each of which gives one token and those drafted tokens that it accepts."""
    rows: int
    """Rows of all passes: what was drafted, and what the model gave itself."""
    plain_passes: int
    """Passes without drafted tokens."""
    seconds_prompt: float
    seconds_decode: float
    seconds_draft: float
    seconds_verify: float
    predicted: float
    """Seconds that the profile says these passes take; 0 without one."""
    predicted_plain: float
    """... and plain decoding of the same tokens."""
    offered: tuple[int, ...]
    """Drafted tokens that were verified, by depth: the first is one token ahead."""
    accepted: tuple[int, ...]
    """... and those of them that were right."""
    passes_by_rows: dict[int, int]
    """Passes of so many rows; those of more than 64 stand at 0."""
    seconds_by_rows: dict[int, float]
    """Seconds that these passes alone took, without drafting and verifying."""
    expected: float
    """Tokens by the drafter's own estimate, of all passes."""
    draft: dict[str, dict[str, float | None]]
    """What drafters count of themselves: sums, and means (None: of nothing)."""

    @property
    def tokens_per_pass(self) -> float:
        """Tokens that a pass of the model brought on average; plain decoding brings 1."""
        return _rate(self.completion_tokens, self.passes)

    @property
    def tokens_per_second(self) -> float:
        """Speed of generating, without reading the prompt."""
        return _rate(self.completion_tokens, self.seconds_decode)

    @property
    def prompt_tokens_per_second(self) -> float:
        """Speed of reading what had to be read of the prompt."""
        return _rate(self.prompt_tokens - self.prompt_reused, self.seconds_prompt)

    @property
    def drafted_tokens(self) -> int:
        """Tokens of the answer that were drafted."""
        return sum(self.accepted)


@dataclass(frozen=True)
class Logprobs:
    """A token and its log probability (natural)."""

    token: int
    logprob: float
    top: tuple[tuple[int, float], ...]
    """The likeliest tokens and their log probabilities, best first."""


@dataclass(frozen=True)
class Result:
    """What a generation gave, without the prompt."""

    text: str
    """Valid UTF-8; a cut or invalid character is U+FFFD."""
    tokens: list[int]
    stats: Stats
    stopped_by: str | None
    """The stop string that ended it."""
    stop_token: int | None
    """The one of the stop tokens that ended it."""
    seed: int
    """The seed of the draws."""
    logprobs: list[Logprobs] | None
    """Of `tokens`, where they were asked for."""
    prompt_logprobs: list[Logprobs | None] | None
    """Of the prompt's tokens, each behind those before it (None for the first), where asked for."""

    @property
    def finish(self) -> Finish:
        """What ended it."""
        return self.stats.finish

    def __str__(self) -> str:
        return self.text


class Piece(str):
    """A piece of an answer, which is a `str`, and how it came to be."""

    __slots__ = ("token", "depth", "drafter")
    token: int
    """The token that ended the piece."""
    depth: int
    """0: the model gave it itself; d: the d-th drafted token of a pass."""
    drafter: int
    """The part of the drafter's SPEC that drafted it, from 0."""

    @property
    def drafted(self) -> bool:
        return self.depth > 0


def piece_of(piece: Any) -> Piece:
    """Of an fr_piece that has text."""
    made = Piece(sized_text(piece.text, piece.bytes))
    made.token, made.depth, made.drafter = piece.token, piece.depth, piece.drafter
    return made


def _finish(finish: int) -> Finish:
    if finish == lib.FR_FINISH_STOP:
        return "stop"
    return "length" if finish == lib.FR_FINISH_LENGTH else "interrupted"


def _by_rows(array: Any) -> dict[int, Any]:
    return {rows: value for rows, value in enumerate(array) if value}


def _draft_counts(counts: Any) -> dict[str, dict[str, float | None]]:
    told: dict[str, dict[str, float | None]] = {}
    for i in range(counts.n):
        c = counts.count[i]
        mean = c.sum / c.of if c.of else None
        told.setdefault(text_of(c.drafter), {})[text_of(c.name)] = mean if c.mean else c.sum
    return told


_COPIED = """lossless exact_law prompt_tokens prompt_reused completion_tokens passes rows plain_passes
seconds_prompt seconds_decode seconds_draft seconds_verify predicted predicted_plain expected""".split()


def _stats(stats: Any) -> Stats:
    offered = list(stats.offered)
    while offered and not offered[-1]:
        offered.pop()
    return Stats(
        finish=_finish(stats.finish),
        used=text_of(stats.used),
        why=text_of(stats.why),
        offered=tuple(offered),
        accepted=tuple(stats.accepted[0 : len(offered)]),
        passes_by_rows=_by_rows(stats.passes_by_rows),
        seconds_by_rows=_by_rows(stats.seconds_by_rows),
        draft=_draft_counts(stats.draft),
        **{name: getattr(stats, name) for name in _COPIED},
    )


def _logprobs_of(token: int, entry: Any) -> Logprobs | None:
    if not entry:
        return None
    top = tuple((entry.top[i].token, entry.top[i].logprob) for i in range(entry.n_top))
    return Logprobs(token, entry.logprob, top)


def _all_logprobs(tokens: Sequence[int], entries: Any) -> list[Logprobs | None] | None:
    if not entries:
        return None
    return [_logprobs_of(token, entries[i]) for i, token in enumerate(tokens)]


def result_of(session: Any, prompt: Sequence[int], stops: Sequence[str], seed: int) -> Result:
    """A copy of what fr_session_result says."""
    r = lib.fr_session_result(session)
    tokens = ffi.unpack(r.tokens, r.n_tokens) if r.n_tokens else []
    logprobs = _all_logprobs(tokens, r.logprobs)
    return Result(
        text=sized_text(r.text, r.text_bytes),
        tokens=tokens,
        stats=_stats(r.stats),
        stopped_by=stops[r.stopped_by] if r.stopped_by >= 0 else None,
        stop_token=r.stop_token if r.stop_token >= 0 else None,
        seed=seed,
        logprobs=None if logprobs is None else [entry for entry in logprobs if entry],
        prompt_logprobs=_all_logprobs(prompt, r.prompt_logprobs),
    )
