"""Backends and devices."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from . import _abi, _callbacks, _library, _native
from ._arguments import callable_of
from ._calls import DeviceCalls
from ._enums_by_hand import PressureLevel
from ._owned import Node, Owned, Resource
from ._values import i32, nanoseconds, u64, wrong_class
from ._waits import SLICE_NS

if TYPE_CHECKING:
    from ._records import BlockOwner, MemoryInfo
    from .streams import Stream
    from .types import BackendInfo, DeviceInfo, PageSizes

# The dependents of a device depend on the native device, which several Device objects may
# have open. So there is one node for each handle.
_nodes: weakref.WeakValueDictionary[int, Node] = weakref.WeakValueDictionary()
_nodes_lock = threading.Lock()


def backends() -> tuple[BackendInfo, ...]:
    """All backends with their devices, or with the reason why one is unavailable here."""
    from .types import BackendInfo

    _library.ensure_started()
    raw = _native.read_json(_native.functions().ferrum_backends_json)
    return tuple(BackendInfo.from_json(entry) for entry in raw["backends"])


class _OpenDevice(Owned):
    # Other code may have the device open, and its objects must stay.
    may_force = False
    # Another object was created with the id of a device, opened this record and closes it.
    has_keeper = False

    def __init__(self, label: str, handle: _abi.ferrum_device, node: Node) -> None:
        self.node = node
        self.handle = handle
        end = _native.functions().ferrum_device_close
        super().__init__(label, lambda flags: end(handle, flags), _library.opens)

    def subject(self) -> Node:
        return self.node

    def at_exit(self) -> None:
        for owned in list(self.node.below):
            owned.at_exit()
        if _callbacks.work_calls_back():
            synchronize = _native.functions().ferrum_device_synchronize
            while synchronize(self.handle, SLICE_NS) == _abi.FERRUM_ERROR_TIMEOUT:
                # Python handles Ctrl-C between two waits.
                continue

    def abandon(self) -> None:
        if not self.has_keeper:
            super().abandon()

    def finish(self, doomed: Iterable[Owned] = ()) -> None:
        others = [owned for owned in doomed if owned is not self]
        info = _abi.ferrum_device_info.init()
        if (others or self.node.ends_dependents) and (
            _native.functions().ferrum_device_get_info(self.handle, ctypes.byref(info)) >= 0
        ):
            # Other Device objects still have it open, so its objects stay.
            for owned in others:
                owned.doomed = False
            self.node.ends_dependents = False
            others = []
        super().finish(others)


def device_id_of(handle: _abi.ferrum_device) -> str | None:
    """The id of an open device. None for a NULL handle and for a closed device."""
    info = _abi.ferrum_device_info.init()
    if not handle.id or _native.functions().ferrum_device_get_info(handle, ctypes.byref(info)) < 0:
        return None
    return info.id.decode()


class Device(DeviceCalls):
    """An open device, for example Device("cpu:0").

    A class that takes a device also takes its id: Pool("cpu:0") opens the device, and
    closes it with the pool or with the last object that was created on the device since.

    Several objects may have one device open, and the last one closes it. Opening the first
    device starts the library with its defaults, unless init() has started it.

    Args:
        device_id: such as "cpu:0". A CUDA device also by UUID or PCI address:
            "cuda:GPU-...".
        native_context: a context of the program in the vendor's runtime, such as a
            CUcontext. All work runs in it, and the program must keep it until the device is
            closed. 0: the device's own context.

    Raises:
        DeviceNotFoundError: the device does not exist.
        InvalidArgumentError: the id has another form, or the context is of another device.
        AlreadyExistsError: the device is open with another context.
    """

    _owned: _OpenDevice

    def __init__(self, device_id: str, *, native_context: int = 0) -> None:
        text = _native.encode_required("device_id", device_id)
        native = u64("native_context", native_context)
        _library.ensure_started()
        handle, library = _abi.ferrum_device(), _native.functions()
        if native:
            status = library.ferrum_device_open_native(text, native, ctypes.byref(handle))
        else:
            status = library.ferrum_device_open(text, ctypes.byref(handle))
        _native.check(status)
        with _nodes_lock:
            node = _nodes.get(handle.id)
            if node is None:
                node = _nodes[handle.id] = Node()
        self._node = node
        self._own(_OpenDevice(f"Device {device_id}", handle, node), handle)
        self._info_at_open = self._read_info()
        self._id: str = self._info_at_open.id.decode("utf-8", "replace")
        self._owned.label = f"Device {self._id}"

    @property
    def id(self) -> str:
        """The id, for example "cpu:0"."""
        return self._id

    def info(self) -> DeviceInfo:
        """Describes the device."""
        # Importing the records takes long, and many programs need none.
        from .types import DeviceInfo

        return DeviceInfo.from_abi(self._read_info())

    def _read_info(self) -> _abi.ferrum_device_info:
        raw = _abi.ferrum_device_info.init()
        _native.check(_native.functions().ferrum_device_get_info(self._handle, ctypes.byref(raw)))
        return raw

    @functools.cached_property
    def _info(self) -> DeviceInfo:
        """The description from the opening of the device. Available after close()."""
        from .types import DeviceInfo

        return DeviceInfo.from_abi(self._info_at_open)

    def close(self, *, force: bool = False) -> None:
        """Closes the device.

        Args:
            force: also while pools, managers, streams, events or registrations exist. They
                are ended, and the log reports them.

        Raises:
            BusyError: objects of the device exist; nothing has changed.
            ViewExistsError: with force, memory of the device has a view.
        """
        self._owned.close(_abi.FERRUM_FORCE if force else 0)

    def memory_info(self, *, max_age_s: float = 0.0) -> MemoryInfo:
        """The memory of the device, for all uses together.

        Args:
            max_age_s: accept a reading of the device up to this age, which is much faster.
                The bytes in thread caches may then be slightly old. 0 queries the device.
        """
        from ._records import MemoryInfo

        raw = _abi.ferrum_memory_info.init()
        if max_age_s == 0:
            status = _native.functions().ferrum_device_get_memory_info(
                self._handle, ctypes.byref(raw)
            )
        else:
            status = _native.functions().ferrum_device_get_recent_memory_info(
                self._handle, nanoseconds("max_age_s", max_age_s), ctypes.byref(raw)
            )
        _native.check(status)
        return MemoryInfo.from_abi(raw)

    def page_sizes(self) -> PageSizes:
        """The page sizes of virtual pools on the device.

        Raises:
            UnsupportedDeviceError: the device has no virtual memory.
        """
        from .types import PageSizes

        raw = _abi.ferrum_page_sizes.init()
        _native.check(
            _native.functions().ferrum_device_get_page_sizes(self._handle, ctypes.byref(raw))
        )
        return PageSizes(raw.minimum_bytes, raw.recommended_bytes)

    def owner_of(self, address: int) -> BlockOwner:
        """The pool and the block of an address, also of an address inside a block. For
        debugging: it may visit every block of a pool.

        Raises:
            NotFoundError: the address is in no pool of the device.
        """
        from ._records import BlockOwner

        raw = _abi.ferrum_block_info.init()
        _native.check(
            _native.functions().ferrum_device_get_owner(
                self._handle, u64("address", address), ctypes.byref(raw)
            )
        )
        return BlockOwner.from_abi(raw)

    def call_site_of(self, address: int) -> tuple[str, ...]:
        """Where the live block at an address was allocated, the innermost function
        first: lines of Python, such as "engine.py:12 (load)", then native functions.
        Empty unless its pool has DebugFlags.CALL_SITES. For debuggers, as owner_of().

        Raises:
            NotFoundError: no pool of the device holds the address.
        """
        function = _native.functions().ferrum_device_get_call_site_json
        where = u64("address", address)
        return tuple(_native.read_json(lambda *buffer: function(self._handle, where, *buffer)))

    @property
    def default_stream(self) -> Stream:
        """The stream that every device has. It ends with the device."""
        from .streams import DefaultStream

        return DefaultStream(self)

    def on_pressure(self, callback: Callable[[Device, PressureLevel], object]) -> Registration:
        """Registers callback(device, level) for changes of the pressure level.

        The callback runs on a thread of the library, one call at a time. It may call this
        package except shutdown(). Closing the returned registration removes it.
        """
        callable_of("callback", callback)
        registration, forget = _callbacks.add_pressure(
            self._handle, lambda level: callback(self, level)
        )
        return Registration(self, "pressure callback", registration, forget)

    def on_reclaim(
        self,
        callback: Callable[[Device, int], int],
        *,
        priority: int = 0,
        deadline_s: float = 0,
    ) -> Registration:
        """Registers callback(device, needed_bytes), which is called before an allocation
        fails.

        The callback runs on a thread of the library. It may free and trim, and returns the
        number of bytes that it freed. Closing the returned registration removes it.

        Args:
            priority: callbacks with lower numbers are called first.
            deadline_s: the longest time that an allocation waits for it; 0: 0.1 s.
        """
        callable_of("callback", callback)
        config = _abi.ferrum_reclaim_config.init()
        config.priority = i32("priority", priority)
        config.deadline_ns = nanoseconds("deadline_s", deadline_s)
        registration, forget = _callbacks.add_reclaim(
            self._handle, config, lambda needed_bytes: callback(self, needed_bytes)
        )
        return Registration(self, "reclaim callback", registration, forget)


@contextlib.contextmanager
def device_for(
    device: Device | str, name: str = "device"
) -> Iterator[tuple[Device, Callable[[], None] | None]]:
    """The device of an object that is created inside the context, and a function to call when
    that object has ended.

    Opens the device if its id is given. If the context fails, closes the device again.

    Args:
        device: the device or its id.
        name: of the parameter, for messages.
    """
    if isinstance(device, Device):
        yield device, None
        return
    if not isinstance(device, str):
        raise wrong_class(name, 'a Device or an id such as "cpu:0"', device)
    opened = Device(device)
    # The record, because the end of an object must not refer to wrappers.
    record = opened._owned
    record.has_keeper = True
    try:
        yield opened, record.end_quietly
    except BaseException:
        record.end_quietly()
        raise


class _Registered(Owned):
    def at_exit(self) -> None:
        self.close()


class Registration(Resource):
    """A registered callback. close() waits for a running call of it, except from inside that
    call. Afterwards it is not called any more.
    """

    def __init__(
        self,
        device: Device | None,
        kind: str,
        handle: _abi.ferrum_registration,
        forget: Callable[[], None],
    ) -> None:
        self._device = device
        end = _native.functions().ferrum_registration_remove
        label, node = (kind, _library.opens)
        if device is not None:
            label, node = f"{kind} on {device.id}", device._node
        self._own(_Registered(label, lambda _flags: end(handle), node, forget), handle)
