"""Waiting for the library in asyncio, without holding up the event loop.

Work of a stream tells that it is done by a host function behind it, which wakes the
loop: no thread waits. A call that waits by itself, such as a defragmentation, runs in
the loop's executor.

A task may be cancelled at any time. What it has begun is finished; what it would have
been given is given back.

asyncio is imported where it is needed: it takes longer than the rest of the package, and
who waits here has it.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Generator
from typing import TYPE_CHECKING, Any, TypeVar

from . import _abi, _callbacks, _native
from ._owned import end_beside, in_background
from ._values import NS_PER_SECOND, nanoseconds
from .errors import FerrumTimeoutError

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

# What is waited between two questions to a stream for failures of work that is done,
# while other work may be queued on it.
_PAUSES_S = (0.0, 0.0, 0.0005, 0.001)


async def in_thread(call: Callable[[], T], undo: Callable[[T], object] | None = None) -> T:
    """Runs a call that waits in the loop's executor and gives its result.

    Args:
        call: not begun when the task is cancelled before, else run to its end.
        undo: takes the result that a cancelled task does not.
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
                end_beside(error, "what the task had begun", functools.partial(undo, result))
        raise


def _settle(reached: asyncio.Future[None], end: Callable[[], None] | None) -> None:
    if end is not None:
        end()
    if not reached.done():
        reached.set_result(None)


def mark(
    stream: Any,
    then: Callable[[], object] | None = None,
    end: Callable[[], None] | None = None,
) -> asyncio.Future[None]:
    """Queues a mark on a stream, and gives what is done when the stream has come there.

    Args:
        stream: its handle.
        then: called there on a thread of the library, whether anybody waits or not.
        end: called afterwards in the loop, and where that is closed on a thread of its
            own.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    reached: asyncio.Future[None] = loop.create_future()

    def tell() -> None:
        if then is not None:
            then()
        try:
            loop.call_soon_threadsafe(_settle, reached, end)
        except RuntimeError:
            # The loop is closed: nobody waits.
            if end is not None:
                in_background(end)

    _callbacks.queue_host_function(stream, tell)
    return reached


class Mark:
    """The present end of a stream's queue, which can be waited for.

    Args:
        stream: its handle.
        then: called there on a thread of the library, whether anybody waits or not.
    """

    def __init__(self, stream: Any, then: Callable[[], object] | None = None) -> None:
        self._stream = stream
        self._reached = mark(stream, then)
        # The library counts the call of the mark as work until it has returned; this is
        # passed when it has.
        self._fence = _abi.ferrum_event()
        _native.functions().ferrum_event_record(stream, ctypes.byref(self._fence))

    async def wait(self) -> None:
        """Waits, and raises the first failure of the stream's work. When further work
        was queued meanwhile that may be left to the next who asks."""
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
        # An event that could not be recorded is refused here, and is not waited for.
        while is_ready(self._fence, ctypes.byref(ready)) == _abi.FERRUM_OK and not ready.value:
            await asyncio.sleep(0)


async def drained(stream: Any) -> None:
    """Waits until the work of a stream is done that is queued now."""
    status = _native.functions().ferrum_stream_synchronize(stream, 0)
    if status != _abi.FERRUM_ERROR_TIMEOUT:
        _native.check(status)
        return
    await Mark(stream).wait()


async def within(timeout_s: float | None, waiting: Callable[[], Awaitable[None]]) -> None:
    """Awaits waiting(), but no longer than the timeout."""
    import asyncio

    timeout_ns = nanoseconds("timeout_s", timeout_s)
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
    """Work that was queued on a stream. It may be left alone, or awaited: then it is
    done, or its failure is raised."""

    __slots__ = ("_stream",)

    def __init__(self, stream: Callable[[], Any]) -> None:
        self._stream = stream

    def __await__(self) -> Generator[Any, None, None]:
        return drained(self._stream()).__await__()


class Turns:
    """How many asynchronous copies may be in flight to one manager. The library has
    the same bound, and would wait when it is reached.

    Args:
        most: how many.
    """

    def __init__(self, most: int) -> None:
        self._lock = threading.Lock()
        self._free = most
        # One for each task that awaits its turn, and no more: it leaves as it is granted.
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()

    async def take(self) -> None:
        """Waits for a turn, behind those who wait already."""
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
                self.give()
            raise

    def give(self) -> None:
        """Gives a turn to who has waited longest. From any thread."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._free += 1
                    return
                loop, granted = self._waiting.popleft()
            try:
                loop.call_soon_threadsafe(self._grant, granted)
            except RuntimeError:
                # That loop is closed, and who waited there has gone.
                continue
            return

    def _grant(self, granted: asyncio.Future[None]) -> None:
        if granted.done():
            # Cancelled meanwhile: the turn is for the next.
            self.give()
        else:
            granted.set_result(None)
