"""Waiting in a way that Ctrl-C can interrupt.

Python runs signal handlers in the main thread, between two of its own instructions. So in
the main thread a long wait is split into slices.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from . import _abi, _native
from ._values import wait_limit_ns

SLICE_NS = 50_000_000


def wait(call: Callable[[int], int], timeout_s: float | None) -> None:
    """Calls call(timeout_ns) until it is done or the timeout has passed."""
    timeout_ns = wait_limit_ns("timeout_s", timeout_s)
    # get_ident(), because current_thread() would create an entry for an external thread.
    if threading.get_ident() != threading.main_thread().ident or timeout_ns <= SLICE_NS:
        _native.check(call(timeout_ns))
        return
    end_ns = time.monotonic_ns() + timeout_ns
    while True:
        # A timeout of 0 has another meaning for some calls.
        left_ns = max(end_ns - time.monotonic_ns(), 1)
        if timeout_ns == _abi.FERRUM_WAIT_FOREVER:
            left_ns = timeout_ns
        status = call(min(left_ns, SLICE_NS))
        if status != _abi.FERRUM_ERROR_TIMEOUT:
            _native.check(status)
            return
        if left_ns <= SLICE_NS:
            error = _native.error_of(status)
            # The library's message states the last slice; the caller passed the whole
            # timeout.
            error.message = f"not done in {timeout_s} s"
            raise error
