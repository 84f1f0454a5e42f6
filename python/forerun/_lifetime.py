"""Use and release of C objects: by one thread at a time, and released after their dependents."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .errors import ArgumentError, ClosedError

if TYPE_CHECKING:
    from typing_extensions import Self


class Turn:
    """A lock around C calls that only one thread at a time may make, and no callback.

    Threads wait for one another. If a callback, or the garbage collector during a callback, ends or
    closes something, this is done when the call is over.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._inside = False
        self._later: deque[Callable[[], None]] = deque()

    def __enter__(self) -> None:
        self._lock.acquire()
        if self._inside:
            self._lock.release()
            raise ArgumentError("session: expected no call from within its or its group's callback")
        self._inside = True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._inside = False
        try:
            self._do_later()
        finally:
            self._lock.release()
        self._settle()

    def _do_later(self) -> None:
        while self._later:
            self._inside = True
            try:
                self._later.popleft()()
            finally:
                self._inside = False

    def _settle(self) -> None:
        """Runs the deferred actions, unless another thread has the turn and will run them."""
        while self._later and self._lock.acquire(blocking=False):
            try:
                if self._inside:  # this thread, in a callback
                    return
                self._do_later()
            finally:
                self._lock.release()

    def when_free(self, action: Callable[[], None]) -> None:
        """Runs the action now, or when the current call is over. It does not wait, so the garbage
        collector may call it with any lock held."""
        self._later.append(action)
        self._settle()

    def wait(self) -> None:
        """Waits until no call of another thread runs."""
        with self._lock:
            pass


class Resource:
    """A C object. It is freed once it is closed and has no holders, and so before its `parents`.

    This does not depend on the order in which the garbage collector finds Python's objects.
    """

    def __init__(
        self,
        what: str,
        pointer: Any,
        free: Callable[[Any], None],
        parents: tuple[Resource, ...] = (),
        when: Callable[[Callable[[], None]], None] | None = None,
    ) -> None:
        """The caller already holds the parents; `when` runs the function that frees."""
        self._what = what
        self._pointer = pointer
        self._free = free
        self._parents = parents
        self._when = when
        self._guard = threading.RLock()
        self._holders = 0
        self._closed = False

    @property
    def closed(self) -> bool:
        return self._closed

    def hold(self) -> Any:
        """Returns the pointer, valid until `let_go`. Raises ClosedError."""
        with self._guard:
            if self._closed:
                raise ClosedError(f"{self._what}: is closed")
            self._holders += 1
            return self._pointer

    def let_go(self) -> None:
        with self._guard:
            self._holders -= 1
            last = self._closed and not self._holders
        if last:
            self._release()

    @contextmanager
    def held(self) -> Iterator[Any]:
        """The pointer, for a ``with`` block. Raises ClosedError."""
        pointer = self.hold()
        try:
            yield pointer
        finally:
            self.let_go()

    def close(self) -> None:
        """From now on `hold` raises ClosedError. May be called more than once."""
        with self._guard:
            last = not self._closed and not self._holders
            self._closed = True
        if last:
            self._release()

    def _release(self) -> None:
        def free() -> None:
            self._free(self._pointer)
            for parent in self._parents:
                parent.let_go()

        if self._when:
            self._when(free)
        else:
            free()


class Closing:
    """An object that a ``with`` block closes at its end."""

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def __copy__(self) -> Self:
        # Two objects would own one pointer, and the first one freed would close it.
        raise TypeError(f"{type(self).__name__}: cannot be copied")


class ClosingInTurn(Closing):
    """Closes when no call runs, and when the last reference is gone."""

    _resource: Resource
    _turn: Turn

    def close(self) -> None:
        """Ends its generations and frees it. May be called more than once."""
        self._close_when_free()
        self._turn.wait()

    def _close_when_free(self) -> None:
        raise NotImplementedError

    def __del__(self) -> None:
        if hasattr(self, "_resource"):
            self._close_when_free()
