"""Sleep and wake: ranges release their memory and keep their addresses."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from . import _abi, _async, _native
from ._arguments import choice, file_path
from ._enums import SleepBacking
from ._owned import LateEnds, Owned, Resource, views_lock
from ._records import WakeReport
from ._values import u32, wait_limit_ns
from .errors import InvalidStateError
from .streams import Stream, optional_handle


@dataclass(frozen=True)
class SleepReport:
    """The result of a sleep.

    Attributes:
        released_bytes: memory that was released.
        elapsed_ns: duration.
        path: the file of SleepBacking.FILE; None for other backings, and if there was
            nothing to write.
    """

    released_bytes: int
    elapsed_ns: int
    path: str | None


class Sleeper(Resource):
    """Sleep and wake of ranges, for virtual pools and models."""

    # Tag of ranges that were allocated without one.
    _own_tag: str
    # Tags that a sleep is working on; None: all. Guarded by views_lock.
    _dozing: list[str | None]
    # Ranges that were collected during a sleep or a wake.
    _late: LateEnds

    def _place(self) -> tuple[Any, ...]:
        """The arguments that identify the pool or the model."""
        raise NotImplementedError

    def _functions(self) -> tuple[Any, Any, Any]:
        """The functions for sleep, wake, and the query whether it is asleep."""
        raise NotImplementedError

    def _takes(self, asked: str | None, tag: str | None) -> bool:
        """Whether a call for the tag asked includes a range with this tag."""
        return not asked or asked == (tag or self._own_tag)

    def _refuse_dozing(self, tag: str | None, label: str) -> None:
        """Raises if a sleep is working on the range. The caller holds views_lock."""
        if any(self._takes(asked, tag) for asked in self._dozing):
            raise InvalidStateError(
                _abi.FERRUM_ERROR_INVALID_STATE, f"the {label} is being put to sleep"
            )

    @contextmanager
    def _without_views(self, tag: str | None) -> Iterator[None]:
        """Raises if a range of the call has a view, and prevents new views until it is left."""
        _native.refuse_forked()
        with views_lock:
            for owned in self._owned.everything_below():
                if owned.views and self._takes(tag, owned.tag):
                    raise owned.in_use(f"sleep of {self._owned.label}")
            self._dozing.append(tag)
        try:
            yield
        finally:
            with views_lock:
                self._dozing.remove(tag)

    def sleep(
        self,
        *,
        tag: str | None = None,
        backing: SleepBacking = SleepBacking.HOST,
        directory: str | os.PathLike[str] | None = None,
        stream: Stream | None = None,
        timeout_s: float | None = None,
        num_streams: int = 0,
    ) -> SleepReport:
        """Ranges release their memory and keep their addresses until wake().

        The ranges must not be used while they are asleep: they have no memory. A failed
        call changes nothing and may be repeated. While it runs, its ranges cannot be freed
        (BusyError).

        Args:
            tag: ranges of this tag; None: all ranges. Ranges without a tag have the pool's
                name, or the model's id.
            backing: where the contents are kept.
            directory: of SleepBacking.FILE; None: the system's directory for temporary
                files.
            stream: wait only for the queued work of this stream; None: of the whole device.
            timeout_s: maximum duration; None: no limit; 0: fail if the call has to wait.
            num_streams: number of parallel copies, at most 64; 0: the library chooses.

        Raises:
            InvalidStateError: the tag, or everything, is asleep already.
            NotFoundError: no range has the tag.
            ViewExistsError: one of the ranges has a view.
            ResourceExhaustedError: host memory, disk space or the process's limit on file
                size is exhausted.
            IoError, PermissionDeniedError: for the file.
            TimeoutError: the timeout has passed.
        """
        raw = _abi.ferrum_sleep_config.init()
        raw.backing = choice("backing", backing, SleepBacking)
        raw.tag = _native.encode("tag", tag)
        raw.directory = None if directory is None else file_path("directory", directory)
        raw.stream = optional_handle(stream)
        raw.timeout_ns = wait_limit_ns("timeout_s", timeout_s)
        raw.num_streams = u32("num_streams", num_streams)
        report = _abi.ferrum_sleep_report.init()
        function = self._functions()[0]
        place = self._place()
        with self._without_views(tag):
            try:
                _native.check(function(*place, ctypes.byref(raw), ctypes.byref(report)))
            finally:
                self._late.call_ended()
        path = os.fsdecode(report.path) or None
        return SleepReport(report.released_bytes, report.elapsed_ns, path)

    def wake(
        self,
        *,
        tag: str | None = None,
        timeout_s: float | None = None,
        num_streams: int = 0,
    ) -> WakeReport:
        """Restores the memory of ranges that are asleep, at their addresses and with their
        contents.

        Args:
            tag: ranges of this tag; None: all ranges.
            timeout_s, num_streams: as for sleep().

        Raises:
            InvalidStateError: none of the ranges is asleep.
            OutOfPhysicalMemoryError, OutOfMemoryError: not enough memory; the ranges stay
                asleep.
            CorruptedError: a file differs from what was written.
            TimeoutError: the timeout has passed.
        """
        raw = _abi.ferrum_wake_config.init()
        raw.tag = _native.encode("tag", tag)
        raw.timeout_ns = wait_limit_ns("timeout_s", timeout_s)
        raw.num_streams = u32("num_streams", num_streams)
        report = _abi.ferrum_wake_report.init()
        function = self._functions()[1]
        try:
            _native.check(function(*self._place(), ctypes.byref(raw), ctypes.byref(report)))
        finally:
            self._late.call_ended()
        return WakeReport.from_abi(report)

    async def sleep_async(
        self,
        *,
        tag: str | None = None,
        backing: SleepBacking = SleepBacking.HOST,
        directory: str | os.PathLike[str] | None = None,
        stream: Stream | None = None,
        timeout_s: float | None = None,
        num_streams: int = 0,
    ) -> SleepReport:
        """The same as sleep(). A sleep that has begun runs to its end, also when the task is
        cancelled.
        """
        return await _async.in_thread(
            lambda: self.sleep(
                tag=tag,
                backing=backing,
                directory=directory,
                stream=stream,
                timeout_s=timeout_s,
                num_streams=num_streams,
            )
        )

    async def wake_async(
        self,
        *,
        tag: str | None = None,
        timeout_s: float | None = None,
        num_streams: int = 0,
    ) -> WakeReport:
        """The same as wake(). A wake that has begun runs to its end, also when the task is
        cancelled.
        """
        return await _async.in_thread(
            lambda: self.wake(tag=tag, timeout_s=timeout_s, num_streams=num_streams)
        )

    def is_asleep(self, tag: str | None = None) -> bool:
        """Whether a tag is asleep. None: whether everything is, including ranges of later calls."""
        asleep = ctypes.c_uint32()
        function = self._functions()[2]
        text = _native.encode("tag", tag)
        _native.check(function(*self._place(), text, ctypes.byref(asleep)))
        return asleep.value != 0


def refuse_asleep(owned: Owned) -> InvalidStateError:
    """The error of a view of a range that is asleep."""
    return InvalidStateError(_abi.FERRUM_ERROR_INVALID_STATE, f"the {owned.label} is asleep")
