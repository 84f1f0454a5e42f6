"""Exceptions: each carries the library's own sentence of what is wrong, where, and what was expected."""

from __future__ import annotations


class Error(Exception):
    """Base of all exceptions of this package; ``str(error)`` is one sentence."""


class ArgumentError(Error, ValueError):
    """The request is wrong: an option, a number, a name, a token id."""


class OutOfMemoryError(Error, MemoryError):
    """Memory is missing."""


class FileError(Error, OSError):
    """A file cannot be opened, read or written, or no model has the name."""


class DataError(Error, ValueError):
    """A file's content is broken, or the model's logits are not finite."""


class UnsupportedError(Error):
    """Well-formed, but not something that this build, this CPU or this model can do."""


class ContextError(Error, ValueError):
    """It does not fit the context."""


class Interrupted(Error):
    """A progress callback asked to stop."""


class ClosedError(Error, ValueError):
    """An engine, session, group or text was used after it was closed."""
