"""The result of a generation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ._native import ffi, lib, sized_text, text_of

Finish = Literal["stop", "length", "interrupted"]
"""What ended an answer: an end token, stop token or stop string ("stop"); ``max_tokens`` or the end
of the context ("length"); a cancellation, a callback, or the close of its stream ("interrupted")."""


def _rate(count: float, seconds: float) -> float:
    return count / seconds if seconds > 0 else 0.0


@dataclass(frozen=True)
class Stats:
    """Counts and times of one generation. All times are in seconds."""

    finish: Finish
    used: str
    """The SPEC of the drafter that was used."""
    why: str
    """A phrase: why it was chosen, and what it drafted."""
    lossless: bool
    """The acceptance rule guarantees the bytes of plain decoding."""
    exact_law: bool
    """The acceptance rule guarantees the distribution of plain decoding."""
    prompt_tokens: int
    prompt_reused: int
    """Tokens of the prompt that were already in the context."""
    completion_tokens: int
    passes: int
    """Passes of the model. Each gives one token, and the drafted tokens that it accepts."""
    rows: int
    """Rows of all passes: drafted tokens, and tokens of the model itself."""
    plain_passes: int
    """Passes without drafted tokens."""
    seconds_prompt: float
    seconds_decode: float
    seconds_draft: float
    seconds_verify: float
    predicted: float
    """Seconds that these passes take by the profile; 0: no profile."""
    predicted_plain: float
    """Seconds of plain decoding of the same tokens by the profile; 0: no profile."""
    offered: tuple[int, ...]
    """Passes with a drafted token at each depth; the first depth is one token ahead."""
    accepted: tuple[int, ...]
    """Passes that accepted a drafted token at each depth."""
    passes_by_rows: dict[int, int]
    """Number of passes by number of rows; key 0: passes of more than 64 rows."""
    seconds_by_rows: dict[int, float]
    """Seconds of these passes, without drafting and verifying."""
    predicted_by_rows: dict[int, float]
    """Seconds that were expected of these passes, by all passes before each."""
    expected: float
    """Tokens of all passes by the estimate of the drafter."""
    draft: dict[str, dict[str, float | None]]
    """Statistics of the drafters, by drafter and name: sums, and means (None: no values)."""

    @property
    def tokens_per_pass(self) -> float:
        """Mean number of tokens per pass; plain decoding has 1."""
        return _rate(self.completion_tokens, self.passes)

    @property
    def tokens_per_second(self) -> float:
        """Speed of generation, without reading the prompt."""
        return _rate(self.completion_tokens, self.seconds_decode)

    @property
    def prompt_tokens_per_second(self) -> float:
        """Speed of reading the prompt, without its reused tokens."""
        return _rate(self.prompt_tokens - self.prompt_reused, self.seconds_prompt)

    @property
    def drafted_tokens(self) -> int:
        """Tokens of the answer that were drafted."""
        return sum(self.accepted)


@dataclass(frozen=True)
class Logprobs:
    """A token and its log probability (natural logarithm)."""

    token: int
    logprob: float
    top: tuple[tuple[int, float], ...]
    """The likeliest tokens and their log probabilities, best first."""


@dataclass(frozen=True)
class Result:
    """The result of a generation, without the prompt."""

    text: str
    """Valid UTF-8; a cut or invalid character is U+FFFD."""
    tokens: list[int]
    stats: Stats
    stopped_by: str | None
    """The stop string that ended the answer, or None."""
    stop_token: int | None
    """The stop token that ended the answer, or None."""
    seed: int
    """The seed of the random draws."""
    logprobs: list[Logprobs] | None
    """Log probabilities of `tokens`; None if they were not requested."""
    prompt_logprobs: list[Logprobs | None] | None
    """Log probabilities of the prompt's tokens, each given the tokens before it; None for the
    first. None if they were not requested."""

    @property
    def finish(self) -> Finish:
        """What ended the answer."""
        return self.stats.finish

    def __str__(self) -> str:
        return self.text


class Piece(str):
    """A piece of an answer, a `str`, with the origin of its token."""

    __slots__ = ("token", "depth", "drafter")
    token: int
    """The token that completed the piece."""
    depth: int
    """0: a token of the model itself; d > 0: the d-th drafted token of a pass."""
    drafter: int
    """Index of the part of the SPEC that drafted it, from 0."""

    @property
    def drafted(self) -> bool:
        return self.depth > 0


def piece_of(piece: Any) -> Piece:
    """Makes a Piece from an fr_piece that has text."""
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
        predicted_by_rows=_by_rows(stats.predicted_by_rows),
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
    """Returns a copy of fr_session_result."""
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
