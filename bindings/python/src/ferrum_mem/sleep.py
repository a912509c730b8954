"""Sleep and wake: ranges that give up their memory and keep their addresses."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from . import _abi, _async, _native
from ._enums import SleepBacking
from ._owned import LateEnds, Owned, Resource, views_lock
from ._records import WakeReport
from ._values import nanoseconds, u32
from .errors import InvalidStateError, ViewExistsError
from .streams import Stream, optional_handle


@dataclass(frozen=True)
class SleepReport:
    """What has gone to sleep.

    Attributes:
        released_bytes: memory that was given up.
        elapsed_ns: how long it took.
        path: the file of SleepBacking.FILE; None with the others, and where there was
            nothing to write.
    """

    released_bytes: int
    elapsed_ns: int
    path: str | None


class Sleeper(Resource):
    """What virtual pools and models have in common: ranges of them can sleep."""

    # Tag of ranges that were given none.
    _own_tag: str
    # Tags that are being put to sleep, None for all; held under views_lock.
    _dozing: list[str | None]
    # Ranges that were collected during a call.
    _late: LateEnds

    def _place(self) -> tuple[Any, ...]:
        """The arguments that say what a call is about."""
        raise NotImplementedError

    def _functions(self) -> tuple[Any, Any, Any]:
        """The functions that put to sleep, wake, and say whether it sleeps."""
        raise NotImplementedError

    def _takes(self, asked: str | None, tag: str | None) -> bool:
        """Whether a call for a tag is about a range with that tag."""
        return not asked or asked == (tag or self._own_tag)

    def _refuse_dozing(self, tag: str | None, label: str) -> None:
        """Refuses a view into what is being put to sleep; under views_lock."""
        if any(self._takes(asked, tag) for asked in self._dozing):
            raise InvalidStateError(
                _abi.FERRUM_ERROR_INVALID_STATE, f"the {label} is being put to sleep"
            )

    @contextmanager
    def _without_views(self, tag: str | None) -> Iterator[None]:
        """Refuses for views into what a call is about, and has none made meanwhile."""
        _native.refuse_forked()
        with views_lock:
            for owned in list(self._owned.below):
                if owned.views and self._takes(tag, getattr(owned, "tag", None)):
                    raise ViewExistsError(
                        _abi.FERRUM_ERROR_BUSY,
                        f"sleep of {self._owned.label}: {len(owned.views)} view(s) still look "
                        f"into the {owned.label}",
                    )
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
        """Has ranges give up their memory and keep their addresses, until wake().

        Nobody may use them meanwhile: there is no memory behind them. When it fails
        everything is as before, and it may be repeated. Until it has ended its ranges
        cannot be freed (BusyError).

        Args:
            tag: ranges of this tag; None: everything. Those that were given none have
                the pool's name, or the model's id.
            backing: where their bytes are kept.
            directory: of SleepBacking.FILE; None: the system's for temporary files.
            stream: only its queued work is waited for; None: all of the device.
            timeout_s: how long it may take; None: without an end; 0: as long as nothing
                has to be waited for.
            num_streams: copies at once, at most 64; 0: the library chooses.

        Raises:
            InvalidStateError: the tag, or everything, sleeps already.
            NotFoundError: no range has the tag.
            ViewExistsError: a view still looks into a range of it.
            ResourceExhaustedError: host memory, the disk or the process's bound on the
                size of files is used up.
            IoError, PermissionDeniedError: of the file.
            TimeoutError: it takes longer.
        """
        raw = _abi.ferrum_sleep_config.init()
        raw.backing = SleepBacking(backing)
        raw.tag = _native.encode("tag", tag)
        raw.directory = None if directory is None else os.fsencode(directory)
        raw.stream = optional_handle(stream)
        raw.timeout_ns = nanoseconds("timeout_s", timeout_s)
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
        """Has what sleeps get memory at its addresses, and its bytes back.

        Args:
            tag: what sleeps of this tag; None: everything.
            timeout_s, num_streams: as in sleep().

        Raises:
            InvalidStateError: nothing of it sleeps.
            OutOfPhysicalMemoryError, OutOfMemoryError: there is no room; it sleeps as
                before.
            CorruptedError: a file is not what was written.
            TimeoutError: it takes longer.
        """
        raw = _abi.ferrum_wake_config.init()
        raw.tag = _native.encode("tag", tag)
        raw.timeout_ns = nanoseconds("timeout_s", timeout_s)
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
        """As sleep(). What has begun is finished, also when the task is cancelled."""
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
        """As wake(). What has begun is finished, also when the task is cancelled."""
        return await _async.in_thread(
            lambda: self.wake(tag=tag, timeout_s=timeout_s, num_streams=num_streams)
        )

    def is_asleep(self, tag: str | None = None) -> bool:
        """Whether a tag sleeps; None: everything, with what may still come."""
        asleep = ctypes.c_uint32()
        function = self._functions()[2]
        text = _native.encode("tag", tag)
        _native.check(function(*self._place(), text, ctypes.byref(asleep)))
        return asleep.value != 0


def refuse_asleep(owned: Owned) -> InvalidStateError:
    """The error of a view into what sleeps."""
    return InvalidStateError(_abi.FERRUM_ERROR_INVALID_STATE, f"the {owned.label} is asleep")
