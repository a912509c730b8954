"""Starting and stopping the library, and the exit of the interpreter.

Owns the number of init() calls of this package. The library has a count of its own, which
includes other users in the process.
"""

from __future__ import annotations

import atexit
import ctypes
import threading
from typing import TYPE_CHECKING

from . import _abi, _callbacks, _native, _sites
from ._owned import Node, Owned, doom, views_lock
from ._values import i32, u32, u64
from .errors import NotInitializedError

if TYPE_CHECKING:
    from .results import Snapshot
    from .types import LeakReport

# The open devices. Every other object depends on one of them.
opens = Node()

_lock = threading.RLock()
_starts = 0
_started_by_itself = False


def init(
    *,
    host_devices: int = 0,
    host_memory_bytes: int = 0,
    host_memory_forced: bool = False,
    leave_signal_handlers: bool = False,
    probe_in_process: bool = False,
) -> None:
    """Starts the library, or joins it if it runs. Each call needs one shutdown().

    Opening a device starts the library with its defaults. One shutdown() ends that start,
    and a later init() takes it over.

    Args:
        host_devices: number of devices cpu:0, cpu:1, ... that share the capacity; 0: the
            value of FERRUM_HOST_DEVICES, or 1.
        host_memory_bytes: capacity of all host devices together; 0: the value of
            FERRUM_HOST_MEMORY, or what the process may use.
        host_memory_forced: accept more than the memory of the machine.
        leave_signal_handlers: do not add SA_ONSTACK to signal handlers. Python's own
            handlers have it. A handler of an extension module without it overwrites memory
            of the library.
        probe_in_process: load the vendors' libraries in this process to find devices, where
            the system forbids starting a probe process. A broken driver can then crash this
            process.

    Raises:
        InvalidStateError: the library runs with other settings.
        InvalidConfigError: a setting, also one of the environment, is not valid.
        ResourceExhaustedError, OutOfMemoryError: the process cannot get the descriptors,
            threads or memory that the library needs.
    """
    global _starts, _started_by_itself
    config = _abi.ferrum_config.init()
    config.host_devices = u32("host_devices", host_devices)
    config.host_memory_bytes = u64("host_memory_bytes", host_memory_bytes)
    if host_memory_forced:
        config.flags |= _abi.FERRUM_CONFIG_HOST_MEMORY_FORCED
    if leave_signal_handlers:
        config.flags |= _abi.FERRUM_CONFIG_LEAVE_SIGNAL_HANDLERS
    if probe_in_process:
        config.flags |= _abi.FERRUM_CONFIG_PROBE_IN_PROCESS
    has_settings = bool(host_devices or host_memory_bytes or config.flags)
    library = _native.functions()
    _native.refuse_forked()
    with _lock:
        _native.check(library.ferrum_init(ctypes.byref(config) if has_settings else None))
        if _started_by_itself:
            # init() has joined the running library, so this is not the last shutdown.
            _native.check(library.ferrum_shutdown(0))
            _started_by_itself = False
        else:
            _starts += 1


def ensure_started() -> None:
    """Starts the library with its defaults if this package has not started it."""
    global _starts, _started_by_itself
    if _starts:
        return
    _native.refuse_forked()
    with _lock:
        if not _starts:
            _native.check(_native.functions().ferrum_init(None))
            _starts += 1
            _started_by_itself = True


def shutdown(*, force: bool = False) -> None:
    """Ends one init(). The last one stops the library and releases its memory.

    Args:
        force: also while objects are in use. They are ended, the log reports them, and
            leak_report() keeps them.

    Raises:
        BusyError: an object is in use; nothing has changed.
        ViewExistsError: with force, memory has a view.
        NotInitializedError: no init() is left to end.
    """
    global _starts, _started_by_itself
    library = _native.functions()
    _native.refuse_forked()
    with _lock:
        if not _starts:
            raise NotInitializedError(
                _abi.FERRUM_ERROR_NOT_INITIALIZED, "shutdown() was called more often than init()"
            )
        with views_lock:
            everything = _everything() if force else []
            doom(everything, "shutdown(force=True)")
            nodes = {owned.subject() for owned in everything}
            for node in nodes:
                node.ends_dependents = True
        status = library.ferrum_shutdown(_abi.FERRUM_FORCE if force else 0)
        if status < 0 or _is_running():
            for owned in everything:
                owned.doomed = False
            for node in nodes:
                node.ends_dependents = False
        else:
            # Other threads may have made objects since the check for views.
            late = _everything() if force else []
            for owned in dict.fromkeys([*everything, *late]):
                owned.finish()
        _native.check(status)
        _starts -= 1
        _started_by_itself = False


def _everything() -> list[Owned]:
    found = []
    for opened in list(opens.below):
        found += [opened, *opened.subject().everything_below()]
    return list(dict.fromkeys(found))


def _is_running() -> bool:
    length = ctypes.c_size_t()
    status = _native.functions().ferrum_snapshot_json(None, 0, ctypes.byref(length))
    return status != _abi.FERRUM_ERROR_NOT_INITIALIZED


def snapshot() -> Snapshot:
    """All counters of the library. The header describes the keys."""
    ensure_started()
    books: Snapshot = _native.read_json(_native.functions().ferrum_snapshot_json)
    return books


def leak_report() -> LeakReport:
    """The objects and blocks that exist now. After shutdown(): those that existed then."""
    # Importing the records takes long, and many programs need none.
    from .types import LeakReport

    raw = _native.read_json(_native.functions().ferrum_leak_report_json)
    return LeakReport.from_json(raw)


def abi_version() -> int:
    """Version of the binary interface of the loaded library."""
    return _native.functions().ferrum_abi_version()


def library_version() -> str:
    """Version of the loaded library, for example "0.1.0"."""
    text = _native.functions().ferrum_version_string()
    return text.decode() if text else ""


def status_name(status: int) -> str:
    """Name of a status, for example "FERRUM_ERROR_BUSY"."""
    text = _native.functions().ferrum_status_name(i32("status", status))
    return text.decode() if text else ""


def status_text(status: int) -> str:
    """The meaning of a status, in a few words."""
    return _native.status_text(i32("status", status))


@atexit.register
def _at_exit() -> None:
    """Ends every callback, so that no thread of the library calls into the interpreter.

    Open objects stay open: the system frees them with the process, and later exit handlers
    may still use them. Waits for queued host functions, as a program waits for its threads.
    Ctrl-C ends the wait.
    """
    if not _native.is_loaded() or _native.is_forked():
        return
    library = _native.functions()
    if _callbacks.has_log_callback():
        library.ferrum_log_set_callback(_abi.FERRUM_LOG_ERROR, _abi.ferrum_log_fn(), None)
    _sites.stop(library)
    for opened in list(opens.below):
        opened.at_exit()
