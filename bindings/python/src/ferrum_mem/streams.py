"""Streams and events."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterable

from . import _abi, _async, _callbacks, _native
from ._arguments import callable_of, fields, handle_of, listed
from ._calls import EventCalls, StreamCalls
from ._owned import Owned, end_beside
from ._values import u64, wrong_class
from ._waits import wait
from .devices import Device, device_for
from .errors import FerrumError

NO_STREAM = _abi.ferrum_stream()

# An element of copy_batch().
_COPY = "(source, destination, size_bytes)"


def optional_handle(stream: Stream | None) -> _abi.ferrum_stream:
    """The handle of an optional stream. None gives the NULL handle, the default stream.

    Raises:
        TypeError: it is no stream.
        InvalidHandleError: it has been closed.
    """
    if stream is None:
        return NO_STREAM
    if not isinstance(stream, Stream):
        raise wrong_class("stream", "a Stream or None", stream)
    handle: _abi.ferrum_stream = stream._handle
    return handle


def named_handle(stream: Stream | None, device: Device) -> _abi.ferrum_stream:
    """The handle of an optional stream. None gives the real handle of the default stream."""
    return optional_handle(device.default_stream if stream is None else stream)


class Stream(StreamCalls, _async.AsyncResource):
    """An ordered queue of work on a device. Its thread starts with the first work.

    Args:
        device: the device, or its id. With an id the stream opens and closes the device.
    """

    def __init__(self, device: Device | str) -> None:
        handle = _abi.ferrum_stream()
        with device_for(device) as (device, at_end):
            library = _native.functions()
            _native.check(library.ferrum_stream_create(device._handle, ctypes.byref(handle)))
            end, label = library.ferrum_stream_destroy, f"Stream on {device.id}"
            self._device = device
            self._own(Owned(label, lambda flags: end(handle, flags), device._node, at_end), handle)

    @property
    def device(self) -> Device:
        """The device of the stream."""
        return self._device

    def close(self, *, force: bool = False) -> None:
        """Destroys the stream.

        Args:
            force: wait for its work first.

        Raises:
            BusyError: work is queued; nothing has changed.
        """
        self._owned.close(_abi.FERRUM_FORCE if force else 0)

    def _end_quietly(self) -> None:
        """Destroys the stream where no caller can handle a failure."""
        with contextlib.suppress(FerrumError):
            self.close(force=True)

    def synchronize(self, timeout_s: float | None = None) -> None:
        """Waits for the work that is queued now, and raises the first failure of queued work
        since the last call.

        In the main thread a long wait is split into slices, so that Ctrl-C ends it. The
        wait then includes work that other threads queue meanwhile.

        Args:
            timeout_s: seconds; None: no limit; 0: do not wait, only check.

        Raises:
            TimeoutError: the timeout has passed.
            InvalidStateError: called from a host function of this stream.
        """
        handle = self._handle
        function = _native.functions().ferrum_stream_synchronize
        wait(lambda timeout_ns: function(handle, timeout_ns), timeout_s)

    async def synchronize_async(self, timeout_s: float | None = None) -> None:
        """The same as synchronize(), for the work that is queued now. If other threads queue
        more work meanwhile, a later call may raise the failure instead.
        """
        handle = self._handle
        await _async.within(timeout_s, lambda: _async.drained(handle))

    async def close_async(self) -> None:
        """Destroys the stream after its work is done, and raises the first failure of that
        work. If the task is cancelled, the stream stays.
        """
        await self.synchronize_async()
        await _async.in_thread(lambda: self.close(force=True))

    def host_function(self, function: Callable[[], object]) -> None:
        """Queues a call of function().

        The function runs on a thread of the library, in the order of the stream. It may
        call this package, but must not wait for its own stream and must not call
        shutdown(). It is released after its run. An exception in it goes to
        sys.unraisablehook.
        """
        _callbacks.queue_host_function(self._handle, callable_of("function", function))

    def copy_batch(self, copies: Iterable[tuple[int, int, int]]) -> None:
        """Queues many copies by address, all within the device, and returns. All copies are
        checked before the first is queued.

        The copies run in any order. No destination may overlap the source or the
        destination of another copy; sources may overlap. The memory must stay allocated
        until the copies are done: free it on this stream, or call record_stream() of its
        owner.

        Args:
            copies: (source, destination, size_bytes) of each; at most BATCH_MAX. An empty
                list queues nothing.

        Raises:
            InvalidSizeError, InvalidArgumentError: a size is 0; copies overlap. The message
                states the index of the first wrong copy.
            InvalidAddressError: memory that is not of the device, or is not mapped.
            ResourceExhaustedError: the queue cannot take all of them.
        """
        cells: list[_abi.ferrum_address_copy] = []
        for i, copy in enumerate(listed("copies", copies, _COPY)):
            source, destination, size_bytes = fields(f"copies[{i}]", copy, 3, _COPY)
            cells.append(
                _abi.ferrum_address_copy(
                    u64(f"source of copies[{i}]", source),
                    u64(f"destination of copies[{i}]", destination),
                    u64(f"size_bytes of copies[{i}]", size_bytes),
                )
            )
        handle = self._handle
        if cells:
            array = (_abi.ferrum_address_copy * len(cells))(*cells)
            _native.check(_native.functions().ferrum_stream_copy_batch(handle, array, len(cells)))

    def record_event(self) -> Event:
        """Records the current end of the queue as an event."""
        return Event(self)


class _NotOwned(Owned):
    """The record of a default stream. It ends with its device, without a warning."""

    def abandon(self) -> None:
        self.finish()


class DefaultStream(Stream):
    """The stream that every device has."""

    def __init__(self, device: Device) -> None:
        handle = _abi.ferrum_stream()
        _native.check(
            _native.functions().ferrum_stream_default(device._handle, ctypes.byref(handle))
        )
        self._device = device
        end = _native.functions().ferrum_stream_destroy
        self._own(
            _NotOwned(
                f"default stream of {device.id}", lambda flags: end(handle, flags), device._node
            ),
            handle,
        )

    def close(self, *, force: bool = False) -> None:
        """Does nothing: the stream ends with its device."""


class Event(EventCalls):
    """A point in a stream's queue. Stream.record_event() creates it.

    close() destroys the handle. Streams that wait for the event still wait for it.
    """

    def __init__(self, stream: Stream) -> None:
        handle = _abi.ferrum_event()
        queue = handle_of("stream", stream, Stream)
        _native.check(_native.functions().ferrum_event_record(queue, ctypes.byref(handle)))
        self._keep(stream.device, handle)

    def _keep(
        self,
        device: Device,
        handle: _abi.ferrum_event,
        at_end: Callable[[], None] | None = None,
    ) -> None:
        end, label = _native.functions().ferrum_event_destroy, f"Event on {device.id}"
        self._device = device
        self._own(Owned(label, lambda _flags: end(handle), device._node, at_end), handle)

    async def synchronize_async(self, timeout_s: float | None = None) -> None:
        """The same as synchronize()."""
        await _async.within(timeout_s, self._passed)

    async def _passed(self) -> None:
        if self.is_ready():
            return
        # A separate stream, so that no other work waits for the event.
        stream = Stream(self._device)
        try:
            stream.wait_event(self)
            reached = _async.mark(stream._handle, end=stream._end_quietly)
        except BaseException as error:
            end_beside(error, stream._owned.label, lambda: stream.close(force=True))
            raise
        await reached

    def elapsed_ns(self, end: Event) -> int:
        """Nanoseconds from this event to the other; negative if the other completed first.

        Raises:
            InvalidStateError: one of them has not completed.
            InvalidArgumentError: they are of different devices.
        """
        elapsed = ctypes.c_int64()
        _native.check(
            _native.functions().ferrum_event_elapsed(
                self._handle, handle_of("end", end, Event), ctypes.byref(elapsed)
            )
        )
        return elapsed.value
