"""Memory for tensors: a pool, a virtual pool, or a model of an elastic pool."""

from __future__ import annotations

from . import _abi, _native
from ._values import u64, wrong_class
from .elastic_pools import Model
from .pools import Pool
from .virtual_pools import VirtualPool

Place = Pool | VirtualPool | Model


def raw_memory(memory: Place, offset_bytes: int, tag: str | None) -> _abi.ferrum_weights_memory:
    """The memory for a call of the library.

    Args:
        memory: where.
        offset_bytes: of the first page in a virtual pool.
        tag: tag of the memory.

    Raises:
        TypeError: it is no such memory.
    """
    raw = _abi.ferrum_weights_memory()
    offset = u64("offset_bytes", offset_bytes)
    if isinstance(memory, Model):
        raw.elastic_pool = memory._pool._handle
        raw.model = _native.encode("model", memory.id)
    elif isinstance(memory, VirtualPool):
        raw.vpool = memory._handle
        raw.offset_bytes = offset
    elif isinstance(memory, Pool):
        raw.pool = memory._handle
    else:
        raise wrong_class("memory", "a Pool, a VirtualPool or a Model", memory)
    raw.tag = _native.encode("tag", tag)
    return raw
