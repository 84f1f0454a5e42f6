"""A model, open."""

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
    """What an engine is."""

    name: str
    architecture: str
    isa: str
    """The instruction set of its kernels."""
    quantization: str
    """As the file calls itself ("Q4_K_M"), or the type of most of its bytes."""
    threads: int
    n_layer: int
    n_vocab: int
    n_ctx_train: int
    """Tokens of the model's own context."""
    n_embd: int
    parameters: int
    file_bytes: int
    """Of all files of a split model."""
    weights_bytes: int
    """Read by one pass with logits on every row."""
    macs_per_row: int
    """Multiplications with addition."""
    load_seconds: float


def profile_folder() -> str | None:
    """Where the command line keeps profiles: forerun/ below $XDG_CACHE_HOME or ~/.cache."""
    base, home = os.environ.get("XDG_CACHE_HOME", ""), os.environ.get("HOME", "")
    if base.startswith("/"):  # the specification has relative ones ignored
        return os.path.join(base, "forerun")
    return os.path.join(home, ".cache", "forerun") if home else None


class Engine(Closing):
    """A model: weights, tokenizer and chat template, which many sessions and threads read.

        with forerun.Engine("models/smollm2-135m.gguf") as engine, engine.session() as session:
            print(session.chat("Name three rivers.").text)

    Who drafts by default is what ``forerun run`` has by default, ``"auto"``: the drafter that is
    predicted to be fastest here. That is what ``forerun tune`` found on this machine, or a pack for
    this model that lies in packs/ beside it, in ../packs or ../share/forerun/packs of the Python
    program's folder, where ``make install`` puts them, or in
    ~/.local/share/forerun/packs ($XDG_DATA_HOME); where nothing is known it is
    prompt lookup, which costs nothing. Whoever drafts, the text is the same, byte for byte.
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

        model: a file, a folder with one in it, or a name (see `find_model`).
        threads: 0: the physical cores that this process may use.
        isa: "auto", "scalar", "avx2", "avx-vnni", "avx512", "amx"; every one gives the same bytes.
        low_memory: leave the weights in the mapped file: little memory of its own, slower, the same
            bytes.
        drafter: who drafts in its sessions, where these do not say: "auto", "none", "prompt-lookup",
            "eagle" (a pack that is found), "eagle:PACK.gguf", several joined with "+".
        kv_type: how its sessions keep keys and values: "f16", "q8_0" (half the memory), "f16+q8_0".
        chat_template: Jinja, in the place of the model's; short ones are in `chat_templates`.
        profile: what passes cost on this machine, which is how trees are sized. It is read or, once
            for each model and machine, measured (seconds) before the first session that drafts or the
            first group; generations of other threads wait for that. True: kept
            where the command line keeps it; a path: kept in that folder; False: not taken, so that
            trees are sized by a guess that is corrected as passes are seen.
        progress: told of loading (bytes) and measuring (passes).

        FileError, DataError, UnsupportedError, ArgumentError, OutOfMemoryError; Interrupted, or what
        ``progress`` raised.
        """
        self.drafter = drafter
        """Who drafts in its sessions, where these do not say."""
        self.kv_type = kv_type
        """How its sessions keep keys and values, where these do not say."""
        self.profile_note: str | None = None
        """What was wrong with an old profile, or why a new one could not be kept."""
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
        """What it is: sizes, threads, instruction set."""
        with self._resource.held() as pointer:
            info = lib.fr_engine_describe(pointer)[0]
            members = {name: getattr(info, name) for name in EngineInfo.__dataclass_fields__}
            for name in ("name", "architecture", "isa", "quantization"):
                members[name] = text_of(members[name])
            return EngineInfo(**members)

    @property
    def text(self) -> Text:
        """Its tokenizer and chat template; lives as long as the engine."""
        return self._text

    def take_profile(
        self, folder: str | os.PathLike[str] | None, progress: Progress | None = None
    ) -> str | None:
        """Takes the profile now: from a folder, or measured, and kept there (None: kept nowhere).

        Takes seconds where it is measured. Gives what was wrong with an old profile, or why the new
        one could not be kept. An engine has one profile: later calls do nothing. Interrupted,
        ArgumentError, OutOfMemoryError.
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

        ArgumentError, FileError, DataError, UnsupportedError: what is wrong with an option or with
        the drafter's file; OutOfMemoryError.
        """
        return Session(self, **options)

    def group(self, *, n_ctx: int | None = None, prompt_share: float = 0) -> Group:
        """Opens a group, whose sessions share passes. See `Group`."""
        return Group(self, n_ctx=n_ctx, prompt_share=prompt_share)

    def close(self) -> None:
        """Closes its sessions and groups and frees it; any number of times.

        A generation at work in another thread is cancelled and waited for.
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
