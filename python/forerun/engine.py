"""An open model."""

from __future__ import annotations

import os
import threading
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._lifetime import Closing, Resource
from ._native import c_path, c_struct, c_text, call, ffi, lib, text_of
from ._progress import Progress, call_with_progress
from .group import Group
from .session import Session, SessionOptions
from .text import Text, find_model

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True)
class EngineInfo:
    """Facts about an engine."""

    name: str
    architecture: str
    isa: str
    """The instruction set of its kernels."""
    quantization: str
    """From the file ("Q4_K_M"), else the type of most of its bytes."""
    threads: int
    n_layer: int
    n_vocab: int
    n_ctx_train: int
    """Size of the model's own context in tokens."""
    n_embd: int
    parameters: int
    file_bytes: int
    """Total of all files of a split model."""
    weights_bytes: int
    """Bytes that a pass of one row with logits reads."""
    macs_per_row: int
    """Multiply-accumulate operations."""
    load_seconds: float
    memory_bytes: int
    """Of all weights as they lie in memory."""


def profile_folder() -> str | None:
    """The command line's folder of profiles: forerun/ below $XDG_CACHE_HOME or ~/.cache."""
    base, home = os.environ.get("XDG_CACHE_HOME", ""), os.environ.get("HOME", "")
    if base.startswith("/"):  # the specification says to ignore relative paths
        return os.path.join(base, "forerun")
    return os.path.join(home, ".cache", "forerun") if home else None


class Engine(Closing):
    """A model: weights, tokenizer and chat template, shared by many sessions and threads.

        with forerun.Engine("models/smollm2-135m.gguf") as engine, engine.session() as session:
            print(session.chat("Name three rivers.").text)

    The default drafter is that of ``forerun run``, ``"auto"``: the drafter with the highest
    predicted speed on this machine. It is the one that ``forerun tune`` found on this machine, or a
    pack for this model, or else prompt lookup, which costs nothing. Packs are searched for in
    packs/ beside the model, in ../packs and ../share/forerun/packs of the Python program's folder,
    where ``make install`` puts them, and in ~/.local/share/forerun/packs ($XDG_DATA_HOME). The text
    is the same with every drafter, byte for byte.
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        threads: int = 0,
        isa: str = "auto",
        low_memory: bool = False,
        drafter: str = "auto",
        kv_type: str = "f16",
        chat_template: str | None = None,
        profile: bool | str | os.PathLike[str] = True,
        progress: Progress | None = None,
    ) -> None:
        """Loads a model.

        model: a file, a folder that holds one, or a name (see `find_model`).
        threads: number of compute threads; 0: the physical cores that this process may use.
        isa: "auto", "scalar", "avx2", "avx-vnni", "avx512", "amx"; all give the same bytes.
        low_memory: leave the weights in the mapped file: less memory, slower, the same bytes.
        drafter: default drafter of its sessions: "auto", "none", "prompt-lookup", "eagle" (a pack
            that is found), "eagle:PACK.gguf", several joined with "+".
        kv_type: default type of the KV cache of its sessions: "f16", "q8_0" (half the memory),
            "f16+q8_0" (keys, values).
        chat_template: Jinja source to use instead of the model's template; `chat_templates` has
            short ones.
        profile: the cost of passes on this machine, by which trees are sized. It is read, or
            measured once for each model and machine, which takes seconds. This happens before the
            first session that drafts, or the first group; generations of other threads wait. True:
            stored in the folder of the command line; a path: stored in that folder; False: not
            used, so that trees are sized by an assumed cost, which is corrected as passes run.
        progress: called during loading (bytes) and measuring (passes).

        Raises FileError, DataError, UnsupportedError, ArgumentError or OutOfMemoryError;
        Interrupted, or the exception of ``progress``.
        """
        self.drafter = drafter
        """The default drafter of its sessions."""
        self.kv_type = kv_type
        """The default type of the KV cache of its sessions."""
        self.profile_note: str | None = None
        """What was wrong with an old profile, or why a new one could not be written; else None."""
        self._opening = threading.RLock()
        self._users: weakref.WeakSet[Session | Group] = weakref.WeakSet()
        self._profile, self._progress = profile, progress
        path = c_path(find_model(model))
        kernels = c_text(isa)
        out = ffi.new("fr_engine **")

        def load(callback: Any, user: Any) -> None:
            options = c_struct(
                "fr_engine_options",
                isa=kernels,
                threads=threads,
                low_memory=low_memory,
                progress=callback,
                progress_user=user,
            )
            call(lib.fr_engine_open, out, path, options)

        call_with_progress(load, progress)
        self._resource = Resource("engine", out[0], lib.fr_engine_close)
        self._text = Text._of(lib.fr_engine_text(out[0]), self._resource, closes_owner=False)
        self._with_template: Text | None = None
        if chat_template is not None:
            self._with_template = made = self._text.with_template(chat_template)
            self._text = Text._of(made._pointer, made._owner, closes_owner=False)

    @property
    def info(self) -> EngineInfo:
        """Sizes, threads, instruction set and other facts."""
        with self._resource.held() as pointer:
            info = lib.fr_engine_describe(pointer)[0]
            members = {name: getattr(info, name) for name in EngineInfo.__dataclass_fields__}
            for name in ("name", "architecture", "isa", "quantization"):
                members[name] = text_of(members[name])
            return EngineInfo(**members)

    @property
    def text(self) -> Text:
        """Its tokenizer and chat template, valid until the engine is closed."""
        return self._text

    def take_profile(
        self, folder: str | os.PathLike[str] | None, progress: Progress | None = None
    ) -> str | None:
        """Reads the profile from a folder, or measures it and writes it there (None: not written).

        Measuring takes seconds. Returns what was wrong with an old profile, or why the new one
        could not be written. An engine has one profile, which later calls do not measure again;
        with another folder they also write it there. Raises Interrupted, ArgumentError or
        OutOfMemoryError.
        """
        note = ffi.new("fr_error *")
        where = c_path(folder) if folder is not None else ffi.NULL
        with self._opening, self._resource.held() as pointer:
            call_with_progress(
                lambda callback, user: call(
                    lib.fr_engine_profile, pointer, where, callback, user, note
                ),
                progress,
            )
            self._profile = False
        self.profile_note = text_of(note.text) if note.code != lib.FR_OK else None
        return self.profile_note

    def session(self, **options: Unpack[SessionOptions]) -> Session:
        """Opens a session that has passes of its own.

        Raises ArgumentError, FileError, DataError or UnsupportedError if an option or the file of
        the drafter is wrong, or OutOfMemoryError.
        """
        return Session(self, **options)

    def group(self, *, n_ctx: int | None = None, prompt_share: float = 0) -> Group:
        """Opens a group of sessions that share passes. See `Group`."""
        return Group(self, n_ctx=n_ctx, prompt_share=prompt_share)

    def close(self) -> None:
        """Closes its sessions and groups and frees it. May be called more than once.

        A generation that runs in another thread is cancelled first; the call waits for its end.
        """
        for user in list(self._users):
            user.close()
        if self._with_template:
            self._with_template.close()
        self._resource.close()

    def __del__(self) -> None:
        if hasattr(self, "_resource"):
            self._resource.close()

    def _take_profile_once(self) -> None:
        with self._opening:
            if self._profile is False:
                return
            folder = profile_folder() if self._profile is True else self._profile
            self.take_profile(folder, self._progress)
