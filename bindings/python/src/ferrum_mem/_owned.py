"""Ownership: who destroys a native object, when, and what depends on it.

Each wrapper (Device, Memory, ...) owns one Owned record, which can destroy the native
object. If a wrapper is collected without close(), the record issues a warning and destroys
the object. A record refers to its parent and never to its wrapper. So the order of
destruction is right even when the collector frees a whole cycle at once: a parent that is
still in use is destroyed after the last of its dependents.

If an exception leaves a with statement, that exception propagates. A failed close() adds a
note to the exception. The object is then destroyed with the last of its dependents, or when
its wrapper is collected.

Finalizers run at any time and on any thread, also inside other code of this module. Their
path never waits for a lock. It relies on single list and set operations, and starts a
thread of its own where a lock is needed. In a forked child nothing here calls the library.
"""

from __future__ import annotations

import _thread
import contextlib
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, NoReturn, SupportsIndex, TypeVar

from . import _abi, _native
from .errors import InvalidHandleError, ViewExistsError

V = TypeVar("V")

# Held while a record is marked as ending after a check for views, and while a view is
# created. Never held during a call of the library.
views_lock = threading.RLock()


class Node:
    """A parent of Owned records."""

    # A forced end of all that depends on it is running, or has succeeded. Guarded by views_lock.
    ends_dependents = False

    def __init__(self) -> None:
        self.below: set[Owned] = set()
        # Dependents that were collected, or left with an exception, while they were in use.
        self.waiting: list[Owned] = []

    def is_lost(self) -> bool:
        """Whether the memory of its dependents has ended by force, or is being ended. Another
        thread may make a dependent meanwhile. The caller holds views_lock.
        """
        return self.ends_dependents

    def add(self, owned: Owned) -> None:
        self.below.add(owned)

    def remove(self, owned: Owned) -> None:
        self.below.discard(owned)
        self.retry()

    def is_in_use(self) -> bool:
        """Whether it has dependents."""
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
    """Objects without a wrapper that could not be destroyed because a call or a capture was
    running. They are destroyed when it has ended.

    It takes no lock, because finalizers use it.

    Attributes:
        mark: a new object after each call.
    """

    def __init__(self) -> None:
        self._waiting: list[Owned] = []
        self.mark = object()

    def add(self, owned: Owned, mark: object) -> None:
        """Adds an object. mark is the mark from before its destruction was tried."""
        self._waiting.append(owned)
        if mark is not self.mark:
            self._retry()

    def call_ended(self) -> None:
        """Called when a call, or possibly a capture, has ended that kept objects from ending."""
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
    """One native object that Python has to destroy.

    Args:
        label: its name in messages: "Pool on cpu:0".
        end: destroys it; takes the flags and returns the status.
        parent: the node that it depends on.
        at_end: called once it has ended, whoever ended it.
    """

    # Whether a wrapper may be collected without close() and without a warning.
    is_silent = False
    # The tag of its memory, where a sleep may name it.
    tag: str | None = None
    # Whether to force the destruction of an object without a wrapper that was BUSY.
    may_force = True
    # Errors after which the destruction can succeed later.
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
        # Set during a destruction that would leave views without memory: no view is
        # created.
        self.doomed = False
        self.views: set[object] = set()
        # The wrapper was collected.
        self.is_abandoned = False
        # It is to be destroyed when its last dependent ends, and is in a list for that.
        self.is_postponed = False
        self.is_waiting = False
        self._end = end
        self._parent = parent
        self._at_end = at_end
        self._closing = threading.Lock()
        parent.add(self)

    def is_lost(self) -> bool:
        """As of Node. The memory ends also with what this object depends on."""
        return self.ends_dependents or self._parent.is_lost()

    def is_over(self) -> bool:
        """Whether a view of it would have no memory, or soon have none. The caller holds
        views_lock.
        """
        return self.ended or self.doomed or self.is_lost()

    def in_use(self, label: str) -> ViewExistsError:
        """The error of a call that would leave the views of this object without memory.

        Args:
            label: the object or the call.
        """
        count, used = len(self.views), "it" if self.label == label else f"the {self.label}"
        views = "1 view still uses" if count == 1 else f"{count} views still use"
        return ViewExistsError(_abi.FERRUM_ERROR_BUSY, f"{label}: {views} {used}")

    def subject(self) -> Node:
        """The node whose dependents keep this object from ending."""
        return self

    def close(self, flags: int = 0) -> None:
        """Destroys the object. Does nothing if it has ended."""
        if _native.is_forked():
            # The object belongs to the parent process. A thread of the parent may hold the
            # lock.
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
                self.subject().ends_dependents = False
                # Read the error first: another call of this thread would replace it.
                failure = _native.error_of(status)
                if self.is_postponed:
                    self._wait()
                raise failure
            if flags & _abi.FERRUM_FORCE:
                # Other threads may have made objects since the check for views.
                doomed = list(dict.fromkeys([*doomed, *self.subject().everything_below()]))
            self.finish(doomed)
            # A corrupted block is freed too, and then reported.
            _native.check(status)

    def _doom(self, flags: int) -> list[Owned]:
        doomed: list[Owned] = [self]
        if not flags & _abi.FERRUM_FORCE:
            doom(doomed, self.label)
            return doomed
        with views_lock:
            doomed += self.subject().everything_below()
            doom(doomed, self.label)
            self.subject().ends_dependents = True
        return doomed

    def finish(self, doomed: Iterable[Owned] = ()) -> None:
        """Marks this object, and what ended with it, as ended."""
        for owned in doomed:
            if owned is not self:
                owned.finish()
        if not self.ended:
            self.ended = True
            self._parent.remove(self)
            if self._at_end is not None:
                self._at_end()

    def at_exit(self) -> None:
        """Ends what could still call into the interpreter when the interpreter exits."""

    def abandon(self) -> None:
        """Called when the wrapper was collected: warns and destroys the object."""
        if self.ended or _native.is_forked():
            return
        self.is_abandoned = True
        if self.is_waiting:
            # A note of an exception has reported it.
            return
        try:
            if not self.is_silent:
                warnings.warn(f"unclosed ferrum_mem.{self.label}", ResourceWarning, stacklevel=2)
        finally:
            if threading.get_ident() in _native.callback_threads:
                in_background(self.end_quietly)
            else:
                self.end_quietly()

    def postpone(self) -> None:
        """Lets the object end with its last dependent, if it has dependents."""
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
        """Destroys an object that has no wrapper or was postponed. There is no caller to
        report a failure to.
        """
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


class Remaining(Owned):
    """An object that stays in the library after a forced end of its owner, and is destroyed
    then.
    """

    _is_destroyed = False

    def __init__(
        self,
        label: str,
        end: Callable[[], int],
        parent: Node,
        at_end: Callable[[], None] | None = None,
    ) -> None:
        self._destroy = end
        super().__init__(label, self._end_once, parent, at_end)

    def _end_once(self, _flags: int) -> int:
        status = self._destroy()
        self._is_destroyed = status >= 0
        return status

    def finish(self, doomed: Iterable[Owned] = ()) -> None:
        """Marks it as ended, and destroys what its owner has left."""
        if not self._is_destroyed and not self.ended:
            self._end_once(0)
        super().finish(doomed)


def doom(doomed: Iterable[Owned], label: str) -> None:
    """Marks objects that are about to end, so that no view of them is created.

    Raises:
        ViewExistsError: one of them has a view.
    """
    with views_lock:
        doomed = list(doomed)
        for owned in doomed:
            for view in list(owned.views):
                if getattr(view, "is_abandoned", bool)():
                    view.end()  # type: ignore[attr-defined]
        seen = next((owned for owned in doomed if owned.views), None)
        if seen is not None:
            raise seen.in_use(label)
        for owned in doomed:
            owned.doomed = True


def in_background(action: Callable[[], None]) -> None:
    """Runs an action that may wait on a thread of its own.

    threading.Thread takes locks when it starts, and a finalizer must not.
    """
    try:
        _thread.start_new_thread(action, ())
    except RuntimeError:
        # The interpreter is exiting; the system frees the memory of the process.
        return


def end_beside(error: BaseException, label: str, end: Callable[[], object]) -> bool:
    """Runs end() while another exception propagates, and returns whether it succeeded.

    A failure becomes a note of that exception, or a warning where exceptions have no notes.
    """
    try:
        end()
    except Exception as failure:
        note_failure(error, label, failure)
        return False
    return True


def note_failure(error: BaseException, label: str, failure: Exception) -> None:
    """Notes the failure to close an object while another exception propagates."""
    text = f"{label} could not be closed: {type(failure).__name__}: {failure}"
    add_note = getattr(error, "add_note", None)
    if add_note is not None:
        add_note(text)
        return
    with contextlib.suppress(ResourceWarning):
        warnings.warn(text, ResourceWarning, stacklevel=4)


@contextlib.contextmanager
def ending(value: V, label: str, end: Callable[[], object]) -> Iterator[V]:
    """A context that returns a value and calls end() when it is left."""
    try:
        yield value
    except BaseException as error:
        end_beside(error, label, end)
        raise
    end()


R = TypeVar("R", bound="Resource")


class Resource:
    """A wrapper of a native object, and a context manager.

    Leaving the context closes the object. A failed close() raises, unless an exception
    leaves the context: then that exception propagates with a note of the failure, and the
    object is destroyed with the last of its dependents.

    close() may be called repeatedly. A wrapper may be used by several threads. A wrapper
    that is collected without close() issues a ResourceWarning and is closed. In a forked
    child close() does nothing.
    """

    _owned: Owned
    _native_handle: Any

    def _own(self, owned: Owned, handle: Any) -> None:
        self._owned = owned
        self._native_handle = handle
        # Not at the exit of the interpreter: other code may still use the object.
        weakref.finalize(self, owned.abandon).atexit = False

    @property
    def _handle(self) -> Any:
        """The handle for a call. Raises InvalidHandleError after close()."""
        if self._owned.ended and not _native.is_forked():
            raise InvalidHandleError(
                _abi.FERRUM_ERROR_INVALID_HANDLE, f"the {self._owned.label} has been closed"
            )
        return self._native_handle

    @property
    def closed(self) -> bool:
        """Whether it was closed, or ended with a forced close of its owner."""
        return self._owned.ended

    def close(self) -> None:
        """Destroys the native object."""
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
        """Called when the object could not be closed and its context has ended."""
        self._owned.postpone()

    def __reduce_ex__(self, _protocol: SupportsIndex) -> NoReturn:
        # Two wrappers of one native object would both destroy it.
        raise TypeError(
            f"a {type(self).__name__} cannot be copied or pickled: its object is of this process"
        )

    def __repr__(self) -> str:
        state = " (closed)" if self._owned.ended else ""
        return f"<ferrum_mem.{self._owned.label}{state}>"
