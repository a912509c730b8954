"""Managers: memory by handle."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from . import _abi, _async, _native
from ._arguments import choice, object_of, record
from ._calls import ManagerCalls
from ._enums import MemoryType
from ._owned import Owned
from ._records import DefragmentationStats
from ._values import alignment, nanoseconds, real, u32, u64
from .devices import Device, device_for
from .errors import InvalidConfigError
from .memory import Memory
from .sharing import SharingManager
from .streams import Stream, named_handle
from .types import ManagerConfig


def _abi_config(config: ManagerConfig) -> tuple[_abi.ferrum_manager_config, list[Any]]:
    """The settings as a struct of the library, and the objects that it points to."""
    raw = _abi.ferrum_manager_config.init()
    record("config", config, "ManagerConfig")
    raw.enable_tracking = bool(config.enable_tracking)
    raw.enable_auto_gc = bool(config.enable_auto_gc)
    raw.enable_debug = bool(config.enable_debug)
    raw.gc_threshold = real("gc_threshold", config.gc_threshold)
    raw.max_concurrent_transfers = u32("max_concurrent_transfers", config.max_concurrent_transfers)
    kept = []
    for memory_type, pool_config in config.pool_configs.items():
        number = choice("a key of pool_configs", memory_type, MemoryType)
        if not 0 <= number < len(raw.pool_configs):
            raise InvalidConfigError(
                _abi.FERRUM_ERROR_INVALID_CONFIG, f"pool_configs: {number} is not a memory type"
            )
        kept.append(record(f"pool_configs[{number}]", pool_config, "PoolConfig").to_abi())
        raw.pool_configs[number] = ctypes.pointer(kept[-1])
    return raw, kept


class Manager(ManagerCalls, SharingManager, _async.AsyncResource):
    """A memory manager of a device. It allocates blocks by handle.

    Args:
        device: the device of its memory, or the id of the device. With an id the manager
            opens and closes the device.
        config: settings; None: the defaults of ManagerConfig.

    Raises:
        InvalidConfigError: the settings contradict each other.
    """

    def __init__(self, device: Device | str, config: ManagerConfig | None = None) -> None:
        handle = _abi.ferrum_manager()
        raw, _kept = _abi_config(config) if config is not None else (None, [])
        settings = config if config is not None else ManagerConfig()
        self._transfer_slots = _async.TransferSlots(settings.max_concurrent_transfers)
        # The threads that are defragmenting it.
        self._moving: set[int] = set()
        with device_for(device) as (device, at_end):
            library = _native.functions()
            _native.check(
                library.ferrum_manager_create(
                    device._handle,
                    ctypes.byref(raw) if raw is not None else None,
                    ctypes.byref(handle),
                )
            )
            end, label = library.ferrum_manager_destroy, f"Manager on {device.id}"
            self._device = device
            self._own(Owned(label, lambda flags: end(handle, flags), device._node, at_end), handle)

    @property
    def device(self) -> Device:
        """The device of the manager."""
        return self._device

    def close(self, *, force: bool = False) -> None:
        """Releases the memory of the manager to the system.

        Args:
            force: also while blocks are live or being copied; waits for the copies.

        Raises:
            BusyError: blocks are live; nothing has changed.
            ViewExistsError: with force, a block has a view.
        """
        self._owned.close(_abi.FERRUM_FORCE if force else 0)

    def alloc(
        self,
        size_bytes: int,
        *,
        alignment_bytes: int | None = None,
        memory_type: MemoryType = MemoryType.GENERAL,
        tag: str | None = None,
        relocatable: bool = False,
    ) -> Memory:
        """Allocates a block.

        Args:
            size_bytes: not 0.
            alignment_bytes: of the address, a power of two up to 1 GiB; None: the pool's
                alignment.
            memory_type: the use of the memory.
            tag: name for the counters, at most 63 bytes of UTF-8.
            relocatable: defragment() may move it while it is not in use.

        Raises:
            OutOfMemoryError: not enough memory; the message states the free memory and who
                holds the rest.
            UnsupportedError: the device has no memory of that type.
        """
        size = u64("size_bytes", size_bytes)
        library = _native.functions()
        handle = _abi.ferrum_memory()
        out = ctypes.byref(handle)
        if (memory_type, alignment_bytes, tag, relocatable) == (
            MemoryType.GENERAL,
            None,
            None,
            False,
        ):
            status = library.ferrum_manager_alloc(self._handle, size, out)
        else:
            request = _abi.ferrum_allocation_request.init()
            request.memory_type = choice("memory_type", memory_type, MemoryType)
            request.size_bytes = size
            request.alignment_bytes = alignment(alignment_bytes)
            request.tag = _native.encode("tag", tag)
            request.flags = _abi.FERRUM_ALLOCATE_RELOCATABLE if relocatable else 0
            status = library.ferrum_manager_alloc_with(self._handle, ctypes.byref(request), out)
        _native.check(status)
        return Memory(self, handle, size, relocatable=relocatable)

    def defragment(self, budget_s: float | None = None) -> DefragmentationStats:
        """Moves relocatable blocks that are not in use in order to empty pages. Releases the
        memory that the manager's pools hold and do not use.

        Args:
            budget_s: no further block is moved after this time, in seconds; None: no limit;
                0: move no block.
        """
        library = _native.functions()
        raw = _abi.ferrum_defragmentation_stats.init()
        thread = threading.get_ident()
        self._moving.add(thread)
        try:
            if budget_s is None:
                status = library.ferrum_manager_defragment(self._handle, ctypes.byref(raw))
            else:
                budget_ns = nanoseconds("budget_s", budget_s)
                status = library.ferrum_manager_defragment_within(
                    self._handle, budget_ns, ctypes.byref(raw)
                )
            _native.check(status)
        finally:
            self._moving.discard(thread)
        return DefragmentationStats.from_abi(raw)

    async def alloc_async(
        self,
        size_bytes: int,
        *,
        alignment_bytes: int | None = None,
        memory_type: MemoryType = MemoryType.GENERAL,
        tag: str | None = None,
        relocatable: bool = False,
    ) -> Memory:
        """The same as alloc(), which may wait when memory is short. If the task is cancelled,
        the block is freed.
        """
        return await _async.in_thread(
            lambda: self.alloc(
                size_bytes,
                alignment_bytes=alignment_bytes,
                memory_type=memory_type,
                tag=tag,
                relocatable=relocatable,
            ),
            Memory.close,
        )

    async def copy_async(
        self,
        destination: Memory,
        source: Memory,
        size_bytes: int | None = None,
        *,
        source_offset_bytes: int = 0,
        offset_bytes: int = 0,
        stream: Stream | None = None,
    ) -> None:
        """Copies between two blocks, or within one, and returns when the copy is done. A copy
        that has begun runs to its end, also when the task is cancelled or a block is
        closed.

        Args:
            destination, source: of this manager's device or of another.
            size_bytes: number of bytes; None: the source from its offset on.
            source_offset_bytes: start in the source.
            offset_bytes: start in the destination.
            stream: a stream of the destination's device. None: the default stream, after
                all earlier work on the two blocks.
        """
        object_of("destination", destination, Memory)
        transfer = destination._transfer(source, size_bytes, source_offset_bytes, offset_bytes)
        copy = _native.functions().ferrum_memory_copy
        owner = destination.manager
        is_moving = owner._moving or source.manager._moving
        if stream is None and (is_moving or destination.is_in_use() or source.is_in_use()):
            # The library knows the streams that the copy must wait for.
            await _async.in_thread(lambda: _native.check(copy(ctypes.byref(transfer))))
            return
        handle = named_handle(stream, owner.device)
        await owner._transfer_slots.acquire()
        end = None
        try:
            queue = _native.functions().ferrum_memory_copy_async
            await _when_unmoved(
                lambda: _native.check(queue(ctypes.byref(transfer), handle)),
                owner,
                source.manager,
            )
            end = _async.Mark(handle, owner._transfer_slots.release)
        finally:
            if end is None:
                owner._transfer_slots.release()
        await end.wait()

    async def fill_async(
        self,
        memory: Memory,
        pattern: int = 0,
        size_bytes: int | None = None,
        *,
        pattern_bytes: int = 1,
        offset_bytes: int = 0,
        stream: Stream | None = None,
    ) -> None:
        """Fills a range of a block in the way of Memory.fill_async(), and returns when the
        fill is done.
        """
        handle = named_handle(stream, object_of("memory", memory, Memory).manager.device)
        await _when_unmoved(
            lambda: memory.fill_async(
                pattern,
                size_bytes,
                pattern_bytes=pattern_bytes,
                offset_bytes=offset_bytes,
                stream=stream,
            ),
            memory.manager,
        )
        await _async.drained(handle)

    async def defragment_async(self, budget_s: float | None = None) -> DefragmentationStats:
        """The same as defragment(). A defragmentation that has begun runs to its end, also
        when the task is cancelled.
        """
        return await _async.in_thread(lambda: self.defragment(budget_s))

    async def close_async(self, *, force: bool = False) -> None:
        """The same as close(). With force it waits for copies."""
        await _async.in_thread(lambda: self.close(force=force))


async def _when_unmoved(call: Callable[[], object], *managers: Manager) -> None:
    """Makes a call that may wait for the move of a block. It runs here if none of the managers
    is being defragmented, and otherwise in a thread.
    """
    if any(manager._moving for manager in managers):
        await _async.in_thread(call)
    else:
        call()
