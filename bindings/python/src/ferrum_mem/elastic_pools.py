"""Elastic pools: several models under one physical limit."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from . import _abi, _callbacks, _native
from ._arguments import callable_of, handle_of, listed, record
from ._calls import ElasticPoolCalls
from ._owned import LateEnds, Owned
from ._records import (
    ElasticPoolConfig,
    ModelConfig,
    ModelInfo,
)
from ._values import i32, nanoseconds, u64, wait_limit_ns
from .devices import Device, Registration, device_for
from .ranges import MappedRange, Spanning, batch_options, unmap_pages
from .sleep import Sleeper
from .streams import Stream, optional_handle

if TYPE_CHECKING:
    from .results import ModelBooks


class ElasticPool(ElasticPoolCalls):
    """An elastic pool on a device. The header ferrum_mem/elastic.h describes which model
    releases pages when pages are short, and which waiter is served first.

    Args:
        device: the device of its memory, or the id of the device. With an id the pool opens
            and closes the device.
        config: settings; None: the defaults of ElasticPoolConfig.

    Raises:
        UnsupportedDeviceError: the device has no virtual memory.
        InvalidPageSizeError, InvalidConfigError: for the settings.
        OutOfPhysicalMemoryError: the limit is above the memory of the device.
    """

    def __init__(self, device: Device | str, config: ElasticPoolConfig | None = None) -> None:
        if config is None:
            config = ElasticPoolConfig()
        raw = record("config", config, "ElasticPoolConfig").to_abi()
        handle = _abi.ferrum_elastic_pool()
        name = f" {config.name!r}" if config.name else ""
        with device_for(device) as (device, at_end):
            library = _native.functions()
            _native.check(
                library.ferrum_elastic_pool_create(
                    device._handle, ctypes.byref(raw), ctypes.byref(handle)
                )
            )
            end, label = library.ferrum_elastic_pool_destroy, f"ElasticPool{name} on {device.id}"
            self._device = device
            self._own(Owned(label, lambda flags: end(handle, flags), device._node, at_end), handle)

    @property
    def device(self) -> Device:
        """The device of the pool."""
        return self._device

    def close(self, *, force: bool = False) -> None:
        """Destroys the pool and its models.

        Raises:
            BusyError: a model has ranges; nothing has changed.
            ViewExistsError: with force, a range has a view.
        """
        self._owned.close(_abi.FERRUM_FORCE if force else 0)

    def register_model(self, model_id: str, config: ModelConfig) -> Model:
        """Adds a model. Other models may run meanwhile.

        Raises:
            ModelAlreadyExistsError: a model with this id exists.
            InvalidConfigError: the guarantees are above the limit, or the guarantee is
                above the model's own maximum or address space.
            OutOfVirtualMemoryError: its address space cannot be reserved.
        """
        return Model(self, model_id, config)

    def models(self) -> list[ModelBooks]:
        """All models at one moment, in the order of registration: "id" and the fields of
        ModelInfo.
        """
        handle, function = self._handle, _native.functions().ferrum_elastic_pool_models_json
        found = _native.read_json(lambda to, room, length: function(handle, to, room, length))
        models: list[ModelBooks] = found["models"]
        return models


class Model(Spanning, Sleeper):
    """A model of an elastic pool. ElasticPool.register_model() creates it, and close()
    unregisters it.
    """

    def __init__(self, pool: ElasticPool, model_id: str, config: ModelConfig) -> None:
        raw = record("config", config, "ModelConfig").to_abi()
        text, handle, library = (
            _native.encode_required("model_id", model_id),
            handle_of("pool", pool, ElasticPool),
            _native.functions(),
        )
        _native.check(library.ferrum_elastic_pool_register_model(handle, text, ctypes.byref(raw)))
        end = library.ferrum_elastic_pool_unregister_model
        self._pool = pool
        self._id = model_id
        self._text = text
        self._own_tag = model_id
        self._dozing = []
        self._late = LateEnds()
        self._own(
            Owned(
                f"Model {model_id!r} on {pool.device.id}",
                lambda flags: end(handle, text, flags),
                pool._owned,
            ),
            handle,
        )
        self._page_bytes = self.info().page_bytes

    def _place(self) -> tuple[Any, ...]:
        return (self._handle, self._text)

    def _range_functions(self) -> tuple[Any, Any, Any]:
        library = _native.functions()
        return (
            library.ferrum_elastic_pool_alloc_batch,
            library.ferrum_elastic_pool_free_batch,
            library.ferrum_elastic_pool_free,
        )

    def _record_function(self) -> Any:
        return _native.functions().ferrum_elastic_pool_record_stream_batch

    def _functions(self) -> tuple[Any, Any, Any]:
        library = _native.functions()
        return (
            library.ferrum_elastic_pool_sleep_model,
            library.ferrum_elastic_pool_wake_model,
            library.ferrum_elastic_pool_is_model_asleep,
        )

    @property
    def id(self) -> str:
        """The id of its registration."""
        return self._id

    @property
    def pool(self) -> ElasticPool:
        """The pool of the model."""
        return self._pool

    @property
    def device(self) -> Device:
        """The device of the model."""
        return self._pool.device

    def close(self, *, force: bool = False) -> None:
        """Unregisters the model. Other models may run meanwhile.

        Args:
            force: also while it has ranges; waits for all work of the device.

        Raises:
            BusyError: it has ranges; nothing has changed.
            ViewExistsError: with force, a range has a view.
        """
        self._owned.close(_abi.FERRUM_FORCE if force else 0)

    def alloc(
        self,
        size_bytes: int,
        *,
        offset_bytes: int | None = None,
        tag: str | None = None,
        asleep_wait_s: float | None = 0,
        stream: Stream | None = None,
    ) -> MappedRange:
        """Maps memory to a range of the model's address space.

        Args:
            size_bytes: not 0.
            offset_bytes: from the model's base address; None: the first free offset with
                enough address space.
            tag: name for the counters, at most 63 bytes; None: the model's id.
            asleep_wait_s: how long to wait while the tag, the model or memory at that
                offset is asleep; None: no time limit.
            stream: the first stream that uses the range. An unmap waits for it. None: the
                default stream.

        Raises:
            InvalidStateError: it is asleep, and the call may not wait.
            TimeoutError: it is asleep longer than asleep_wait_s.
            OutOfPhysicalMemoryError: the limits allow no more, and no memory could be
                reclaimed; the message states requested and available bytes.
            OutOfVirtualMemoryError: no free address range is long enough.
            AlreadyMappedError, InvalidOffsetError: for offset_bytes.
        """
        size, address = u64("size_bytes", size_bytes), _abi.ferrum_address()
        offset = ctypes.c_uint64(0 if offset_bytes is None else u64("offset_bytes", offset_bytes))
        library, handle, text = _native.functions(), self._handle, self._text
        wait_ns = wait_limit_ns("asleep_wait_s", asleep_wait_s)
        if (offset_bytes, tag, stream) != (None, None, None) or wait_ns != 0:
            request = _abi.ferrum_model_request.init()
            request.at_offset = offset_bytes is not None
            request.offset_bytes = offset.value
            request.size_bytes = size
            request.tag = _native.encode("tag", tag)
            request.asleep_wait_ns = wait_ns
            request.stream = optional_handle(stream)
            status = library.ferrum_elastic_pool_alloc_with(
                handle, text, ctypes.byref(request), ctypes.byref(address), ctypes.byref(offset)
            )
        else:
            status = library.ferrum_elastic_pool_alloc(
                handle, text, size, ctypes.byref(address), ctypes.byref(offset)
            )
        _native.check(status)
        unmap = library.ferrum_elastic_pool_free
        return MappedRange(
            self,
            address.value,
            offset.value,
            size,
            tag,
            lambda at, length, stream: unmap(handle, text, at, length, stream),
        )

    def alloc_batch_anywhere(
        self,
        sizes: Iterable[int],
        *,
        tag: str | None = None,
        asleep_wait_s: float | None = 0,
        stream: Stream | None = None,
    ) -> list[MappedRange]:
        """Maps many ranges in one call, each at the first free offset: all of them, or none. The
        library places them in the order of the list.

        Args:
            sizes: size_bytes of each, not 0; at most BATCH_MAX. An empty list maps nothing.
            tag,asleep_wait_s,stream: as for alloc(), for all of them.

        Raises:
            InvalidSizeError: a size is 0. The message names it by its index.
            OutOfVirtualMemoryError: no free address range is long enough for one of them.
            OutOfPhysicalMemoryError: the limits do not allow all of them.
            InvalidStateError, TimeoutError: as for alloc().
        """
        given = [u64("sizes", size) for size in listed("sizes", sizes, "sizes")]
        options = batch_options(tag, asleep_wait_s, stream)
        place, library, base = self._place(), _native.functions(), self.info().base_address
        if not given:
            return []
        offsets = (ctypes.c_uint64 * len(given))()
        _native.check(
            library.ferrum_elastic_pool_alloc_batch_anywhere(
                *place,
                (ctypes.c_uint64 * len(given))(*given),
                len(given),
                ctypes.byref(options),
                offsets,
            )
        )
        return self._ranges(base, list(zip(offsets, given, strict=True)), tag)

    def free(self, offset_bytes: int, size_bytes: int, *, stream: Stream | None = None) -> None:
        """The same as VirtualPool.free()."""
        offset, size = u64("offset_bytes", offset_bytes), u64("size_bytes", size_bytes)
        handle, text, queue = self._handle, self._text, optional_handle(stream)
        unmap = _native.functions().ferrum_elastic_pool_free
        unmap_pages(
            self._owned,
            [(offset, size)],
            self._page_bytes,
            lambda: unmap(handle, text, offset, size, queue),
        )

    def record_stream(self, offset_bytes: int, size_bytes: int, stream: Stream | None) -> None:
        """The same as VirtualPool.record_stream()."""
        _native.check(
            _native.functions().ferrum_elastic_pool_record_stream(
                self._handle,
                self._text,
                u64("offset_bytes", offset_bytes),
                u64("size_bytes", size_bytes),
                optional_handle(stream),
            )
        )

    def is_mapped(self, offset_bytes: int, size_bytes: int) -> bool:
        """Whether every page that a range touches is mapped; False outside the address space."""
        mapped = ctypes.c_uint32()
        _native.check(
            _native.functions().ferrum_elastic_pool_is_mapped(
                self._handle,
                self._text,
                u64("offset_bytes", offset_bytes),
                u64("size_bytes", size_bytes),
                ctypes.byref(mapped),
            )
        )
        return mapped.value != 0

    def info(self) -> ModelInfo:
        """Describes the model."""
        raw = _abi.ferrum_model_info.init()
        _native.check(
            _native.functions().ferrum_elastic_pool_get_model_info(
                self._handle, self._text, ctypes.byref(raw)
            )
        )
        return ModelInfo.from_abi(raw)

    def set_limits(
        self,
        *,
        guaranteed_bytes: int = 0,
        max_bytes: int = 0,
        priority: int = 0,
        guarantee_may_wait: bool = False,
    ) -> None:
        """Changes all three limits of ModelConfig while the model and others run.

        Raises:
            InvalidConfigError, OutOfPhysicalMemoryError: as for register_model(); nothing
                has changed.
        """
        raw = _abi.ferrum_model_limits.init()
        raw.guaranteed_bytes = u64("guaranteed_bytes", guaranteed_bytes)
        raw.max_bytes = u64("max_bytes", max_bytes)
        raw.priority = i32("priority", priority)
        raw.guarantee_may_wait = bool(guarantee_may_wait)
        _native.check(
            _native.functions().ferrum_elastic_pool_set_model_limits(
                self._handle, self._text, ctypes.byref(raw)
            )
        )

    def on_reclaim(
        self, callback: Callable[[Model, int], int], *, deadline_s: float = 0
    ) -> Registration:
        """Registers callback(model, needed_bytes). It is called when pages are short and the
        model has more than its guarantee, or when the model is at its own maximum.

        The callback runs on a thread of the library. It usually frees ranges of the model,
        and returns the number of bytes that it freed. Closing the returned registration
        removes it.

        Args:
            deadline_s: the longest time that an allocation waits for it; 0: 0.1 s.
        """
        callable_of("callback", callback)
        config = _abi.ferrum_reclaim_config.init()
        config.deadline_ns = nanoseconds("deadline_s", deadline_s)
        registration, forget = _callbacks.add_model_reclaim(
            self._handle, self._text, config, lambda needed_bytes: callback(self, needed_bytes)
        )
        return Registration(self.device, f"reclaim callback of {self.id!r}", registration, forget)
