"""Exceptions, each with the sentence of the library: what is wrong, where, and what was
expected."""

from __future__ import annotations


class Error(Exception):
    """Base of all exceptions of this package; ``str(error)`` is one sentence."""


class ArgumentError(Error, ValueError):
    """An argument is wrong: an option, a number, a name, a token id."""


class OutOfMemoryError(Error, MemoryError):
    """Memory cannot be allocated."""


class FileError(Error, OSError):
    """A file cannot be opened, read or written, or no model has the name."""


class DataError(Error, ValueError):
    """The content of a file is damaged, or the model's logits are not finite."""


class UnsupportedError(Error):
    """Well-formed, but this build, this CPU or this model does not support it."""


class ContextError(Error, ValueError):
    """The text does not fit the context."""


class Interrupted(Error):
    """A progress callback returned False."""


class ClosedError(Error, ValueError):
    """An engine, session, group or text was used after it was closed."""
