"""A conversation's context on an engine, and what it generates."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TypedDict

from ._lifetime import ClosingInTurn, Resource, Turn
from ._native import c_path, c_strings, c_struct, c_text, call, ffi, lib
from .errors import ArgumentError, ClosedError
from .generation import Prompt, RequestOptions, Stream, prompt_ids
from .results import Result
from .text import Messages

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .engine import Engine
    from .group import Group

DEFAULT_CONTEXT = 16384


class SessionOptions(TypedDict, total=False):
    """How a session drafts and what it holds. All are keywords, and may be left out."""

    n_ctx: int
    """Tokens of its context; the model's own, but at most 16384, where it is left out."""
    kv_type: str
    """Of keys and values: "f16", "q8_0" (half the memory), "f16+q8_0" (keys, values); the engine's
    where it is left out."""
    drafter: str
    """Who drafts: "none", "prompt-lookup", "eagle:PACK.gguf", several joined with "+", or "auto";
    the engine's where it is left out."""
    tree: str | int | os.PathLike[str]
    """"auto", a number of nodes, or the path of a shape."""
    accept: str
    """When a drafted token counts: "exact" (the bytes of plain decoding), "rejection" (its
    distribution), "typical" or "typical:EPSILON,DELTA" (neither)."""
    adapt: bool
    """False: never shrink the tree or fall back to plain decoding (for comparisons)."""
    draft_options: Mapping[str, object]
    """Settings of the drafter's own, as ``--draft-opt KEY=VALUE``."""


def context_of(engine: Engine, n_ctx: int | None) -> int:
    return min(engine.info.n_ctx_train, DEFAULT_CONTEXT) if n_ctx is None else n_ctx


class Session(ClosingInTurn):
    """One conversation's context: what it has read, its drafter, and one generation at a time.

    Alone (`Engine.session`) it has passes of its own; in a group (`Group.session`) it shares them.
    What a prompt and the one before begin with alike is not read again.

    Calls from several threads wait for one another, and a generation that is at work refuses a
    second one (ArgumentError); `cancel` waits for nobody. Python's other threads run meanwhile.
    """

    def __init__(
        self, engine: Engine, group: Group | None = None, **options: Unpack[SessionOptions]
    ) -> None:
        """ArgumentError, FileError, DataError, UnsupportedError, OutOfMemoryError."""
        unknown = set(options) - SessionOptions.__optional_keys__
        if unknown:
            raise TypeError(f"unexpected options: {', '.join(sorted(unknown))}")
        self._engine, self._group = engine, group
        self._turn = group._turn if group else Turn()
        self._result: Result | None = None
        self._stream: weakref.ref[Stream] | None = None
        self._requests: set[object] = set()
        drafter = options.get("drafter", engine.drafter)
        if drafter != "none":
            engine._take_profile_once()
        settings = [f"{key}={value}" for key, value in options.get("draft_options", {}).items()]
        draft_opts, setting_memory = c_strings(settings)
        tree = options.get("tree", "auto")
        names = [
            c_text(options.get("kv_type", engine.kv_type)),
            c_text(drafter),
            c_text(str(tree)) if isinstance(tree, int) else c_path(tree),
            c_text(options.get("accept", "exact")),
        ]
        with ExitStack() as parents:
            parents.enter_context(self._turn)
            engine_pointer = engine._resource.hold()
            parents.callback(engine._resource.let_go)
            group_pointer = ffi.NULL
            if group:
                group_pointer = group._resource.hold()
                parents.callback(group._resource.let_go)
            in_c = c_struct(
                "fr_session_options",
                n_ctx=context_of(engine, options.get("n_ctx", group.n_ctx if group else None)),
                kv_type=names[0],
                drafter=names[1],
                tree=names[2],
                accept=names[3],
                no_adapt=not options.get("adapt", True),
                draft_opts=draft_opts,
                group=group_pointer,
            )
            out = ffi.new("fr_session **")
            with engine._opening:
                call(lib.fr_session_open, out, engine_pointer, in_c)
            above = (group._resource, engine._resource) if group else (engine._resource,)
            for parent in above:
                parent.hold()
            self._resource = Resource(
                "session", out[0], _closer(engine._opening), above, self._turn.when_free
            )
        engine._users.add(self)
        if group:
            group._sessions.add(self)
        del setting_memory  # it had to be there till now

    @property
    def engine(self) -> Engine:
        return self._engine

    @property
    def group(self) -> Group | None:
        return self._group

    @property
    def result(self) -> Result | None:
        """What the last generation gave; None before its end."""
        return self._result

    # ---- generating

    def stream(self, prompt: Prompt, **options: Unpack[RequestOptions]) -> Stream:
        """Goes on with a prompt: an iterator of pieces of text, as they come.

        A text is taken as it is, with the token in front that the model wants there, and without
        the chat template. ContextError: it is as long as the context or longer; ArgumentError;
        DataError, from the iterator: the model's logits are not finite.
        """
        return self._begin(prompt_ids(self._engine.text, prompt, options), options, keeps=True)

    def generate(self, prompt: Prompt, **options: Unpack[RequestOptions]) -> Result:
        """The same, whole. In a group all its sessions go on meanwhile."""
        return self._whole(prompt_ids(self._engine.text, prompt, options), options)

    def stream_chat(
        self,
        messages: Messages,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        template_kwargs: Mapping[str, Any] | None = None,
        **options: Unpack[RequestOptions],
    ) -> Stream:
        """Answers a conversation: an iterator of pieces of text, as they come.

        ``messages`` is all of the conversation, each time, or the text of its only message; tools
        and template_kwargs are those of `Text.render`. Errors are those of `Text.render` and
        `stream`. Calls of tools and thinking are not taken out of the text.
        """
        return self._begin(self._chat(messages, tools, template_kwargs, options), options, True)

    def chat(
        self,
        messages: Messages,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        template_kwargs: Mapping[str, Any] | None = None,
        **options: Unpack[RequestOptions],
    ) -> Result:
        """The same, whole. In a group all its sessions go on meanwhile."""
        return self._whole(self._chat(messages, tools, template_kwargs, options), options)

    def cancel(self) -> None:
        """Ends the generation at work between two passes, also while its prompt is read.

        What was generated is a part of the whole answer, and its finish is "interrupted". From any
        thread, from callbacks and from signal handlers; nothing happens where none is at work.
        ClosedError.
        """
        with self._resource.held() as pointer:
            lib.fr_session_cancel(pointer)

    @property
    def running(self) -> bool:
        """Whether its generation has steps left."""
        with self._turn, self._resource.held() as pointer:
            return bool(lib.fr_session_runs(pointer))

    # ---- what it has read

    @property
    def context(self) -> list[int]:
        """The token ids that it has read. A prompt that begins so is not read again so far."""
        with self._turn, self._resource.held() as pointer:
            n = ffi.new("int *")
            ids = lib.fr_session_context(pointer, n)
            return list(ffi.unpack(ids, n[0])) if n[0] else []

    def adopt(self, other: Session) -> None:
        """Takes over what another session of the engine has read, as far as there is room.

        So what several prompts begin with is read once. ArgumentError: this one generates, or the
        two differ in engine or kv_type.
        """
        with ExitStack() as both:
            for turn in sorted({self._turn, other._turn}, key=id):
                both.enter_context(turn)
            mine = both.enter_context(self._resource.held())
            theirs = both.enter_context(other._resource.held())
            call(lib.fr_session_adopt, mine, theirs)

    def forget(self) -> None:
        """Reads the next prompt from its beginning. ArgumentError: it generates."""
        with self._turn, self._resource.held() as pointer:
            call(lib.fr_session_forget, pointer)

    # ---- its end

    def _close_when_free(self) -> None:
        if self._resource.closed:
            return
        stream = self._stream and self._stream()
        if stream:
            stream._end_when_free()
        self._resource.close()
        if self._group:
            self._group._sessions.discard(self)

    # ---- private

    def _chat(
        self,
        messages: Messages,
        tools: Sequence[Mapping[str, Any]] | None,
        template_kwargs: Mapping[str, Any] | None,
        options: RequestOptions,
    ) -> Sequence[int]:
        return self._engine.text.render(
            messages,
            tools=tools,
            template_kwargs=template_kwargs,
            control=options.get("control", False),
        ).ids

    def _begin(self, ids: Sequence[int], options: RequestOptions, keeps: bool) -> Stream:
        return Stream(self, ids, options, keeps)

    def _whole(self, ids: Sequence[int], options: RequestOptions) -> Result:
        with self._begin(ids, options, keeps=False) as stream:
            return stream.result()


def _closer(opening: threading.RLock) -> Any:
    def close(pointer: Any) -> None:
        with opening:  # sessions of an engine are opened and closed by one thread at a time
            lib.fr_session_close(pointer)

    return close
