"""Ownership: who ends a native object, when, and what hangs on it.

Each wrapper (Device, Memory, ...) owns one Owned record, which knows how to end
the native object. A wrapper that is collected without close() warns and has its
record end the object. A record refers to what it hangs on and never to its
wrapper, so the order of ends is right even when the collector frees a whole
cycle at once: an owner that is still in use is ended after the last of what
hangs on it.

At the end of a with statement that an exception leaves, that exception goes on.
What could not be closed then is told of in a note of it, and is ended with the
last of what hangs on it, or when it is collected.

Finalisers run at any time on any thread, inside other code of this module too,
so their path waits for no lock: it relies on single list and set operations, and
on a thread of its own where a lock is taken. In a forked child nothing here
touches the library.
"""

from __future__ import annotations

import _thread
import contextlib
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, TypeVar

from . import _abi, _native
from .errors import InvalidHandleError, ViewExistsError

V = TypeVar("V")

# Held while it is decided that memory with no view on it goes away, and while a
# view is made; never during a call of the library.
views_lock = threading.RLock()


class Node:
    """Something that Owned records hang on."""

    def __init__(self) -> None:
        self.below: set[Owned] = set()
        # Collected, or left with an exception, before what hangs here was ended.
        self.waiting: list[Owned] = []

    def add(self, owned: Owned) -> None:
        self.below.add(owned)

    def remove(self, owned: Owned) -> None:
        self.below.discard(owned)
        self.retry()

    def is_in_use(self) -> bool:
        """Whether anything hangs here."""
        return bool(self.below)

    def retry(self) -> None:
        while self.waiting and not self.is_in_use():
            try:
                owned = self.waiting.pop()
            except IndexError:
                return
            owned.is_waiting = False
            owned.end_quietly()

    def everything_below(self) -> Iterable[Owned]:
        for owned in list(self.below):
            yield owned
            yield from owned.everything_below()


class LateEnds:
    """Objects that nobody has any more and that could not be ended because a call on what
    they hang on, or a capture, was under way: they are ended when it is over.

    Takes no lock, as finalisers use it.

    Attributes:
        mark: another one after each call.
    """

    def __init__(self) -> None:
        self._waiting: list[Owned] = []
        self.mark = object()

    def add(self, owned: Owned, mark: object) -> None:
        """Keeps an object in mind of which the end was tried under that mark."""
        self._waiting.append(owned)
        if mark is not self.mark:
            self._retry()

    def call_ended(self) -> None:
        """Says that a call has ended, or perhaps a capture, which kept others from ending."""
        self.mark = object()
        self._retry()

    def _retry(self) -> None:
        for _ in range(len(self._waiting)):
            try:
                owned = self._waiting.pop(0)
            except IndexError:
                return
            owned.end_quietly()


class Owned(Node):
    """One native object that Python has to end.

    Args:
        label: what it is, for messages: "Pool on cpu:0".
        end: ends it; takes the flags, gives the status.
        parent: what it hangs on.
        at_end: called once it has ended, whoever ended it.
    """

    # Whether an end that was BUSY may be forced once nobody has the wrapper.
    may_force = True
    # Failures of an end that may come about later.
    not_yet: tuple[int, ...] = (_abi.FERRUM_ERROR_BUSY,)

    def __init__(
        self,
        label: str,
        end: Callable[[int], int],
        parent: Node,
        at_end: Callable[[], None] | None = None,
    ) -> None:
        super().__init__()
        self.label = label
        self.ended = False
        # Set while an end that views would make dangerous is on its way.
        self.doomed = False
        self.views: set[object] = set()
        # Nobody has the wrapper any more.
        self.is_abandoned = False
        # It is to be ended as soon as nothing hangs on it, and stands in a list for that.
        self.is_postponed = False
        self.is_waiting = False
        self._end = end
        self._parent = parent
        self._at_end = at_end
        self._closing = threading.Lock()
        parent.add(self)

    def subject(self) -> Node:
        """What keeps this from ending while something hangs on it."""
        return self

    def close(self, flags: int = 0) -> None:
        """Ends the object; nothing if that was done before."""
        if _native.is_forked():
            # The object is the parent process's, as is the lock, perhaps.
            self.ended = True
            return
        with self._closing:
            if self.ended:
                return
            doomed = self._doom(flags)
            status = self._end(flags)
            if status < 0 and status != _abi.FERRUM_ERROR_CORRUPTED:
                for owned in doomed:
                    owned.doomed = False
                # Before anything else of this thread may fail.
                failure = _native.error_of(status)
                if self.is_postponed:
                    self._wait()
                raise failure
            self.finish(doomed)
            # What is damaged is gone all the same.
            _native.check(status)

    def _doom(self, flags: int) -> list[Owned]:
        doomed: list[Owned] = [self]
        if flags & _abi.FERRUM_FORCE:
            doomed += self.subject().everything_below()
        doom(doomed, self.label)
        return doomed

    def finish(self, doomed: Iterable[Owned] = ()) -> None:
        """Marks this and what went with it as ended."""
        for owned in doomed:
            if owned is not self:
                owned.finish()
        if not self.ended:
            self.ended = True
            self._parent.remove(self)
            if self._at_end is not None:
                self._at_end()

    def at_exit(self) -> None:
        """Ends what could still call into the interpreter when it exits."""

    def abandon(self) -> None:
        """Called when the wrapper was collected: warns and ends the object."""
        if self.ended or _native.is_forked():
            return
        self.is_abandoned = True
        if self.is_waiting:
            # A note has told of it.
            return
        try:
            warnings.warn(f"unclosed ferrum_mem.{self.label}", ResourceWarning, stacklevel=2)
        finally:
            if threading.get_ident() in _native.callback_threads:
                in_background(self.end_quietly)
            else:
                self.end_quietly()

    def postpone(self) -> None:
        """Has the object ended with the last of what hangs on it, if anything does."""
        if not self.ended and self.subject().is_in_use() and not _native.is_forked():
            self.is_postponed = True
            self._wait()

    def _wait(self) -> None:
        subject = self.subject()
        if not self.is_waiting:
            self.is_waiting = True
            subject.waiting.append(self)
        subject.retry()

    def end_quietly(self, may_wait: bool = False) -> None:
        """Ends what has no wrapper any more, or was postponed; there is nobody to tell of
        a failure."""
        if not self._closing.acquire(blocking=may_wait):
            in_background(lambda: self.end_quietly(True))
            return
        try:
            if self.ended:
                return
            status = self._end(0)
            if status not in self.not_yet:
                self.finish()
                return
        finally:
            self._closing.release()
        if self.subject().is_in_use():
            self._wait()
        elif self.is_abandoned and self.may_force:
            in_background(self._force)

    def _force(self) -> None:
        with self._closing:
            if not self.ended:
                self._end(_abi.FERRUM_FORCE)
                self.finish()


def doom(doomed: Iterable[Owned], label: str) -> None:
    """Marks what is about to go away, so that no view is made; refuses for views."""
    with views_lock:
        doomed = list(doomed)
        for owned in doomed:
            for view in list(owned.views):
                if getattr(view, "is_abandoned", bool)():
                    view.end()  # type: ignore[attr-defined]
        seen = next((owned for owned in doomed if owned.views), None)
        if seen is not None:
            raise ViewExistsError(
                _abi.FERRUM_ERROR_BUSY,
                f"{label}: {len(seen.views)} view(s) still look into the {seen.label}",
            )
        for owned in doomed:
            owned.doomed = True


def in_background(action: Callable[[], None]) -> None:
    """Runs what may wait on a thread of its own.

    threading.Thread takes locks when it starts, which a finaliser may not.
    """
    try:
        _thread.start_new_thread(action, ())
    except RuntimeError:
        # The interpreter is going away, and the process's memory with it.
        return


def end_beside(error: BaseException, label: str, end: Callable[[], object]) -> bool:
    """Ends something while an exception is in flight, which is to go on.

    A failure becomes a note of the exception, or a warning where exceptions have no
    notes. Whether it was ended.
    """
    try:
        end()
    except Exception as failure:
        text = f"{label} could not be closed: {type(failure).__name__}: {failure}"
        add_note = getattr(error, "add_note", None)
        if add_note is not None:
            add_note(text)
            return False
        with contextlib.suppress(ResourceWarning):
            warnings.warn(text, ResourceWarning, stacklevel=3)
        return False
    return True


@contextlib.contextmanager
def ending(value: V, label: str, end: Callable[[], object]) -> Iterator[V]:
    """A context that gives a value and ends something."""
    try:
        yield value
    except BaseException as error:
        end_beside(error, label, end)
        raise
    end()


R = TypeVar("R", bound="Resource")


class Resource:
    """A wrapper of a native object.

    A context manager: its end closes the object. When that fails it raises, unless an
    exception leaves the context: that one goes on, with a note of the failure, and the
    object is ended with the last of what hangs on it.

    close() may be called again and again. Safe for use by
    several threads. One that is collected without close() gives a
    ResourceWarning and is closed then. In a forked child close() does nothing.
    """

    _owned: Owned
    _native_handle: Any

    def _own(self, owned: Owned, handle: Any) -> None:
        self._owned = owned
        self._native_handle = handle
        # Not at the exit of the interpreter: whatever is in use stays in use.
        weakref.finalize(self, owned.abandon).atexit = False

    @property
    def _handle(self) -> Any:
        """The handle for a call; refuses after close()."""
        if self._owned.ended and not _native.is_forked():
            raise InvalidHandleError(
                _abi.FERRUM_ERROR_INVALID_HANDLE, f"the {self._owned.label} has been closed"
            )
        return self._native_handle

    @property
    def closed(self) -> bool:
        """Whether it was closed, or went when its owner was closed by force."""
        return self._owned.ended

    def close(self) -> None:
        """Ends the native object."""
        self._owned.close()

    def __enter__(self: R) -> R:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        elif not end_beside(error, self._owned.label, self.close):
            self._postpone()

    def _postpone(self) -> None:
        """Called when the object could not be closed and nobody is asked again."""
        self._owned.postpone()

    def __repr__(self) -> str:
        state = " (closed)" if self._owned.ended else ""
        return f"<ferrum_mem.{self._owned.label}{state}>"
