"""Progress callbacks. Their exceptions are raised by the call that they were passed to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._native import ffi, keep_failure, text_of

Progress = Callable[[str, int, int], object]
"""Called with the name of the work, the units done and their total; ``False`` stops the work.

A unit is a byte while a model loads and a pass while passes are measured. A stop raises
`Interrupted`. An exception of the callback is raised by the call that it was passed to.
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
    """Calls function(callback, user). Ctrl-C is noticed even without a progress callback."""
    listener = _Listener(progress)
    user = ffi.new_handle(listener)
    try:
        function(_tell, user)
    except Exception:
        if listener.failure:
            raise listener.failure from None
        raise


