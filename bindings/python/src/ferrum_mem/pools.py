"""Pools: memory by address."""

from __future__ import annotations

import ctypes

from . import _abi, _native
from ._buffers import HostBuffer
from ._owned import Owned, Resource
from ._values import u64
from .devices import Device
from .streams import Stream, optional_handle
from .types import PoolConfig, Statistics


def abi_config(config: PoolConfig) -> _abi.ferrum_pool_config:
    """The settings as the library takes them; it copies the texts."""
    raw = _abi.ferrum_pool_config.init()
    raw.enable_auto_expansion = bool(config.enable_auto_expansion)
    raw.initial_size_bytes = u64("initial_size_bytes", config.initial_size_bytes)
    raw.max_size_bytes = u64("max_size_bytes", config.max_size_bytes)
    raw.growth_increment_bytes = u64("growth_increment_bytes", config.growth_increment_bytes)
    raw.alignment_bytes = u64("alignment_bytes", config.alignment_bytes)
    raw.pre_allocate = bool(config.pre_allocate)
    raw.enable_stats = bool(config.enable_stats)
    raw.strategy = _native.encode("strategy", config.strategy)
    raw.name = _native.encode("name", config.name)
    return raw


class Pool(Resource):
    """A pool on a device: hands out blocks by address.

    Args:
        device: where its memory is.
        config: settings; None: the defaults of PoolConfig.

    Raises:
        InvalidConfigError: the settings contradict each other.
        NotFoundError: there is no such strategy; the message lists them.
        OutOfMemoryError: pre_allocate cannot be had.
    """

    def __init__(self, device: Device, config: PoolConfig | None = None) -> None:
        handle = _abi.ferrum_pool()
        raw = ctypes.byref(abi_config(config)) if config is not None else None
        _native.check(
            _native.library().ferrum_pool_create(device._handle, raw, ctypes.byref(handle))
        )
        end = _native.library().ferrum_pool_destroy
        self._device = device
        name = f" {config.name!r}" if config is not None and config.name else ""
        self._own(
            Owned(f"Pool{name} on {device.id}", lambda flags: end(handle, flags), device._node),
            handle,
        )

    @property
    def device(self) -> Device:
        """The device that the pool is on."""
        return self._device

    def close(self, *, force: bool = False) -> None:
        """Gives the pool's memory back to the system.

        Args:
            force: also while blocks are live; waits for queued work on freed blocks.

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
        stream: Stream | None = None,
    ) -> PoolBlock:
        """Takes a block.

        Args:
            size_bytes: not 0; rounded up to the pool's alignment.
            alignment_bytes: of the address, a power of two up to 1 GiB; None: the
                pool's.
            stream: the stream that will use the block first; None: the default one.

        Raises:
            OutOfMemoryError: there is no room, after all that is cached was given up
                and the reclaim callbacks were called; the message says who has it.
        """
        size = u64("size_bytes", size_bytes)
        address = _abi.ferrum_address()
        queue = optional_handle(stream)
        if alignment_bytes is None:
            status = _native.library().ferrum_pool_alloc(
                self._handle, size, queue, ctypes.byref(address)
            )
        else:
            status = _native.library().ferrum_pool_alloc_aligned(
                self._handle,
                size,
                u64("alignment_bytes", alignment_bytes),
                queue,
                ctypes.byref(address),
            )
        _native.check(status)
        return PoolBlock(self, address.value, size)

    def trim(self, keep_bytes: int = 0) -> int:
        """Gives segments without a live block back to the system, until no more than
        keep_bytes are held. Returns how many bytes it gave back."""
        released = ctypes.c_uint64()
        _native.check(
            _native.library().ferrum_pool_trim(
                self._handle, u64("keep_bytes", keep_bytes), ctypes.byref(released)
            )
        )
        return released.value

    def set_limit(self, max_size_bytes: int | None) -> None:
        """Changes the pool's upper bound; None or 0: none."""
        bound = 0 if max_size_bytes is None else u64("max_size_bytes", max_size_bytes)
        _native.check(_native.library().ferrum_pool_set_limit(self._handle, bound))

    def statistics(self) -> Statistics:
        """Books of the pool."""
        raw = _abi.ferrum_statistics.init()
        _native.check(_native.library().ferrum_pool_get_statistics(self._handle, ctypes.byref(raw)))
        return Statistics.from_abi(raw)


class _LiveBlock(Owned):
    """The record of a pool block, which remembers the stream that used it last."""

    def __init__(self, label: str, pool: Pool, address: int) -> None:
        self.stream = optional_handle(None)
        pool_handle = pool._handle
        free = _native.library().ferrum_pool_free
        super().__init__(label, lambda _flags: free(pool_handle, address, self.stream), pool._owned)


class PoolBlock(HostBuffer):
    """A block of a pool; Pool.alloc() makes it.

    Attributes:
        address: where it starts on the device; a pointer if the host addresses it.
        size_bytes: as asked for.
    """

    _owned: _LiveBlock

    def __init__(self, pool: Pool, address: int, size_bytes: int) -> None:
        self.address = address
        self.size_bytes = size_bytes
        self._pool = pool
        label = f"PoolBlock of {size_bytes} bytes on {pool.device.id}"
        self._own(_LiveBlock(label, pool, address), address)

    @property
    def pool(self) -> Pool:
        """The pool that the block is of."""
        return self._pool

    def free(self, stream: Stream | None = None) -> None:
        """Gives the block back; nothing if that was done before.

        Its memory is handed out again only once the work that is queued on the
        stream now is done. Does not wait.

        Args:
            stream: the stream that used the block last; None: the default one.

        Raises:
            ViewExistsError: a view still looks into the block; nothing has changed.
        """
        self._owned.stream = optional_handle(stream)
        self._owned.close()

    def close(self) -> None:
        """As free()."""
        self._owned.close()

    def __len__(self) -> int:
        return self.size_bytes

    def _host_range(self) -> tuple[int | None, int]:
        host = self._pool.device._info.host_addressable
        return self._handle if host else None, self.size_bytes
