"""Streams and events."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from . import _abi, _callbacks, _native
from ._owned import Owned, Resource
from ._waits import wait
from .devices import Device

NO_STREAM = _abi.ferrum_stream()


def optional_handle(stream: Stream | None) -> _abi.ferrum_stream:
    """The handle of an optional stream; none means the device's default one."""
    if stream is None:
        return NO_STREAM
    handle: _abi.ferrum_stream = stream._handle
    return handle


class Stream(Resource):
    """An ordered queue of work on a device. Its thread starts with its first work."""

    def __init__(self, device: Device) -> None:
        handle = _abi.ferrum_stream()
        _native.check(_native.library().ferrum_stream_create(device._handle, ctypes.byref(handle)))
        end = _native.library().ferrum_stream_destroy
        self._device = device
        self._own(
            Owned(f"Stream on {device.id}", lambda flags: end(handle, flags), device._node), handle
        )

    @property
    def device(self) -> Device:
        """The device that the stream is on."""
        return self._device

    def close(self, *, force: bool = False) -> None:
        """Ends the stream.

        Args:
            force: wait for its work first.

        Raises:
            BusyError: work is queued; nothing has changed.
        """
        self._owned.close(_abi.FERRUM_FORCE if force else 0)

    def synchronize(self, timeout_s: float | None = None) -> None:
        """Waits until the work is done that is queued now, and raises the first
        failure of queued work since the last time it was asked.

        In the main thread a long wait is done in slices, so that Ctrl-C ends it;
        work that others queue meanwhile is then waited for as well.

        Args:
            timeout_s: seconds; None waits without an end, 0 only asks.

        Raises:
            TimeoutError: it takes longer.
            InvalidStateError: called from a host function of this stream.
        """
        handle = self._handle
        function = _native.library().ferrum_stream_synchronize
        wait(lambda timeout_ns: function(handle, timeout_ns), timeout_s)

    def is_ready(self) -> bool:
        """Whether all work queued so far is done. Does not wait."""
        ready = ctypes.c_uint32()
        _native.check(_native.library().ferrum_stream_is_ready(self._handle, ctypes.byref(ready)))
        return bool(ready.value)

    def host_function(self, function: Callable[[], object]) -> None:
        """Queues a call of function().

        It runs on a thread of the library, in the stream's order, and may call this
        package, but not wait for its own stream, and not shut down. It is released
        once it has run. An exception in it goes to sys.unraisablehook.
        """
        if not callable(function):
            raise TypeError(f"function is a callable, not {type(function).__name__}")
        _callbacks.queue_host_function(self._handle, function)

    def record_event(self) -> Event:
        """Marks the present end of the queue."""
        return Event(self)

    def wait_event(self, event: Event) -> None:
        """Makes all later work of this stream wait for an event, which may be another
        stream's, or another device's of the same backend."""
        _native.check(_native.library().ferrum_stream_wait_event(self._handle, event._handle))


class _NotOwned(Owned):
    """The record of a default stream: it ends with its device, and nobody warns."""

    def abandon(self) -> None:
        self.finish()


class DefaultStream(Stream):
    """The stream that a device always has."""

    def __init__(self, device: Device) -> None:
        handle = _abi.ferrum_stream()
        _native.check(_native.library().ferrum_stream_default(device._handle, ctypes.byref(handle)))
        self._device = device
        end = _native.library().ferrum_stream_destroy
        self._own(
            _NotOwned(
                f"default stream of {device.id}", lambda flags: end(handle, flags), device._node
            ),
            handle,
        )

    def close(self, *, force: bool = False) -> None:
        """Nothing: the stream ends with its device."""


class Event(Resource):
    """A point in a stream's queue; Stream.record_event() makes it.

    close() forgets it; streams that wait for it still do.
    """

    def __init__(self, stream: Stream) -> None:
        handle = _abi.ferrum_event()
        _native.check(_native.library().ferrum_event_record(stream._handle, ctypes.byref(handle)))
        device = stream.device
        end = _native.library().ferrum_event_destroy
        self._device = device
        self._own(Owned(f"Event on {device.id}", lambda _flags: end(handle), device._node), handle)

    def is_ready(self) -> bool:
        """Whether the point has been passed. Does not wait."""
        ready = ctypes.c_uint32()
        _native.check(_native.library().ferrum_event_is_ready(self._handle, ctypes.byref(ready)))
        return bool(ready.value)

    def synchronize(self, timeout_s: float | None = None) -> None:
        """Waits until the point has been passed.

        Args:
            timeout_s: seconds; None waits without an end, 0 only asks.

        Raises:
            TimeoutError: it takes longer.
        """
        handle = self._handle
        function = _native.library().ferrum_event_synchronize
        wait(lambda timeout_ns: function(handle, timeout_ns), timeout_s)

    def elapsed_ns(self, end: Event) -> int:
        """Nanoseconds from this event to the other; negative if it passed first.

        Raises:
            InvalidStateError: one of the two has not been passed yet.
            InvalidArgumentError: they are of two devices.
        """
        elapsed = ctypes.c_int64()
        _native.check(
            _native.library().ferrum_event_elapsed(self._handle, end._handle, ctypes.byref(elapsed))
        )
        return elapsed.value
