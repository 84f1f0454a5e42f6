"""The context of a conversation on an engine, and its generations."""

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
    """Options of a session. All are optional keywords."""

    n_ctx: int
    """Size of the context in tokens. Default: the model's own, but at most 16384."""
    kv_type: str
    """Type of the KV cache: "f16", "q8_0" (half the memory), "f16+q8_0" (keys, values). Default:
    that of the engine."""
    drafter: str
    """The drafter: "none", "prompt-lookup", "eagle:PACK.gguf", several joined with "+", or "auto".
    Default: that of the engine."""
    tree: str | int | os.PathLike[str]
    """Candidate tree: "auto", a number of nodes besides the root, or the path of a shape file."""
    accept: str
    """Acceptance rule: "exact" (the bytes of plain decoding), "rejection" (its distribution),
    "typical" or "typical:EPSILON,DELTA" (neither)."""
    adapt: bool
    """False: use trees of the full size in every pass, whatever they cost (for comparisons)."""
    draft_options: Mapping[str, object]
    """Settings of the drafter, as ``--draft-opt KEY=VALUE`` has them."""


def context_of(engine: Engine, n_ctx: int | None) -> int:
    return min(engine.info.n_ctx_train, DEFAULT_CONTEXT) if n_ctx is None else n_ctx


class Session(ClosingInTurn):
    """The context of one conversation, with its drafter and one generation at a time.

    A session of `Engine.session` has passes of its own; one of `Group.session` shares those of the
    group. The prefix that a prompt shares with the context is not evaluated again.

    Calls from several threads wait for one another. While a generation runs, a second one is
    refused with ArgumentError. `cancel` does not wait. Other Python threads run during the calls.
    """

    def __init__(
        self, engine: Engine, group: Group | None = None, **options: Unpack[SessionOptions]
    ) -> None:
        """Raises ArgumentError, FileError, DataError, UnsupportedError or OutOfMemoryError."""
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
        del setting_memory  # needed until here

    @property
    def engine(self) -> Engine:
        return self._engine

    @property
    def group(self) -> Group | None:
        return self._group

    @property
    def result(self) -> Result | None:
        """The result of the last generation; None before its end."""
        return self._result

    # ---- generating

    def stream(self, prompt: Prompt, **options: Unpack[RequestOptions]) -> Stream:
        """Continues a prompt. Returns an iterator of pieces of text, as they are generated.

        A text is used as it is, without the chat template; the beginning-of-text token is added if
        the model adds one. Raises ContextError if the prompt is as long as the context or longer,
        and ArgumentError. The iterator raises DataError if the model's logits are not finite.
        """
        return self._begin(prompt_ids(self._engine.text, prompt, options), options, keeps=True)

    def generate(self, prompt: Prompt, **options: Unpack[RequestOptions]) -> Result:
        """`stream` as one call. In a group, all its sessions continue during the call."""
        return self._whole(prompt_ids(self._engine.text, prompt, options), options)

    def stream_chat(
        self,
        messages: Messages,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        template_kwargs: Mapping[str, Any] | None = None,
        **options: Unpack[RequestOptions],
    ) -> Stream:
        """Answers a conversation. Returns an iterator of pieces of text, as they are generated.

        ``messages`` is the whole conversation in every call, or the text of its only message.
        ``tools`` and ``template_kwargs`` are those of `Text.render`. Errors are those of
        `Text.render` and `stream`. Tool calls and thinking are not removed from the text.
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
        """`stream_chat` as one call. In a group, all its sessions continue during the call."""
        return self._whole(self._chat(messages, tools, template_kwargs, options), options)

    def cancel(self) -> None:
        """Ends the current generation between two passes, also while its prompt is read.

        The result is then the beginning of the full answer, and its finish is "interrupted". May be
        called from any thread, from callbacks and from signal handlers. Without a generation it has
        no effect. Raises ClosedError.
        """
        with self._resource.held() as pointer:
            lib.fr_session_cancel(pointer)

    @property
    def running(self) -> bool:
        """True if the generation has steps left."""
        with self._turn, self._resource.held() as pointer:
            return bool(lib.fr_session_runs(pointer))

    # ---- the context

    @property
    def context(self) -> list[int]:
        """The token ids in the context. The prefix that a prompt shares with them is not read
        again."""
        with self._turn, self._resource.held() as pointer:
            n = ffi.new("int *")
            ids = lib.fr_session_context(pointer, n)
            return list(ffi.unpack(ids, n[0])) if n[0] else []

    def adopt(self, other: Session) -> None:
        """Copies the context of another session of the engine, up to the size of its own context.

        So a prefix that several prompts share is read once. Raises ArgumentError if this session
        generates, or if the two differ in engine or kv_type.
        """
        with ExitStack() as both:
            for turn in sorted({self._turn, other._turn}, key=id):
                both.enter_context(turn)
            mine = both.enter_context(self._resource.held())
            theirs = both.enter_context(other._resource.held())
            call(lib.fr_session_adopt, mine, theirs)

    def forget(self) -> None:
        """Empties the context. Raises ArgumentError if the session generates."""
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
        with opening:  # one thread at a time opens or closes sessions of an engine
            lib.fr_session_close(pointer)

    return close
