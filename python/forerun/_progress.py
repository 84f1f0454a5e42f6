"""Progress callbacks: what they raise is raised to who called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._native import ffi, keep_failure, text_of

Progress = Callable[[str, int, int], object]
"""Called with what is done, how much of it, and of how much; ``False`` stops the work.

Loading counts bytes, measuring counts passes. A stop raises `Interrupted`, and what the callback
raises comes out of the call that it was given to.
"""


class _Listener:
    def __init__(self, progress: Progress | None) -> None:
        self.progress = progress
        self.failure: BaseException | None = None


@ffi.callback("fr_progress_fn *", error=False, onerror=keep_failure)  # type: ignore[untyped-decorator]
def _tell(user: Any, what: Any, done: int, total: int) -> bool:
    listener: _Listener = ffi.from_handle(user)
    try:
        return listener.progress is None or listener.progress(text_of(what), done, total) is not False
    except BaseException as error:
        listener.failure = error
        return False


def call_with_progress(function: Callable[[Any, Any], None], progress: Progress | None) -> None:
    """function(callback, user); Ctrl-C is noticed even where nobody listens."""
    listener = _Listener(progress)
    user = ffi.new_handle(listener)
    try:
        function(_tell, user)
    except Exception:
        if listener.failure:
            raise listener.failure from None
        raise


