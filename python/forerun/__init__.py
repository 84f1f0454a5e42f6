"""Exact speculative decoding of GGUF models on CPUs: several tokens per pass, the same bytes.

    import forerun

    with forerun.Engine("models/smollm2-135m.gguf") as engine, engine.session() as session:
        for piece in session.stream_chat("Name three rivers."):
            print(piece, end="", flush=True)

An `Engine` is a model. A `Session` is the context of one conversation on it. A `Group` makes
sessions share passes. Errors are subclasses of `Error` with one sentence each. All C calls release
the GIL.
"""

from ._header import VERSION as __version__
from ._native import lib as _lib
from ._native import text_of as _text_of
from ._progress import Progress
from .engine import Engine, EngineInfo, profile_folder
from .errors import (
    ArgumentError,
    ClosedError,
    ContextError,
    DataError,
    Error,
    FileError,
    Interrupted,
    OutOfMemoryError,
    UnsupportedError,
)
from .generation import Prompt, RequestOptions, Stream
from .group import Group, GroupPass
from .results import Finish, Logprobs, Piece, Result, Stats
from .sampling import Sampling
from .session import Session, SessionOptions
from .text import Encoded, Message, Messages, Text, TextInfo, chat_templates, find_model


def library_version() -> str:
    """The version of the C library in use; ``__version__`` is the version of the package."""
    return _text_of(_lib.fr_version())


__all__ = [
    "ArgumentError",
    "ClosedError",
    "ContextError",
    "DataError",
    "Encoded",
    "Engine",
    "EngineInfo",
    "Error",
    "FileError",
    "Finish",
    "Group",
    "GroupPass",
    "Interrupted",
    "Logprobs",
    "Message",
    "Messages",
    "OutOfMemoryError",
    "Piece",
    "Progress",
    "Prompt",
    "RequestOptions",
    "Result",
    "Sampling",
    "Session",
    "SessionOptions",
    "Stats",
    "Stream",
    "Text",
    "TextInfo",
    "UnsupportedError",
    "__version__",
    "chat_templates",
    "find_model",
    "library_version",
    "profile_folder",
]
