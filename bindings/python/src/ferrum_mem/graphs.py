"""Graphs: the memory that a pool keeps for captured work."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from . import _abi, _native
from ._arguments import handle_of
from ._owned import LateEnds, Node, Owned, Resource
from ._records import GraphInfo
from .pools import Pool
from .streams import Stream, optional_handle

__all__ = ["Graph", "GraphInfo"]


class _Graph(Owned):
    """The record of a graph. A graph that is collected during its capture is released after
    the capture.
    """

    may_force = False
    not_yet = (_abi.FERRUM_ERROR_BUSY, _abi.FERRUM_ERROR_INVALID_STATE)

    def __init__(self, label: str, end: Callable[[int], int], parent: Node, late: LateEnds) -> None:
        self._late = late
        super().__init__(label, end, parent)

    def end_quietly(self, may_wait: bool = False) -> None:
        """Like Owned.end_quietly(), but tries again after the capture of the graph."""
        mark = self._late.mark
        super().end_quietly(may_wait)
        if not self.ended:
            self._late.add(self, mark)


class Graph(Resource):
    """The memory that a pool keeps for a graph. Create it when the capture has begun, and
    close it when the graph will not run again.

    In between, allocations on the streams of the capture come from a private pool of the
    graph. Blocks that the captured work uses keep their memory, also after a free.

    If a Graph is collected during its capture, it is released after the capture: when the
    next graph of the pool is created, or at trim() or the close of the pool.

        begin_capture(stream)              # of the device's own runtime
        graph = fm.Graph(pool, stream=stream)
        ...                                # work that is captured
        end_capture(stream)
        graph.end()
        ...                                # the graph runs
        graph.close()

    Args:
        pool: the pool whose blocks the captured work uses.
        stream: a stream that captures now; None: the default stream.
        shared: a graph of the pool with which it shares a private pool. The two must run in
            the order of their captures, never at the same time.

    Raises:
        UnsupportedError: streams of the device do not capture.
        InvalidStateError: the stream does not capture, or an error invalidated the capture.
        AlreadyExistsError: the capture has a graph in this pool already.
        NotFoundError: shared is no graph of this pool, or was released.
        BusyError: another graph of the private pool of shared is being captured.
    """

    def __init__(
        self, pool: Pool, *, stream: Stream | None = None, shared: Graph | None = None
    ) -> None:
        handle = handle_of("pool", pool, Pool)
        pool._late.call_ended()
        number = ctypes.c_uint64()
        other = 0 if shared is None else handle_of("shared", shared, Graph)
        _native.check(
            _native.functions().ferrum_pool_capture_begin(
                handle, optional_handle(stream), other, ctypes.byref(number)
            )
        )
        release = _native.functions().ferrum_pool_capture_release
        # The stream of close(). The record must not refer to wrappers.
        last: list[Stream | None] = [None]

        def end(_flags: int) -> int:
            return release(handle, number, optional_handle(last[0]))

        self._pool, self._last = pool, last
        label = f"Graph {number.value} of {pool!r}"
        self._own(_Graph(label, end, pool._owned, pool._late), number.value)

    @property
    def pool(self) -> Pool:
        """The pool of the captured work."""
        return self._pool

    @property
    def number(self) -> int:
        """The number of the graph in its pool."""
        return int(self._handle)

    def end(self) -> None:
        """States that the capture has ended. Live blocks stay live.

        Raises:
            InvalidStateError: the stream still captures, or end() was called before.
        """
        _native.check(_native.functions().ferrum_pool_capture_end(self._pool._handle, self._handle))

    def close(self, *, stream: Stream | None = None) -> None:
        """States that the graph will not run again after the work that is queued on the stream
        now (None: the default stream). Does not wait for that work.

        Raises:
            InvalidStateError: the graph is being captured, or the stream captures; nothing
                has changed.
        """
        # Checked here: the record must be able to end without an error.
        optional_handle(stream)
        self._last[0] = stream
        self._owned.close()

    def info(self) -> GraphInfo:
        """Describes the graph."""
        raw = _abi.ferrum_graph_info.init()
        _native.check(
            _native.functions().ferrum_pool_capture_get_info(
                self._pool._handle, self._handle, ctypes.byref(raw)
            )
        )
        return GraphInfo.from_abi(raw)
