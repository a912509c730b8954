"""MiniLM as an executor of the library, which reads the model's files itself."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import Any

import ferrum_mem as fm
import numpy as np
from ferrum_mem import _abi, _native

Array = Any
NAME = b"last_hidden_state"


class Executor:
    """A built model, with a backend and an elastic pool of its own.

    Args:
        folder: the model.
        threads: number of threads of the backend; 0: as many as the process may use.
    """

    def __init__(self, folder: Path, threads: int = 0) -> None:
        self.compute = fm.Compute("cpu:0", threads=threads)
        # The system gives huge pages to private memory.
        config = fm.ElasticPoolConfig(limit_bytes=1 << 30, backing=fm.Backing.PRIVATE)
        self.pool = fm.ElasticPool("cpu:0", config)
        self.library = _native.functions()
        self.handle = _abi.ferrum_executor()
        self.given: tuple[Array, Array] | None = None
        self.out = np.empty(0, "float32")
        request = _abi.ferrum_build_request.init()
        request.path = str(folder).encode()
        request.compute, request.elastic_pool = self.compute._handle, self.pool._handle
        _native.check(
            self.library.ferrum_executor_build(ctypes.byref(request), ctypes.byref(self.handle))
        )
        self.hidden: int = self.info()["dimensions"]["hidden_size"]

    def __call__(self, ids: Array, mask: Array) -> Array:
        """The last hidden state."""
        if self.given is None or self.given[0] is not ids or self.given[1] is not mask:
            self.given = ids, mask
            self.out = np.empty((*ids.shape, self.hidden), "float32")
            self.tensors = [fm.Tensor.from_numpy(each) for each in (ids, mask, self.out)]
            named = _abi.ferrum_named_tensor
            one, two, out = (each._handle for each in self.tensors)
            self.inputs = (named * 2)(named(b"input_ids", one), named(b"attention_mask", two))
            self.outputs = (named * 1)(named(NAME, out))
        _native.check(
            self.library.ferrum_executor_run(
                self.handle, self.inputs, 2, self.outputs, 1, _abi.ferrum_stream(),
                _abi.FERRUM_WAIT_FOREVER,
            )
        )  # fmt: skip
        return self.out

    def info(self) -> dict[str, Any]:
        """The state."""
        function = self.library.ferrum_executor_info_json
        found: dict[str, Any] = _native.read_json(lambda *room: function(self.handle, *room))
        return found

    def arena_bytes(self, batch: int, tokens: int) -> int:
        """The memory that is planned for the activations of a shape."""
        text, function = (
            json.dumps({"batch": batch, "sequence": tokens}).encode(),
            self.library.ferrum_executor_plan_json,
        )
        found = _native.read_json(lambda *room: function(self.handle, text, len(text), *room))
        return int(found["arena_bytes"])

    def taken(self) -> int:
        """Blocks, ranges and segments that the backend and the pool took so far."""
        both = self.compute.statistics(), self.pool.statistics()
        return sum(each.allocations + each.segments.peak for each in both)

    def sleep(self) -> None:
        """Puts the model to sleep in host memory."""
        _native.check(self.library.ferrum_executor_sleep(self.handle, None, None))

    def wake(self) -> None:
        """Wakes the model."""
        _native.check(self.library.ferrum_executor_wake(self.handle, None, None))

    def close(self) -> None:
        """Frees everything."""
        _native.check(self.library.ferrum_executor_destroy(self.handle, 0))
        self.pool.close()
        self.compute.close()
