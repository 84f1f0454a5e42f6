"""Sessions that share passes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._lifetime import ClosingInTurn, Resource, Turn
from ._native import c_struct, call, ffi, lib
from .errors import ArgumentError
from .generation import Prompt, RequestOptions, Stream, prompt_ids
from .results import Result
from .session import Session, SessionOptions, context_of
from .text import Messages

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .engine import Engine

MAX_SESSIONS = 64


@dataclass(frozen=True)
class GroupPass:
    """One pass that sessions of a group shared."""

    sessions: int
    """Sessions that shared it; 0: there was no pass."""
    rows: int
    """Rows of all these sessions."""
    seconds: float
    """Time of the pass, without drafting and sampling."""
    predicted: float
    """`seconds` as predicted from earlier passes; 0: not known yet."""


class Group(ClosingInTurn):
    """Sessions that share each pass. Many answers at once take little longer than one, and every
    session gives the same bytes as alone.

    A group has at most 64 sessions. One thread at a time runs a step for all of them; others wait.
    """

    def __init__(self, engine: Engine, *, n_ctx: int | None = None, prompt_share: float = 0) -> None:
        """Opens a group.

        n_ctx: largest context of a session, in tokens; None: the model's own, but at most 16384.
        prompt_share: time limit of a pass while some sessions read prompts and others generate, as
        a
            multiple of the time of a pass in which sessions only generate; 0: 3.5.

        Raises ArgumentError or OutOfMemoryError.
        """
        self._engine = engine
        self._turn = Turn()
        self._sessions: set[Session] = set()
        self.n_ctx = context_of(engine, n_ctx)
        """Largest context of a session, in tokens."""
        engine._take_profile_once()  # for the budget of the group and its sessions
        options = c_struct("fr_group_options", n_ctx=self.n_ctx, prompt_share=prompt_share)
        out = ffi.new("fr_group **")
        pointer = engine._resource.hold()
        try:
            with engine._opening:
                call(lib.fr_group_open, out, pointer, options)
        except BaseException:
            engine._resource.let_go()
            raise
        self._resource = Resource(
            "group", out[0], lib.fr_group_close, (engine._resource,), self._turn.when_free
        )
        engine._users.add(self)

    @property
    def engine(self) -> Engine:
        return self._engine

    @property
    def sessions(self) -> list[Session]:
        """The open sessions, in no order. A group keeps its sessions until they are closed."""
        return list(self._sessions)

    def session(self, **options: Unpack[SessionOptions]) -> Session:
        """Opens a session in the group. The default of ``n_ctx`` is that of the group.

        Raises UnsupportedError if the group has 64 sessions; other errors as `Engine.session`.
        """
        return Session(self._engine, self, **options)

    def step(self) -> bool:
        """Runs one pass for all sessions that generate. Returns False if no session has a step
        left.

        Streams of its sessions run steps themselves. Call this to observe each step.
        """
        with self._turn, self._resource.held() as pointer:
            return bool(lib.fr_group_step(pointer))

    @property
    def last_pass(self) -> GroupPass:
        """The pass of the last step."""
        with self._turn, self._resource.held() as pointer:
            last = lib.fr_group_last(pointer)[0]
            return GroupPass(last.sessions, last.rows, last.seconds, last.predicted)

    def generate(
        self, prompts: Iterable[Prompt], *, parallel: int = 16, **options: Unpack[RequestOptions]
    ) -> list[Result]:
        """Continues many prompts, ``parallel`` at a time, as `Session.generate` does with one.

        Opens sessions for this and closes them. Results are in the order of the prompts.
        """
        text = self._engine.text
        ids = [list(prompt_ids(text, prompt, options)) for prompt in prompts]
        return self._answer(ids, parallel, options)

    def chat(
        self,
        conversations: Iterable[Messages],
        *,
        parallel: int = 16,
        tools: Sequence[Mapping[str, Any]] | None = None,
        template_kwargs: Mapping[str, Any] | None = None,
        **options: Unpack[RequestOptions],
    ) -> list[Result]:
        """Answers many conversations, ``parallel`` at a time, as `Session.chat` does one.

        Opens sessions for this and closes them. Results are in the order of the conversations.
        """
        control, render = options.get("control", False), self._engine.text.render
        ids = [
            render(messages, tools=tools, template_kwargs=template_kwargs, control=control).ids
            for messages in conversations
        ]
        return self._answer(ids, parallel, options)

    def _close_when_free(self) -> None:
        for session in self.sessions:
            session._close_when_free()
        self._resource.close()

    def _answer(self, prompts: list[list[int]], parallel: int, options: RequestOptions) -> list[Result]:
        if parallel < 1:
            raise ArgumentError(f"parallel: expected 1 or more, found {parallel}")
        waiting = deque(enumerate(prompts))
        results: dict[int, Result] = {}
        # If the group is full, opening a session raises the error.
        most = min(parallel, max(1, MAX_SESSIONS - len(self.sessions)))
        opened: list[Session] = []
        idle: list[Session] = []
        running: dict[int, Stream] = {}
        try:
            while waiting or running:
                while waiting and (idle or len(opened) < most):
                    if not idle:
                        opened.append(self.session())
                        idle.append(opened[-1])
                    number, ids = waiting.popleft()
                    running[number] = idle.pop()._begin(ids, options, keeps=False)
                self.step()
                for number, stream in list(running.items()):
                    if not stream.session.running:
                        results[number] = stream.result()
                        idle.append(running.pop(number).session)
        finally:
            for session in opened:
                session.close()
        return [results[number] for number in range(len(prompts))]
