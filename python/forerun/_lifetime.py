"""When C objects are used and freed: by one thread at a time, and after all that stand on them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from .errors import ArgumentError, ClosedError


class Turn:
    """A lock around C calls that one thread at a time may make, and none from within a callback.

    Threads wait for one another. What a callback, or the garbage collector while a callback runs,
    wants to end or close is done when the call is over.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._inside = False
        self._later: list[Callable[[], None]] = []

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
            while self._later:
                self._run(self._later.pop(0))
        finally:
            self._lock.release()

    def _run(self, action: Callable[[], None]) -> None:
        self._inside = True
        try:
            action()
        finally:
            self._inside = False

    def when_free(self, action: Callable[[], None]) -> None:
        """Does it as soon as no call is at work."""
        with self._lock:
            if self._inside:
                self._later.append(action)
            else:
                with self:
                    action()


class Resource:
    """A C object. It is freed when it is closed and nobody holds it any more, so before `parents`.

    That does not depend on the order in which the garbage collector finds Python's objects.
    """

    def __init__(
        self,
        what: str,
        pointer: Any,
        free: Callable[[Any], None],
        parents: tuple[Resource, ...] = (),
        when: Callable[[Callable[[], None]], None] | None = None,
    ) -> None:
        """The parents are held already, by the caller; `when` runs what frees."""
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
        """The pointer, until `let_go`. ClosedError."""
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
        """The pointer, for a block. ClosedError."""
        pointer = self.hold()
        try:
            yield pointer
        finally:
            self.let_go()

    def close(self) -> None:
        """Nobody can hold it from now on; any number of times."""
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
