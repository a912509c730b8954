"""Host mappings of blocks, usage hints and access statistics."""

from __future__ import annotations

import ctypes
from typing import Any

from . import _abi, _async, _native
from ._arguments import choice
from ._buffers import HostBuffer
from ._calls import MemoryCalls
from ._enums import HostAccess
from ._owned import Owned
from ._records import AccessStats
from ._values import size_text, u64


class HostMapping(HostBuffer, _async.AsyncResource):
    """A range of a block that the host can address. Memory.map() creates it.

    view(), as_numpy() and buffer show it. unmap(), or the end of the context, ends the
    mapping and writes a staging copy back.

    Attributes:
        access: the access of the mapping.
        is_staged: it is a staging copy, not the block itself.
        size_bytes: its length.
    """

    def __init__(self, block: AdvancedBlock, raw: _abi.ferrum_mapping, access: HostAccess) -> None:
        self.access = access
        self.is_staged = bool(raw.is_staged)
        self.size_bytes: int = raw.size_bytes
        self._pointer = raw.host_pointer
        memory, mapping_id = block._handle, raw.mapping_id
        end = _native.functions().ferrum_memory_unmap
        label = f"HostMapping of {size_text(self.size_bytes)} of the {block._owned.label}"
        self._own(Owned(label, lambda _flags: end(memory, mapping_id), block._owned), mapping_id)

    def unmap(self) -> None:
        """Ends the mapping. A staging copy that is not read-only is written back. Does nothing
        if it has ended.

        Raises:
            ViewExistsError: the mapping has a view; nothing has changed.
        """
        self._owned.close()

    def close(self) -> None:
        """The same as unmap()."""
        self.unmap()

    def view(self) -> memoryview:
        """The range as a memoryview of bytes. It is writable unless the access is READ_ONLY."""
        whole = super().view()
        return whole.toreadonly() if self.access == HostAccess.READ_ONLY else whole

    def __len__(self) -> int:
        return self.size_bytes

    def _host_range(self) -> tuple[int | None, int]:
        _ = self._handle
        return self._pointer, self.size_bytes


class AdvancedBlock(MemoryCalls, HostBuffer):
    """Mapping, hints and statistics of a block."""

    def map(
        self,
        access: HostAccess = HostAccess.READ_WRITE,
        *,
        offset_bytes: int = 0,
        size_bytes: int | None = None,
    ) -> HostMapping:
        """Maps a range of the block for the host, after the work that is queued on the streams
        that have used the block. A mapped block is neither moved nor freed. The same range
        can be mapped again with the same access.

        Args:
            access: the access through the mapping. With WRITE_ONLY, bytes that the host
                does not write are undefined afterwards.
            offset_bytes: start in the block.
            size_bytes: number of bytes; None: all from the offset on.

        Raises:
            BusyError: it is mapped for writing and overlaps another mapping for writing.
        """
        request = _abi.ferrum_map_request.init()
        request.memory = self._handle
        request.access = choice("access", access, HostAccess)
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
        """The same as map(). If the task is cancelled, the mapping is ended."""
        return await _async.in_thread(
            lambda: self.map(access, offset_bytes=offset_bytes, size_bytes=size_bytes),
            HostMapping.close,
        )

    def access_stats(self) -> AccessStats | None:
        """How the block was used. None if its manager does not track."""
        raw = _abi.ferrum_access_stats.init()
        _native.check(
            _native.functions().ferrum_memory_get_access_stats(self._handle, ctypes.byref(raw))
        )
        return AccessStats.from_abi(raw) if raw.is_tracked else None


def end_block(handle: _abi.ferrum_memory, flags: int) -> int:
    """Frees a block. With force also a pinned or mapped block, and a block of external memory
    after the work that is queued on it.
    """
    library = _native.functions()
    status: int = library.ferrum_memory_free(handle)
    if flags & _abi.FERRUM_FORCE:
        while status == _abi.FERRUM_ERROR_BUSY and _unpin_or_unmap(library, handle):
            status = library.ferrum_memory_free(handle)
    return status


def _unpin_or_unmap(library: Any, handle: _abi.ferrum_memory) -> bool:
    """Ends one pin or mapping, or else waits for the queued work in the way of a mapping."""
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
