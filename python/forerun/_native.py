"""The shared library, and its errors as exceptions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import errors
from ._declared import ffi as _declared_ffi

ffi: Any = _declared_ffi


def _open_library() -> Any:
    """The library of the wheel; without one, that of the system."""
    own = Path(__file__).with_name("libforerun.so.0")
    return ffi.dlopen(str(own) if own.exists() else own.name)


lib: Any = _open_library()

_EXCEPTIONS: dict[int, type[errors.Error]] = {
    lib.FR_EARG: errors.ArgumentError,
    lib.FR_ENOMEM: errors.OutOfMemoryError,
    lib.FR_EIO: errors.FileError,
    lib.FR_EDATA: errors.DataError,
    lib.FR_EUNSUP: errors.UnsupportedError,
    lib.FR_ECONTEXT: errors.ContextError,
    lib.FR_EINTR: errors.Interrupted,
}


def text_of(chars: Any) -> str:
    """A C string; bytes that are not UTF-8 become U+FFFD."""
    return str(ffi.string(chars).decode("utf-8", "replace"))


def sized_text(chars: Any, n: int) -> str:
    """`n` bytes of text; bytes that are not UTF-8 become U+FFFD."""
    return bytes(ffi.buffer(chars, n)).decode("utf-8", "replace") if n else ""


def exception(error: Any) -> errors.Error:
    """The exception for an fr_error."""
    return _EXCEPTIONS.get(error.code, errors.Error)(text_of(error.text))


def call(function: Any, *arguments: Any) -> None:
    """Calls a function that returns fr_status and takes fr_error * last; raises its error."""
    error = ffi.new("fr_error *")
    if function(*arguments, error) != lib.FR_OK:
        raise exception(error)


def keep_failure(kind: Any, error: BaseException, trace: Any) -> None:
    """Stores an exception that was raised outside of the `try` of a callback, such as Ctrl-C, in
    its `user`."""
    if trace and "user" in trace.tb_frame.f_locals:
        ffi.from_handle(trace.tb_frame.f_locals["user"]).failure = error


def c_path(path: str | os.PathLike[str]) -> Any:
    name = os.fsencode(path)
    if b"\0" in name:
        raise errors.ArgumentError(f"{path!r}: expected a path without NUL")
    return ffi.new("char[]", name)


def c_bytes(text: str) -> bytes:
    """Text as UTF-8. Raises ArgumentError for surrogates."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise errors.ArgumentError(f"{text[:40]!r}: expected text that UTF-8 can hold: {error.reason}") from None


def c_text(text: str | None) -> Any:
    """A C string, NULL for None."""
    if text is None:
        return ffi.NULL
    if "\0" in text:
        raise errors.ArgumentError(f"{text!r}: expected text without NUL")
    return ffi.new("char[]", c_bytes(text))


def c_strings(texts: Sequence[str]) -> tuple[Any, list[Any]]:
    """A NULL-terminated list (NULL if it is empty), and the memory that it points to."""
    if not texts:
        return ffi.NULL, []
    kept = [c_text(text) for text in texts]
    return ffi.new("char *[]", [*kept, ffi.NULL]), kept


def c_id(what: str, token: int) -> int:
    """A token id that fits int32_t; whether the vocabulary has it is not checked."""
    if not -(2**31) <= token < 2**31:
        raise errors.ArgumentError(f"{what}: expected a token id of 32 bits, found {token}")
    return token


def c_ids(what: str, ids: Sequence[int]) -> Any:
    """An array of token ids."""
    try:
        return ffi.new("int32_t[]", list(ids))
    except OverflowError:
        raise errors.ArgumentError(f"{what}: expected token ids of 32 bits") from None


def c_struct(name: str, /, **members: Any) -> Any:
    """A struct that the caller fills: `size` is set, and all else is 0 except `members`."""
    try:
        struct = ffi.new(f"{name} *", members)
    except OverflowError as error:
        raise errors.ArgumentError(f"{name}: {error}") from None
    struct.size = ffi.sizeof(name)
    return struct
