"""Waiting for the library in asyncio without blocking the event loop.

To wait for a stream, a host function is queued behind its work. The host function wakes the
loop, and no thread waits. A call that waits by itself, such as a defragmentation, runs in
the loop's executor.

A task may be cancelled at any time. A call that it has started runs to its end, and the
result is released.

asyncio is imported inside functions: importing it takes longer than importing the rest of
the package, and a program that awaits has imported it already.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Generator
from typing import TYPE_CHECKING, Any, TypeVar

from . import _abi, _callbacks, _native
from ._owned import R, Resource, end_beside, in_background, note_failure
from ._values import NS_PER_SECOND, wait_limit_ns
from .errors import FerrumTimeoutError

if TYPE_CHECKING:
    import asyncio
    from types import TracebackType

T = TypeVar("T")

# Pauses between two queries of a stream for the failure of completed work, while further
# work may be queued on the stream.
_PAUSES_S = (0.0, 0.0, 0.0005, 0.001)


async def in_thread(call: Callable[[], T], undo: Callable[[T], object] | None = None) -> T:
    """Runs a call that waits in the loop's executor and returns its result.

    Args:
        call: not started if the task is cancelled before; otherwise it runs to its end.
        undo: called with the result if the task was cancelled meanwhile.
    """
    import asyncio

    lock = threading.Lock()
    results: list[T] = []
    is_abandoned = False

    def run() -> T:
        result = call()
        with lock:
            results.append(result)
            is_ours = is_abandoned and undo is not None
        if is_ours and undo is not None:
            undo(result)
        return result

    try:
        return await asyncio.get_running_loop().run_in_executor(None, run)
    except asyncio.CancelledError as error:
        with lock:
            is_abandoned = True
            left = list(results)
        if undo is not None:
            for result in left:
                end_beside(error, "a resource of a cancelled task", functools.partial(undo, result))
        raise


class _End:
    """Calls a function once. A loop that is closed drops what it has still to call; then the
    function is called on a thread of its own.
    """

    __slots__ = ("_call",)

    def __init__(self, call: Callable[[], None]) -> None:
        self._call: Callable[[], None] | None = call

    def __call__(self) -> None:
        call, self._call = self._call, None
        if call is not None:
            call()

    def __del__(self) -> None:
        if self._call is not None:
            in_background(self._call)


def _settle(reached: asyncio.Future[None], end: _End | None) -> None:
    if end is not None:
        end()
    if not reached.done():
        reached.set_result(None)


def mark(
    stream: Any,
    then: Callable[[], object] | None = None,
    end: Callable[[], None] | None = None,
) -> asyncio.Future[None]:
    """Queues a host function on a stream, and returns a future that is done when the stream
    has reached it.

    Args:
        stream: its handle.
        then: called at that point on a thread of the library, whether or not a task waits.
        end: called afterwards in the loop, or on a thread of its own if the loop is closed.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    reached: asyncio.Future[None] = loop.create_future()
    last = _End(end) if end is not None else None

    def notify() -> None:
        if then is not None:
            then()
        # After an error the loop is closed, so no task waits.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, reached, last)

    _callbacks.queue_host_function(stream, notify)
    return reached


class Mark:
    """The current end of a stream's queue. A task can wait for it.

    Args:
        stream: its handle.
        then: called at that point on a thread of the library, whether or not a task waits.
    """

    def __init__(self, stream: Any, then: Callable[[], object] | None = None) -> None:
        self._stream = stream
        self._reached = mark(stream, then)
        # The library counts the host function as work until it has returned. This event
        # completes after that.
        self._fence = _abi.ferrum_event()
        _native.functions().ferrum_event_record(stream, ctypes.byref(self._fence))

    async def wait(self) -> None:
        """Waits, and raises the first failure of the stream's work. If further work was queued
        meanwhile, a later call may raise the failure instead.
        """
        import asyncio

        library = _native.functions()
        try:
            await self._reached
            await self._settled()
            for pause_s in _PAUSES_S:
                status = library.ferrum_stream_synchronize(self._stream, 0)
                if status != _abi.FERRUM_ERROR_TIMEOUT:
                    _native.check(status)
                    return
                await asyncio.sleep(pause_s)
        finally:
            library.ferrum_event_destroy(self._fence)

    async def _settled(self) -> None:
        import asyncio

        ready = ctypes.c_uint32()
        is_ready = _native.functions().ferrum_event_is_ready
        # If the event could not be recorded, the query fails and ends the loop.
        while is_ready(self._fence, ctypes.byref(ready)) == _abi.FERRUM_OK and not ready.value:
            await asyncio.sleep(0)


async def drained(stream: Any) -> None:
    """Waits for the work that is queued on a stream at the call."""
    status = _native.functions().ferrum_stream_synchronize(stream, 0)
    if status != _abi.FERRUM_ERROR_TIMEOUT:
        _native.check(status)
        return
    await Mark(stream).wait()


async def within(timeout_s: float | None, waiting: Callable[[], Awaitable[None]]) -> None:
    """Awaits waiting() for at most timeout_s."""
    import asyncio

    timeout_ns = wait_limit_ns("timeout_s", timeout_s)
    if timeout_ns == _abi.FERRUM_WAIT_FOREVER:
        await waiting()
        return
    task = asyncio.ensure_future(waiting())
    try:
        done, _ = await asyncio.wait({task}, timeout=timeout_ns / NS_PER_SECOND)
    finally:
        if not task.done():
            task.cancel()
    if not done:
        raise FerrumTimeoutError(_abi.FERRUM_ERROR_TIMEOUT, f"not done in {timeout_s} s")
    task.result()


class Queued:
    """Work that was queued on a stream. It need not be awaited. Awaiting it waits for the work
    and raises its failure.
    """

    __slots__ = ("_stream",)

    def __init__(self, stream: Callable[[], Any]) -> None:
        self._stream = stream

    def __await__(self) -> Generator[Any, None, None]:
        return drained(self._stream()).__await__()


class TransferSlots:
    """Transfer slots: how many asynchronous copies of one manager may be in flight. The
    library has the same limit, and its calls would block at the limit.

    Args:
        most: the number of slots.
    """

    def __init__(self, most: int) -> None:
        self._lock = threading.Lock()
        self._free = most
        # One entry for each task that waits for a slot. A grant removes the entry.
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()

    async def acquire(self) -> None:
        """Waits for a slot, behind the tasks that already wait."""
        import asyncio

        loop = asyncio.get_running_loop()
        with self._lock:
            if self._free:
                self._free -= 1
                return
            granted: asyncio.Future[None] = loop.create_future()
            self._waiting.append((loop, granted))
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():
                self.release()
            raise

    def release(self) -> None:
        """Passes a slot to the task that has waited longest. Callable from any thread."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._free += 1
                    return
                loop, granted = self._waiting.popleft()
            try:
                loop.call_soon_threadsafe(self._grant, granted)
            except RuntimeError:
                # That loop is closed, so its task does not wait any more.
                continue
            return

    def _grant(self, granted: asyncio.Future[None]) -> None:
        if granted.done():
            # The task was cancelled meanwhile: pass the slot to the next one.
            self.release()
        else:
            granted.set_result(None)


class AsyncResource(Resource):
    """A resource that `async with` closes without blocking the event loop."""

    async def close_async(self) -> None:
        """The same as close()."""
        await in_thread(self.close)

    async def __aenter__(self: R) -> R:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            await self.close_async()
            return
        try:
            await self.close_async()
        except Exception as failure:
            note_failure(error, self._owned.label, failure)
            self._postpone()
