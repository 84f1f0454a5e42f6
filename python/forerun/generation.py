"""One generation: its request, and its pieces as they are generated."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from ._lifetime import Closing
from ._native import c_ids, c_strings, c_struct, call, exception, ffi, keep_failure, lib
from .errors import ClosedError, Error
from .results import Piece, Result, piece_of, result_of
from .sampling import Sampling

if TYPE_CHECKING:
    from .session import Session
    from .text import Text

Prompt = str | Sequence[int]
"""A text, or token ids."""

MAX_TOKENS = 256


class RequestOptions(TypedDict, total=False):
    """Options of a generation. All are optional keywords."""

    max_tokens: int | None
    """Maximum number of tokens. Default: 256, as in ``forerun run``. None: until an end token or
    the end of the context."""
    sampling: Sampling
    """Default: greedy."""
    stop: Sequence[str]
    """Texts before which the answer ends, or one such text. They may contain spellings of control
    tokens ("<|im_start|>"), although these are not part of the answer."""
    stop_tokens: Sequence[int]
    """Tokens that end the answer. The bytes of such a token are part of the answer, unless it is a
    control token or an end token."""
    ignore_eos: bool
    """Never draw an end token."""
    control: bool
    """Parse spellings of control tokens in a text prompt or in messages. Not for text from
    outside."""
    logprobs: bool
    """Fill `Result.logprobs`, by the model's own probabilities."""
    prompt_logprobs: bool
    """Fill `Result.prompt_logprobs`; the whole prompt is then evaluated."""
    drawn_logprobs: bool
    """`Result.logprobs` describe the distribution after penalties, bias and sampling."""
    top_logprobs: int
    """Number of the likeliest tokens to list in both, at most 20."""
    prediction: Prompt
    """Text that the answer is expected to contain. It never changes the answer; no drafter reads
    it."""
    shown: Sequence[int]
    """Control tokens whose spelling is part of the text; all others are left out."""
    on_piece: Callable[[Piece], object]
    """Called with every piece, by the thread that runs the step. Returning ``False`` ends the
    answer after that piece; its finish is then "interrupted". An exception of the callback is
    raised by the call that generates. The callback must not use sessions of the same group, except
    `Session.cancel`."""


class _Listener:
    """Receives the pieces of one generation. It has no reference to the Stream, so that neither
    keeps the other alive."""

    def __init__(self, on_piece: Callable[[Piece], object] | None, keeps: bool) -> None:
        self.on_piece = on_piece
        self.keeps = keeps
        self.pieces: deque[Piece] = deque()
        self.failure: BaseException | None = None

    def hear(self, told: Any) -> bool:
        if self.failure:
            return False
        if not told.bytes:
            return True
        piece = piece_of(told)
        if self.keeps:
            self.pieces.append(piece)
        return self.on_piece is None or self.on_piece(piece) is not False


@ffi.callback("fr_stream_fn *", error=False, onerror=keep_failure)  # type: ignore[untyped-decorator]
def _hear(user: Any, piece: Any) -> bool:
    listener: _Listener = ffi.from_handle(user)
    try:
        return listener.hear(piece)
    except BaseException as error:
        listener.failure = error
        return False


class _Request:
    """The fr_request, and the memory that it points to."""

    def __init__(self, ids: Sequence[int], options: RequestOptions, session: Session, keeps: bool):
        unknown = set(options) - RequestOptions.__optional_keys__
        if unknown:
            raise TypeError(f"unexpected options: {', '.join(sorted(unknown))}")
        max_tokens = options.get("max_tokens", MAX_TOKENS)
        prediction = options.get("prediction", ())
        if isinstance(prediction, str):
            prediction = session.engine.text.tokenize(prediction, bos=False)
        stop = options.get("stop", ())
        self.stops: list[str] = [stop] if isinstance(stop, str) else list(stop)
        self.prompt = list(ids)
        self.listener = _Listener(options.get("on_piece"), keeps)
        sampling, sampling_memory, self.seed = options.get("sampling", Sampling())._in_c()
        stops, stop_memory = c_strings(self.stops)
        prompt, expected = c_ids("prompt", self.prompt), c_ids("prediction", prediction)
        ending = c_ids("stop_tokens", options.get("stop_tokens", ()))
        shown, user = c_ids("shown", options.get("shown", ())), ffi.new_handle(self.listener)
        self._memory = [sampling, sampling_memory, stops, stop_memory, prompt, expected, ending, shown, user]
        self.in_c = c_struct(
            "fr_request",
            prompt=prompt,
            n_prompt=len(prompt),
            n_predict=-1 if max_tokens is None else max_tokens,
            sampling=sampling,
            stop=stops,
            ignore_eos=options.get("ignore_eos", False),
            logprobs=options.get("logprobs", False),
            prompt_logprobs=options.get("prompt_logprobs", False),
            drawn_logprobs=options.get("drawn_logprobs", False),
            top_logprobs=options.get("top_logprobs", 0),
            n_prediction=len(expected),
            prediction=expected,
            stream=_hear,
            user=user,
            shown=shown,
            n_shown=len(shown),
            stop_tokens=ending,
            n_stop_tokens=len(ending),
        )


def prompt_ids(text: Text, prompt: Prompt, options: RequestOptions) -> Sequence[int]:
    """The token ids of a prompt, which is a text or already token ids."""
    if not isinstance(prompt, str):
        return prompt
    return text.tokenize(prompt, control=options.get("control", False))


class Stream(Closing, Iterator[Piece]):
    """The pieces of an answer as they are generated, each a `str`; together they are its text.

    Any thread may take pieces. In a group, each step serves all its sessions. A stream that is left
    before its end ends its answer there: by `close`, at the end of a ``with`` block, or when the
    last reference to it is gone. Until then its session cannot begin another generation.
    """

    def __init__(self, session: Session, ids: Sequence[int], options: RequestOptions, keeps: bool):
        """Called by `Session.stream` and `Session.stream_chat`. A session outside of a group reads
        the prompt here; in a group the steps read it."""
        self._session = session
        self._request = _Request(ids, options, session, keeps)
        self._ended, self._told = True, False
        self._result: Result | None = None
        self._error: BaseException | None = None
        with session._turn, session._resource.held() as pointer:
            session._requests.add(self._request)  # kept until the end, whatever happens
            self._ended = False
            try:
                call(lib.fr_session_begin, pointer, self._request.in_c)
            except Error:
                self._ended = True
                session._requests.discard(self._request)
                raise
            except BaseException:  # Ctrl-C, just after the call
                if lib.fr_session_runs(pointer):
                    self._end(pointer)
                raise
            session._stream = weakref.ref(self)
            if self._request.listener.failure:
                self._end(pointer)
                self._raise()

    @property
    def session(self) -> Session:
        return self._session

    def __next__(self) -> Piece:
        pieces = self._request.listener.pieces
        while not pieces and not self._ended:
            self._advance(until_piece=True)
        if pieces:
            try:
                return pieces.popleft()
            except IndexError:  # another thread took it
                return self.__next__()
        if not self._told:
            self._told = True
            self._raise()
        raise StopIteration

    def result(self) -> Result:
        """Generates the rest of the answer and returns the result. Pieces that were not taken
        remain available. If an error ended the generation, it is raised."""
        while not self._ended:
            self._advance(until_piece=False)
        self._raise()
        if self._result is None:
            raise ClosedError("session: is closed")
        return self._result

    def cancel(self) -> None:
        """Ends the answer between two passes. Any thread may call it, also while a step runs."""
        if not self._ended:
            self._session.cancel()

    def close(self) -> None:
        """Ends the answer, if it has not ended yet."""
        self._end_when_free()
        self._session._turn.wait()

    def _end_when_free(self) -> None:
        if self._ended:
            return
        resource = self._session._resource
        try:
            pointer = resource.hold()
        except ClosedError:
            return

        def end() -> None:
            try:
                if not self._ended:
                    self._end(pointer)
            finally:
                resource.let_go()

        lib.fr_session_cancel(pointer)
        self._session._turn.when_free(end)

    def __del__(self) -> None:
        if hasattr(self, "_error"):
            self._end_when_free()

    def _raise(self) -> None:
        """Raises the error that ended the generation, if there is one."""
        if self._error:
            raise self._error

    def _advance(self, until_piece: bool) -> None:
        """Runs one pass, or ends; does nothing if a piece is wanted and another thread has added
        one."""
        with self._session._turn, self._session._resource.held() as pointer:
            if self._ended or (until_piece and self._request.listener.pieces):
                return
            try:
                if lib.fr_session_runs(pointer):
                    lib.fr_session_step(pointer)
                if not lib.fr_session_runs(pointer):
                    self._end(pointer)
            except BaseException:  # Ctrl-C
                self.close()
                raise

    def _end(self, pointer: Any) -> None:
        """Calls fr_session_end; within the session's turn."""
        request, session = self._request, self._session
        error = ffi.new("fr_error *")
        self._ended = True
        status = lib.fr_session_end(pointer, error)
        session._requests.discard(request)
        self._result = result_of(pointer, request.prompt, request.stops, request.seed)
        session._result = self._result
        self._error = request.listener.failure or (exception(error) if status != lib.FR_OK else None)
