"""KV caches: the blocks of a paged KV cache. docs/kvcache.md explains them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING

from . import _abi, _callbacks, _library, _native
from ._arguments import callable_of, object_of, record
from ._calls import KvCacheCalls
from ._enums_by_hand import PressureLevel
from ._homes import Home
from ._owned import Owned
from ._places import raw_memory
from ._values import u32, u64
from .devices import Registration
from .elastic_pools import Model
from .pools import Pool
from .streams import Stream, optional_handle
from .virtual_pools import VirtualPool

if TYPE_CHECKING:
    from ._places import Place
    from ._records import KvCacheConfig
    from .tensors import Tensor


class KvCache(KvCacheCalls):
    """The blocks of a paged KV cache. A sequence is a number that the cache chooses.

    Args:
        config: the settings.
        memory: a pool, a virtual pool, or a model of an elastic pool. None: the cache only
            manages the numbers of blocks, and append(), swap_out() and swap_in() return the
            copies that the program has to make.
        offset_bytes: start in a virtual pool (whole pages).
        tag: tag of the memory.
        host_pool: the memory for sequences that are swapped out, for config.host_blocks.
        stream: the stream of the copies; None: the default stream of the device.

    Raises:
        InvalidConfigError: for a setting; the message names it.
        OutOfMemoryError and others: of the memory.
    """

    def __init__(
        self,
        config: KvCacheConfig,
        memory: Place | None = None,
        *,
        offset_bytes: int = 0,
        tag: str | None = None,
        host_pool: Pool | None = None,
        stream: Stream | None = None,
    ) -> None:
        settings = record("config", config, "KvCacheConfig").to_abi()
        self._memory, self._tag = memory, tag
        self._host_pool = host_pool
        raw, parent = _abi.ferrum_weights_memory(), None
        if memory is not None:
            object_of("memory", memory, Pool, VirtualPool, Model)
            raw = raw_memory(memory, offset_bytes, tag)
            parent = memory._owned
        else:
            u64("offset_bytes", offset_bytes)
            raw.tag = _native.encode("tag", tag)
            _library.ensure_started()
        host = _abi.ferrum_pool()
        if host_pool is not None:
            host = object_of("host_pool", host_pool, Pool)._handle
        library, handle = _native.functions(), _abi.ferrum_kv_cache()
        _native.check(
            library.ferrum_kv_cache_create(
                ctypes.byref(settings),
                ctypes.byref(raw),
                host,
                optional_handle(stream),
                ctypes.byref(handle),
            )
        )
        end = library.ferrum_kv_cache_destroy
        self._own(
            Owned("KvCache", lambda flags: end(handle, flags), parent or _library.opens), handle
        )

    def close(self, force: bool = False) -> None:
        """Destroys the cache and frees its memory.

        Args:
            force: end its sequences too.

        Raises:
            BusyError: a sequence lives, or a tensor is a view of its memory.
        """
        self._owned.close(_abi.FERRUM_FORCE if force else 0)

    def on_pressure(self, callback: Callable[[PressureLevel], object]) -> Registration:
        """Registers callback(level) for changes of the level of the used blocks.

        The callback runs on the thread whose call changed the level. Closing the returned
        registration removes it.
        """
        registration, forget = _callbacks.add_pressure(
            self._handle,
            callable_of("callback", callback),
            _native.functions().ferrum_kv_cache_pressure_callback_add,
        )
        device = None if self._memory is None else self._memory.device
        return Registration(device, "pressure callback", registration, forget)

    def plane_tensor(self, layer: int, values: bool) -> Tensor:
        """A tensor over the keys of a layer, or over its values, of the shape
        [blocks, kv_heads, block_tokens, head_dim].

        Raises:
            UnsupportedError: not all blocks always have memory.
            InvalidStateError: the cache has no memory.
        """
        from .tensors import Tensor

        handle = _abi.ferrum_tensor()
        _native.check(
            _native.functions().ferrum_kv_cache_plane_tensor(
                self._handle, u32("layer", layer), int(bool(values)), ctypes.byref(handle)
            )
        )
        memory = self._memory
        assert memory is not None  # the library has made a tensor
        space = memory if isinstance(memory, (VirtualPool, Model)) else None
        return Tensor._of(handle, Home(self._owned, memory.device, space=space, tag=self._tag))
