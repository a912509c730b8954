"""Virtual pools: reserved address space with pages of its own."""

from __future__ import annotations

import ctypes
from typing import Any

from . import _abi, _native
from ._arguments import record
from ._calls import VirtualPoolCalls
from ._owned import LateEnds, Owned
from ._records import VirtualPoolConfig
from ._values import u64, wait_limit_ns
from .devices import Device, device_for
from .ranges import MappedRange, Spanning, unmap_pages
from .sleep import Sleeper
from .streams import Stream, optional_handle


class VirtualPool(Spanning, VirtualPoolCalls, Sleeper):
    """Address space that is reserved as a whole. alloc() maps memory by offset.

    Args:
        device: the device of its memory, or the id of the device. With an id the pool opens
            and closes the device.
        config: settings.

    Raises:
        UnsupportedDeviceError: the device has no virtual memory.
        InvalidPageSizeError, InvalidSizeError: for the settings.
        OutOfVirtualMemoryError: the address space cannot be reserved.
        OutOfPhysicalMemoryError: the limit is above the memory of the device.
    """

    def __init__(self, device: Device | str, config: VirtualPoolConfig) -> None:
        raw = record("config", config, "VirtualPoolConfig").to_abi()
        handle = _abi.ferrum_vpool()
        self._own_tag = config.name or ""
        self._dozing = []
        self._late = LateEnds()
        name = f" {config.name!r}" if config.name else ""
        with device_for(device) as (device, at_end):
            library = _native.functions()
            _native.check(
                library.ferrum_vpool_create(device._handle, ctypes.byref(raw), ctypes.byref(handle))
            )
            end, label = library.ferrum_vpool_destroy, f"VirtualPool{name} on {device.id}"
            self._device = device
            self._own(Owned(label, lambda flags: end(handle, flags), device._node, at_end), handle)
        self._page_bytes = self.info().page_bytes

    def _place(self) -> tuple[Any, ...]:
        return (self._handle,)

    def _range_functions(self) -> tuple[Any, Any, Any]:
        library = _native.functions()
        return (
            library.ferrum_vpool_alloc_batch,
            library.ferrum_vpool_free_batch,
            library.ferrum_vpool_free,
        )

    def _record_function(self) -> Any:
        return _native.functions().ferrum_vpool_record_stream_batch

    def _functions(self) -> tuple[Any, Any, Any]:
        library = _native.functions()
        return (
            library.ferrum_vpool_sleep,
            library.ferrum_vpool_wake,
            library.ferrum_vpool_is_asleep,
        )

    @property
    def device(self) -> Device:
        """The device of the pool."""
        return self._device

    @property
    def page_bytes(self) -> int:
        """The size of a page."""
        return self._page_bytes

    def close(self, *, force: bool = False) -> None:
        """Unmaps everything, and releases memory and address space after the queued work that
        uses freed ranges.

        Args:
            force: also while ranges are mapped; waits for all work of the device.

        Raises:
            BusyError: ranges are mapped; nothing has changed.
            ViewExistsError: with force, a range has a view.
        """
        self._owned.close(_abi.FERRUM_FORCE if force else 0)

    def export_fabric(self, offset_bytes: int, size_bytes: int) -> bytes:
        """Returns fabric handles of the pages of a range, in order.
        Manager.import_fabric_pages() maps the same memory with them, in processes of this
        host and of hosts that a fabric connects. The handles do not keep the memory
        allocated.

        When the range is freed, its pages stay in the pool for its next ranges. So every
        importer must close its block before.

        Args:
            offset_bytes,size_bytes: whole pages, mapped completely.

        Raises:
            InvalidArgumentError: the pool's backing is not Backing.FABRIC.
            InvalidOffsetError, InvalidSizeError, NotMappedError: for the range.
        """
        cells = _native.read_array(
            ctypes.c_uint8,
            lambda *room: _native.functions().ferrum_vpool_export_fabric(
                self._handle,
                u64("offset_bytes", offset_bytes),
                u64("size_bytes", size_bytes),
                *room,
            ),
        )
        return bytes(cells)

    def alloc(
        self,
        offset_bytes: int,
        size_bytes: int,
        *,
        tag: str | None = None,
        asleep_wait_s: float | None = 0,
        stream: Stream | None = None,
    ) -> MappedRange:
        """Maps memory to every page that a range touches: all or none.

        Args:
            offset_bytes: from the base address; need not be a multiple of the page size.
            size_bytes: not 0.
            tag: name for the counters, at most 63 bytes; None: the pool's name.
            asleep_wait_s: how long to wait while the tag or memory at that offset is
                asleep; None: no time limit.
            stream: the first stream that uses the range. An unmap waits for it. None: the
                default stream.

        Raises:
            InvalidStateError: it is asleep, and the call may not wait.
            TimeoutError: it is asleep longer than asleep_wait_s.
            AlreadyMappedError: a page of it is mapped; the message states which.
            InvalidOffsetError: it ends outside the address space.
            OutOfPhysicalMemoryError: over the limit; the message states requested and
                available bytes.
        """
        offset, size = u64("offset_bytes", offset_bytes), u64("size_bytes", size_bytes)
        address = _abi.ferrum_address()
        library, text = _native.functions(), _native.encode("tag", tag)
        wait_ns = wait_limit_ns("asleep_wait_s", asleep_wait_s)
        if wait_ns != 0 or stream is not None or text is not None:
            request = _abi.ferrum_vpool_request.init()
            request.offset_bytes = offset
            request.size_bytes = size
            request.tag = text
            request.asleep_wait_ns = wait_ns
            request.stream = optional_handle(stream)
            status = library.ferrum_vpool_alloc_with(
                self._handle, ctypes.byref(request), ctypes.byref(address)
            )
        else:
            status = library.ferrum_vpool_alloc(self._handle, offset, size, ctypes.byref(address))
        _native.check(status)
        handle, unmap = self._handle, library.ferrum_vpool_free
        return MappedRange(
            self,
            address.value,
            offset,
            size,
            tag,
            lambda at, length, stream: unmap(handle, at, length, stream),
        )

    def free(self, offset_bytes: int, size_bytes: int, *, stream: Stream | None = None) -> None:
        """Unmaps by offset, after the work that is queued on the stream now: whole pages of
        one or several ranges, or exactly one range. The objects of all ranges that it
        touches are closed. The rest of a range that was unmapped in part must be unmapped
        by offset too.

        Raises:
            NotMappedError: a page of it is not mapped; the message states which.
            InvalidOffsetError: it is neither whole pages nor one range.
            ViewExistsError: a range has a view; nothing has changed.
            BusyError: a sleep or a wake is working on a part of it; nothing has changed.
        """
        offset, size = u64("offset_bytes", offset_bytes), u64("size_bytes", size_bytes)
        handle, queue = self._handle, optional_handle(stream)
        unmap = _native.functions().ferrum_vpool_free
        unmap_pages(
            self._owned,
            [(offset, size)],
            self._page_bytes,
            lambda: unmap(handle, offset, size, queue),
        )
