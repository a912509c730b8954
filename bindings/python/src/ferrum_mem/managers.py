"""Managers: memory by handle."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from . import _abi, _async, _native
from ._calls import ManagerCalls
from ._enums import MemoryType
from ._owned import Owned
from ._records import DefragmentationStats
from ._values import alignment, nanoseconds, u32, u64
from .devices import Device, device_for
from .errors import InvalidConfigError
from .memory import Memory
from .sharing import SharingManager
from .streams import Stream, named_handle
from .types import ManagerConfig


def _abi_config(config: ManagerConfig) -> tuple[_abi.ferrum_manager_config, list[Any]]:
    """The settings as the library takes them, and what they point to."""
    raw = _abi.ferrum_manager_config.init()
    raw.enable_tracking = bool(config.enable_tracking)
    raw.enable_auto_gc = bool(config.enable_auto_gc)
    raw.enable_debug = bool(config.enable_debug)
    raw.gc_threshold = config.gc_threshold
    raw.max_concurrent_transfers = u32("max_concurrent_transfers", config.max_concurrent_transfers)
    kept = []
    for memory_type, pool_config in config.pool_configs.items():
        number = int(memory_type)
        if not 0 <= number < len(raw.pool_configs):
            raise InvalidConfigError(
                _abi.FERRUM_ERROR_INVALID_CONFIG, f"pool_configs: {number} is no memory type"
            )
        kept.append(pool_config.to_abi())
        raw.pool_configs[number] = ctypes.pointer(kept[-1])
    return raw, kept


class Manager(ManagerCalls, SharingManager):
    """A memory manager of a device: hands out blocks by handle.

    Args:
        device: where its memory is, or the id of that device: then the manager opens
            and closes it.
        config: settings; None: the defaults of ManagerConfig.

    Raises:
        InvalidConfigError: the settings contradict each other.
    """

    def __init__(self, device: Device | str, config: ManagerConfig | None = None) -> None:
        handle = _abi.ferrum_manager()
        raw, _kept = _abi_config(config) if config is not None else (None, [])
        settings = config if config is not None else ManagerConfig()
        self._turns = _async.Turns(settings.max_concurrent_transfers)
        # The threads that defragment it now.
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
        """The device that the manager is of."""
        return self._device

    def close(self, *, force: bool = False) -> None:
        """Gives the manager's memory back to the system.

        Args:
            force: also while blocks are live or being copied; waits for the copies.

        Raises:
            BusyError: blocks are live; nothing has changed.
            ViewExistsError: with force, a view still looks into a block.
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
            alignment_bytes: of the address, a power of two up to 1 GiB; None: the
                pool's.
            memory_type: what it is used for.
            tag: name for the books, at most 63 bytes of UTF-8.
            relocatable: defragment() may move it while nobody uses it.

        Raises:
            OutOfMemoryError: there is no room; the message says what was free and who
                has the rest.
            UnsupportedError: memory of that type cannot be had.
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
            request.memory_type = int(memory_type)
            request.size_bytes = size
            request.alignment_bytes = alignment(alignment_bytes)
            request.tag = _native.encode("tag", tag)
            request.flags = _abi.FERRUM_ALLOCATE_RELOCATABLE if relocatable else 0
            status = library.ferrum_manager_alloc_with(self._handle, ctypes.byref(request), out)
        _native.check(status)
        return Memory(self, handle, size, relocatable=relocatable)

    def defragment(self, budget_s: float | None = None) -> DefragmentationStats:
        """Moves relocatable blocks that nobody uses so that pages come free, and gives
        back to the system what the manager's pools hold without use.

        Args:
            budget_s: seconds after which no further block is moved; None: no bound; 0:
                none is moved.
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
        """As alloc(), which may wait when memory is short. A block that a cancelled
        task would have got is given back."""
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
        """Copies between two blocks, or within one, and is done when the bytes are
        there. A copy that has begun is finished, also when the task is cancelled or a
        block is closed meanwhile.

        Args:
            destination, source: of this manager's device or of another.
            size_bytes: how many; None: all of the source from its offset on.
            source_offset_bytes: where in the source to start.
            offset_bytes: where in the destination to start.
            stream: of the destination's device. None: after all earlier work on the
                two blocks, on the default stream.
        """
        transfer = destination._transfer(source, size_bytes, source_offset_bytes, offset_bytes)
        copy = _native.functions().ferrum_memory_copy
        owner = destination.manager
        is_moving = owner._moving or source.manager._moving
        if stream is None and (is_moving or destination.is_in_use() or source.is_in_use()):
            # The library knows which streams have to be waited for.
            await _async.in_thread(lambda: _native.check(copy(ctypes.byref(transfer))))
            return
        handle = named_handle(stream, owner.device)
        await owner._turns.take()
        end = None
        try:
            queue = _native.functions().ferrum_memory_copy_async
            await _when_unmoved(
                lambda: _native.check(queue(ctypes.byref(transfer), handle)),
                owner,
                source.manager,
            )
            end = _async.Mark(handle, owner._turns.give)
        finally:
            if end is None:
                owner._turns.give()
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
        """Fills a range of a block, as Memory.fill_async(), and is done when the bytes
        are there."""
        handle = named_handle(stream, memory.manager.device)
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
        """As defragment(). One that has begun is finished, also when the task is
        cancelled."""
        return await _async.in_thread(lambda: self.defragment(budget_s))

    async def close_async(self, *, force: bool = False) -> None:
        """As close(), which with force waits for copies."""
        await _async.in_thread(lambda: self.close(force=force))


async def _when_unmoved(call: Callable[[], object], *managers: Manager) -> None:
    """Makes a call that waits at most for the move of a block: here while none of the
    managers is defragmented, else in a thread."""
    if any(manager._moving for manager in managers):
        await _async.in_thread(call)
    else:
        call()
