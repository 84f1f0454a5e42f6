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
    """Sessions that shared it; 0: there was none."""
    rows: int
    """Rows of all of them."""
    seconds: float
    """Without drafting and drawing."""
    predicted: float
    """Seconds by what passes have cost so far; 0: not known yet."""


class Group(ClosingInTurn):
    """Sessions that share each pass: many answers at once take little longer than one, and every
    session's bytes are those that it would give alone.

    At most 64 sessions. One thread at a time takes a step, for all of them; others wait.
    """

    def __init__(self, engine: Engine, *, n_ctx: int | None = None, prompt_share: float = 0) -> None:
        """``n_ctx``: the largest context of any session, in tokens; None: the model's own, but at
        most 16384. ``prompt_share``: where some sessions read prompts while others write, a pass
        takes about so many times what one that writes alone takes; 0: 3.5. ArgumentError,
        OutOfMemoryError.
        """
        self._engine = engine
        self._turn = Turn()
        self._sessions: set[Session] = set()
        self.n_ctx = context_of(engine, n_ctx)
        """The largest context of any session, in tokens."""
        engine._take_profile_once()  # its budget begins with it, and a session in it may draft
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
        """Those that are open, in no order. A group keeps its sessions until they are closed."""
        return list(self._sessions)

    def session(self, **options: Unpack[SessionOptions]) -> Session:
        """Opens a session in it, with the group's context where ``n_ctx`` is left out.

        UnsupportedError: there are 64; others as `Engine.session`.
        """
        return Session(self._engine, self, **options)

    def step(self) -> bool:
        """One pass for all sessions that generate. False: no session has anything left to do.

        Streams of its sessions take steps by themselves; this is for whoever wants to see each.
        """
        with self._turn, self._resource.held() as pointer:
            return bool(lib.fr_group_step(pointer))

    @property
    def last_pass(self) -> GroupPass:
        """What the last step's pass was."""
        with self._turn, self._resource.held() as pointer:
            last = lib.fr_group_last(pointer)[0]
            return GroupPass(last.sessions, last.rows, last.seconds, last.predicted)

    def generate(
        self, prompts: Iterable[Prompt], *, parallel: int = 16, **options: Unpack[RequestOptions]
    ) -> list[Result]:
        """Goes on with many prompts, ``parallel`` at a time, as `Session.generate` does with one.

        Opens sessions for it and closes them. Results are in the order of the prompts.
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

        Opens sessions for it and closes them. Results are in the order of the conversations.
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
        # Where there is room for none, opening one says so.
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
