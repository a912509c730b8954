"""Dummies: lists of items."""

from __future__ import annotations

import ctypes

from . import _abi, _library, _native
from ._calls import DummyCalls, DummyJobCalls
from ._enums import DummyOrder
from ._owned import Owned
from ._records import DummyConfig


class DummyJob(DummyJobCalls):
    """A long operation on a dummy."""

    def __init__(self, handle: _abi.ferrum_dummy_job, parent: Owned) -> None:
        end = _native.functions().ferrum_dummy_job_destroy
        self._own(Owned("DummyJob", lambda flags: end(handle, flags), parent), handle)

    def close(self, force: bool = False) -> None:
        """Destroys the job. With force a running job is cancelled first."""
        self._owned.close(_abi.FERRUM_FORCE if force else 0)


class Dummy(DummyCalls):
    """A list of items."""

    def __init__(self, config: DummyConfig | None = None) -> None:
        _library.ensure_started()
        library, handle = _native.functions(), _abi.ferrum_dummy()
        raw = None if config is None else ctypes.byref(config.to_abi())
        _native.check(library.ferrum_dummy_create(raw, ctypes.byref(handle)))
        end = library.ferrum_dummy_destroy
        self._own(Owned("Dummy", lambda flags: end(handle, flags), _library.opens), handle)

    def close(self, force: bool = False) -> None:
        """Destroys the dummy. With force its jobs are destroyed too."""
        self._owned.close(_abi.FERRUM_FORCE if force else 0)

    def sort(self, order: DummyOrder) -> DummyJob:
        """Starts to sort the items."""
        job = _abi.ferrum_dummy_job()
        _native.check(
            _native.functions().ferrum_dummy_sort(self._handle, int(order), ctypes.byref(job))
        )
        return DummyJob(job, self._owned)
