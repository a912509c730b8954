"""Blocks mapped for the host, what is expected of them, and how they are used."""

from __future__ import annotations

import ctypes
from typing import Any

from . import _abi, _async, _native
from ._buffers import HostBuffer
from ._calls import MemoryCalls
from ._enums import HostAccess
from ._owned import Owned
from ._records import AccessStats
from ._values import u64


class HostMapping(HostBuffer):
    """A range of a block that the host addresses; Memory.map() makes it.

    view(), as_numpy() and buffer look into it. close(), or the end of the context,
    ends it, and writes a copy back.

    Attributes:
        access: what it was made for.
        is_staged: it is a copy, not the block itself.
        size_bytes: how long it is.
    """

    def __init__(self, block: AdvancedBlock, raw: _abi.ferrum_mapping, access: HostAccess) -> None:
        self.access = access
        self.is_staged = bool(raw.is_staged)
        self.size_bytes: int = raw.size_bytes
        self._pointer = raw.host_pointer
        memory, mapping_id = block._handle, raw.mapping_id
        end = _native.functions().ferrum_memory_unmap
        label = f"mapping of {self.size_bytes} bytes of the {block._owned.label}"
        self._own(Owned(label, lambda _flags: end(memory, mapping_id), block._owned), mapping_id)

    def close(self) -> None:
        """Ends the mapping; a copy that is not read-only is written back.

        Raises:
            ViewExistsError: a view still looks into it; nothing has changed.
        """
        self._owned.close()

    async def close_async(self) -> None:
        """As close(), which may have a copy to write back."""
        await _async.in_thread(self.close)

    def view(self) -> memoryview:
        """The range as a memoryview of bytes, writable unless it is only read."""
        whole = super().view()
        return whole.toreadonly() if self.access == HostAccess.READ_ONLY else whole

    def __len__(self) -> int:
        return self.size_bytes

    def _host_range(self) -> tuple[int | None, int]:
        _ = self._handle
        return self._pointer, self.size_bytes


class AdvancedBlock(MemoryCalls, HostBuffer):
    """What a block can besides copies: mappings, hints, statistics."""

    def map(
        self,
        access: HostAccess = HostAccess.READ_WRITE,
        *,
        offset_bytes: int = 0,
        size_bytes: int | None = None,
    ) -> HostMapping:
        """Makes a range of the block addressable by the host, after what is queued on
        the streams that have used it. While it is mapped the block is neither moved nor
        given back. The same range with the same access can be mapped again.

        Args:
            access: what is done through it; what WRITE_ONLY does not write has no
                defined value afterwards.
            offset_bytes: where in the block to start.
            size_bytes: how many; None: all from the offset on.

        Raises:
            BusyError: it is to be written, and overlaps what is mapped for writing.
        """
        request = _abi.ferrum_map_request.init()
        request.memory = self._handle
        request.access = int(access)
        request.offset_bytes = u64("offset_bytes", offset_bytes)
        if size_bytes is not None:
            request.size_bytes = u64("size_bytes", size_bytes)
        raw = _abi.ferrum_mapping.init()
        library = _native.functions()
        _native.check(library.ferrum_memory_map(ctypes.byref(request), ctypes.byref(raw)))
        return HostMapping(self, raw, HostAccess(access))

    async def map_async(
        self,
        access: HostAccess = HostAccess.READ_WRITE,
        *,
        offset_bytes: int = 0,
        size_bytes: int | None = None,
    ) -> HostMapping:
        """As map(). A mapping that a cancelled task would have got is ended."""
        return await _async.in_thread(
            lambda: self.map(access, offset_bytes=offset_bytes, size_bytes=size_bytes),
            HostMapping.close,
        )

    def access_stats(self) -> AccessStats | None:
        """How the block was used; None when its manager does not track."""
        raw = _abi.ferrum_access_stats.init()
        _native.check(
            _native.functions().ferrum_memory_get_access_stats(self._handle, ctypes.byref(raw))
        )
        return AccessStats.from_abi(raw) if raw.is_tracked else None


def end_block(handle: _abi.ferrum_memory, flags: int) -> int:
    """Gives a block back; with force also one that is pinned or mapped, and one of
    somebody else's memory after the work that is queued on it."""
    library = _native.functions()
    status: int = library.ferrum_memory_free(handle)
    if flags & _abi.FERRUM_FORCE:
        while status == _abi.FERRUM_ERROR_BUSY and _loosen(library, handle):
            status = library.ferrum_memory_free(handle)
    return status


def _loosen(library: Any, handle: _abi.ferrum_memory) -> bool:
    """Ends one pin or mapping, or else waits for the work as a mapping does."""
    if library.ferrum_memory_unpin(handle) == _abi.FERRUM_OK:
        return True
    if library.ferrum_memory_unmap(handle, 0) == _abi.FERRUM_OK:
        return True
    request = _abi.ferrum_map_request.init()
    request.memory = handle
    request.access = _abi.FERRUM_HOST_READ_ONLY
    raw = _abi.ferrum_mapping.init()
    if library.ferrum_memory_map(ctypes.byref(request), ctypes.byref(raw)) != _abi.FERRUM_OK:
        return False
    ended: int = library.ferrum_memory_unmap(handle, raw.mapping_id)
    return ended == _abi.FERRUM_OK
