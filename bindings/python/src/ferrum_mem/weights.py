"""Weights: files of tensors, and loads of the tensors into memory."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _abi, _callbacks, _library, _native
from ._arguments import callable_of, file_path, listed, mapping, object_of
from ._arrays import TypedArray
from ._calls import TensorSetCalls, WeightsCalls
from ._dtypes import dtype_of, name_of, numpy_dtype
from ._enums import DType, WeightsFormat
from ._held import HeldBuffer
from ._owned import Node, Owned, Resource
from ._places import raw_memory
from ._records import WeightsProgress
from ._values import shape_of, u32, u64
from .devices import Device
from .elastic_pools import Model
from .errors import InvalidArgumentError, NotFoundError, PermissionDeniedError
from .virtual_pools import VirtualPool

if TYPE_CHECKING:
    import numpy

    from ._places import Place
    from .results import LoadedTensors, WeightsCapabilities, WeightsMetadata
    from .tensors import Tensor

    Array = numpy.ndarray[Any, numpy.dtype[Any]]

Progress = Callable[[WeightsProgress], object]


@dataclass(frozen=True)
class TensorInfo:
    """A tensor of a source or of a set.

    Attributes:
        name: its name.
        dtype: type of its elements.
        shape: its shape, the slowest dimension first.
        size_bytes: size of its elements.
        address: address of its elements; 0 for a tensor of a source.
        device: its device, such as "cpu:0"; empty for a tensor of a source.
        is_tied: whether it has the memory of an earlier tensor of its set.
        is_compressed: whether its bytes are compressed in the file.
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    size_bytes: int
    address: int = 0
    device: str = ""
    is_tied: bool = False
    is_compressed: bool = False


def _info(name: str, raw: _abi.ferrum_tensor_info) -> TensorInfo:
    return TensorInfo(
        name=name,
        dtype=DType(raw.dtype),
        shape=tuple(raw.shape[: raw.rank]),
        size_bytes=raw.size_bytes,
        address=raw.address,
        device=raw.device.decode(),
        is_tied=bool(raw.flags & _abi.FERRUM_TENSOR_TIED),
        is_compressed=bool(raw.flags & _abi.FERRUM_TENSOR_COMPRESSED),
    )


def _found(function: Any, handle: Any, name: str) -> TensorInfo:
    """A tensor of a source or of a set, by its name."""
    raw = _abi.ferrum_tensor_info.init()
    _native.check(function(handle, _native.encode_required("name", name), ctypes.byref(raw)))
    return _info(name, raw)


class _Order:
    """The order of a load as JSON."""

    def __init__(self, order: Mapping[str, Any]) -> None:
        given = {key: value for key, value in order.items() if value is not None}
        self.text = json.dumps(given).encode() if given else None
        self.size = len(self.text) if self.text else 0


def _order(
    include: Iterable[str] | str | None,
    exclude: Iterable[str] | str | None,
    rename: Mapping[str, str] | None,
    prefix: str | None,
    dtype: DType | str | None,
    tensors: Iterable[Mapping[str, Any]] | None,
) -> _Order:
    def patterns(name: str, given: Iterable[str] | str | None) -> list[str] | None:
        if given is None or isinstance(given, str):
            return None if given is None else [given]
        return [object_of(name, each, str) for each in listed(name, given, "patterns")]

    if prefix is not None:
        object_of("prefix", prefix, str)
    if dtype is not None:
        object_of("dtype", dtype, DType, str)

    return _Order(
        {
            "include": patterns("include", include),
            "exclude": patterns("exclude", exclude),
            "rename": None
            if rename is None
            else [{"from": old, "to": new} for old, new in mapping("rename", rename).items()],
            "prefix": prefix,
            "float_dtype": name_of(dtype) if isinstance(dtype, DType) else dtype,
            "tensors": None
            if tensors is None
            else [mapping("tensors", each) for each in listed("tensors", tensors, "mappings")],
        }
    )


def _shared(destination: Any) -> Tensor:
    """A tensor over the memory of an array, or of an object with __dlpack__."""
    from .tensors import Tensor

    # NumPy exports neither read-only arrays nor the types of ml_dtypes by DLPack.
    if hasattr(destination, "__array_interface__"):
        return Tensor.from_numpy(destination, copy=False)
    return Tensor.from_dlpack(destination)


def _check_destination(source: TensorInfo, to: Tensor) -> None:
    """Raises if a tensor cannot be loaded into the memory of another one."""
    if (source.dtype, source.shape) != (to.dtype, to.shape):
        raise InvalidArgumentError(
            _abi.FERRUM_ERROR_INVALID_ARGUMENT,
            f"{source.name}: the destination has {name_of(to.dtype)} {list(to.shape)}, and the "
            f"tensor {name_of(source.dtype)} {list(source.shape)}",
        )
    if to.is_read_only:
        raise PermissionDeniedError(
            _abi.FERRUM_ERROR_PERMISSION_DENIED, f"{source.name}: the destination is read-only"
        )
    if not to.is_contiguous:
        raise InvalidArgumentError(
            _abi.FERRUM_ERROR_INVALID_ARGUMENT,
            f"{source.name}: the destination has the strides {to.strides}: it must be contiguous",
        )


class Weights(WeightsCalls, Mapping[str, TensorInfo]):
    """An open source of tensors: a mapping of their names to TensorInfo.

    Args:
        path: a file, the index of several files, or a folder.

    Raises:
        NotFoundError, PermissionDeniedError, IoError: for a file.
        InvalidFormatError: for its content.
        UnsupportedError: for a part of a format that is not read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        source = _abi.ferrum_weights_source.init()
        source.path = file_path("path", path)
        self._open(source, os.fspath(path), None)

    @classmethod
    def from_bytes(cls, data: Any, *, name: str = "memory") -> Weights:
        """Opens the content of a file that is in memory, without a copy. The source keeps the
        object and its buffer until it is closed. The bytes must not change until then.

        Args:
            data: an object with a contiguous buffer, such as bytes, mmap or a NumPy array.
            name: the name of the source in messages.

        Raises:
            InvalidFormatError: for its content.
            UnsupportedError: for a part of a format that is not read.
        """
        return cls._in_memory(data, name, _abi.ferrum_weights_source.init())

    @classmethod
    def raw(
        cls,
        source: str | os.PathLike[str] | Any,
        dtype: DType | str,
        shape: Iterable[int],
        *,
        name: str | None = None,
    ) -> Weights:
        """Opens one tensor without a header. It has the name of the file or of the memory.

        Args:
            source: the path of a file (a text or os.PathLike), or an object with a contiguous
                buffer, as for from_bytes().
            dtype: type of its elements, such as DType.BF16 or "bf16".
            shape: its shape, the slowest dimension first.
            name: the name of the memory; None: "memory". Not for a file.

        Raises:
            InvalidFormatError: the source has another size.
            NotFoundError, PermissionDeniedError, IoError: for a file.
        """
        raw = _abi.ferrum_weights_source.init()
        raw.format, raw.raw_dtype = WeightsFormat.RAW, dtype_of(dtype)
        sides = [u64("shape", side) for side in shape_of("shape", shape)]
        raw.raw_rank = len(sides)
        raw.raw_shape[: len(sides)] = sides[: len(raw.raw_shape)]
        if not isinstance(source, (str, os.PathLike)):
            return cls._in_memory(source, name or "memory", raw)
        if name is not None:
            raise TypeError(
                "name is allowed only for data in memory: the name of a file is its path"
            )
        made = cls.__new__(cls)
        raw.path = file_path("source", source)
        made._open(raw, os.fspath(source), None)
        return made

    @classmethod
    def _in_memory(cls, data: Any, name: str, source: Any) -> Weights:
        source.kind = _abi.FERRUM_WEIGHTS_SOURCE_MEMORY
        source.path = _native.encode_required("name", name)
        made, held = cls.__new__(cls), HeldBuffer("data", data)
        source.data, source.data_bytes = held.address, held.size_bytes
        made._open(source, name, held)
        return made

    def _open(self, source: Any, name: str, held: HeldBuffer | None) -> None:
        at_end = None if held is None else held.release
        try:
            _library.ensure_started()
            library, handle = _native.functions(), _abi.ferrum_weights()
            _native.check(library.ferrum_weights_open(ctypes.byref(source), ctypes.byref(handle)))
        except BaseException:
            if at_end is not None:
                at_end()
            raise
        end = library.ferrum_weights_close
        label = f"Weights of {name}"
        self._own(Owned(label, lambda flags: end(handle, flags), _library.opens, at_end), handle)
        self._names: dict[str, list[int]] = self.metadata()["tensors"]

    @staticmethod
    def check(path: str | os.PathLike[str]) -> None:
        """Opens a source and closes it again. Raises if the source cannot be loaded."""
        _library.ensure_started()
        source = _abi.ferrum_weights_source.init()
        source.path = file_path("path", path)
        _native.check(_native.functions().ferrum_weights_check(ctypes.byref(source)))

    @staticmethod
    def capabilities() -> WeightsCapabilities:
        """What the library can load. docs/weights.md documents the fields."""
        _library.ensure_started()
        found: WeightsCapabilities = _native.read_json(
            _native.functions().ferrum_weights_capabilities_json
        )
        return found

    def metadata(self) -> WeightsMetadata:
        """The content of the source. docs/weights.md documents the fields."""
        found: WeightsMetadata = super().metadata()
        return found

    def find(self, name: str) -> TensorInfo:
        """Finds a tensor by its name.

        Raises:
            NotFoundError: the source has no tensor of the name.
        """
        return _found(_native.functions().ferrum_weights_find, self._handle, name)

    def __getitem__(self, name: str) -> TensorInfo:
        try:
            return self.find(name)
        except NotFoundError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def load(
        self,
        memory: Place,
        *,
        include: Iterable[str] | str | None = None,
        exclude: Iterable[str] | str | None = None,
        rename: Mapping[str, str] | None = None,
        prefix: str | None = None,
        dtype: DType | str | None = None,
        tensors: Iterable[Mapping[str, Any]] | None = None,
        offset_bytes: int = 0,
        tag: str | None = None,
        threads: int = 0,
        staging_bytes: int = 0,
        progress: Progress | None = None,
        wait: bool = True,
    ) -> TensorSet:
        """Loads tensors into memory: all chosen tensors, or none.

        Args:
            memory: a pool, a virtual pool, or a model of an elastic pool.
            include: patterns; a name must match one of them; None: all names.
            exclude: patterns; a name that matches one of them is not chosen.
            rename: beginnings of names, with their replacements.
            prefix: text that is put before all names.
            dtype: the type to which floating-point tensors are converted.
            tensors: an order of single tensors. It replaces the order of include, exclude,
                rename, prefix and dtype. docs/weights.md documents its form.
            offset_bytes: the offset of the first page in a virtual pool.
            tag: tag of the memory.
            threads: number of threads that read; 0: 8. More than 256 count as 256.
            staging_bytes: bound of the staging memory. It is host memory, for devices whose
                memory the host cannot write.
            progress: called on a thread of the library; it returns False to cancel the load.
            wait: whether to wait for the end of the load.

        Raises:
            CancelledError: progress has cancelled the load.
            OutOfMemoryError and others: of the memory.
            What progress raises: it cancels the load.
        """
        raw = raw_memory(memory, offset_bytes, tag)
        request = _abi.ferrum_weights_load_request.init()
        request.memories, request.memory_count = ctypes.pointer(raw), 1
        request.threads = u32("threads", threads)
        request.staging_bytes = u64("staging_bytes", staging_bytes)
        order = _order(include, exclude, rename, prefix, dtype, tensors)
        made = self._start(request, order, memory._owned, progress, memory=memory, tag=tag)
        if not wait:
            return made
        with _freed_after_error(made):
            made.wait()
        return made

    def load_into(
        self,
        destinations: Mapping[str, Any],
        *,
        threads: int = 0,
        staging_bytes: int = 0,
        progress: Progress | None = None,
    ) -> None:
        """Loads tensors into memory of the program, and waits for the end of the load. The
        destinations may be on several devices. Work on them that another library has queued must
        be done. After an error their elements have no certain value.

        Args:
            destinations: by the name of each tensor, an array of NumPy, or another object with
                __dlpack__ such as a tensor of PyTorch. It is writable and contiguous, and has the
                type and the shape of the tensor.
            threads, staging_bytes, progress: as for load().

        Raises:
            NotFoundError: the source has no tensor of a name.
            InvalidArgumentError: a destination has another type or shape, or is not contiguous.
            PermissionDeniedError: a destination is read-only.
            CancelledError and others: as for load().
        """
        destinations = mapping("destinations", destinations)
        with contextlib.ExitStack() as open_until_the_end:
            places: dict[str, int] = {}
            memories = (_abi.ferrum_weights_memory * max(len(destinations), 1))()
            order = []
            for name, given in destinations.items():
                to = open_until_the_end.enter_context(_shared(given))
                _check_destination(self.find(name), to)
                if not to.nbytes:
                    continue
                at = places.setdefault(to.device.id, len(places))
                memories[at].device = to.device._handle
                into = {"address": to.address, "size_bytes": to.nbytes}
                order.append({"name": name, "memory": at, "into": into})
            request = _abi.ferrum_weights_load_request.init()
            request.memories, request.memory_count = memories, len(places)
            request.threads = u32("threads", threads)
            request.staging_bytes = u64("staging_bytes", staging_bytes)
            if order:
                made = self._start(request, _Order({"tensors": order}), _library.opens, progress)
                with _freed_after_error(made):
                    made.wait()
                made.close()

    def map(
        self,
        *,
        include: Iterable[str] | str | None = None,
        exclude: Iterable[str] | str | None = None,
        tensors: Iterable[Mapping[str, Any]] | None = None,
    ) -> TensorSet:
        """Maps tensors without a copy: they are mapped pages of the files and are read-only.

        Raises:
            UnsupportedError: the file has a tensor in another form than the result.
        """
        request = _abi.ferrum_weights_load_request.init()
        request.flags = _abi.FERRUM_WEIGHTS_LOAD_MAP
        order = _order(include, exclude, None, None, None, tensors)
        return self._start(request, order, _library.opens, None)

    def preload(
        self,
        *,
        include: Iterable[str] | str | None = None,
        exclude: Iterable[str] | str | None = None,
        progress: Progress | None = None,
        wait: bool = True,
    ) -> TensorSet:
        """Reads the bytes of tensors into the page cache of the system. Closing the set releases
        the pages that were read; pages that were in the cache before stay there.
        """
        request = _abi.ferrum_weights_load_request.init()
        request.flags = _abi.FERRUM_WEIGHTS_LOAD_PRELOAD
        order = _order(include, exclude, None, None, None, None)
        made = self._start(request, order, _library.opens, progress)
        if wait:
            with _freed_after_error(made):
                made.wait()
        return made

    def _start(
        self,
        request: Any,
        order: _Order,
        parent: Node,
        progress: Progress | None,
        *,
        memory: Place | None = None,
        tag: str | None = None,
    ) -> TensorSet:
        request.specs_json, request.specs_bytes = order.text, order.size
        library, handle = _native.functions(), _abi.ferrum_tensor_set()
        device = None if memory is None else memory.device
        with _callbacks.progress_of(progress) as (function, key, forget):
            request.progress, request.user_data = function, key
            _native.check(
                library.ferrum_weights_load(
                    self._handle, ctypes.byref(request), ctypes.byref(handle)
                )
            )
        return TensorSet(self._owned.label, handle, parent, forget, device, key, memory, tag)

    def verify(
        self, sums: str | None = None, *, progress: Progress | None = None
    ) -> dict[str, str]:
        """Reads all files and returns their SHA-256 sums, by the paths of the files.

        Args:
            sums: lines as sha256sum prints them; the sums are compared with these lines.
            progress: called on the thread of the call; it returns False to cancel.

        Raises:
            CorruptedError: a file has another sum.
            NotFoundError: a file is missing in the lines.
        """
        text = _native.encode("sums", sums)
        function = _native.functions().ferrum_weights_verify
        with _callbacks.progress_of(progress) as (call, key, forget):
            with _callbacks.raising_of(key):
                found = _native.read_json(
                    lambda *room: function(self._handle, text, len(text or b""), call, key, *room)
                )
            forget()
        return {each["file"]: each["sha256"] for each in found["files"]}

    def convert(
        self,
        path: str | os.PathLike[str],
        *,
        include: Iterable[str] | str | None = None,
        exclude: Iterable[str] | str | None = None,
        rename: Mapping[str, str] | None = None,
        prefix: str | None = None,
        dtype: DType | str | None = None,
        texts: Mapping[str, str] | None = None,
        replace: bool = False,
        progress: Progress | None = None,
    ) -> None:
        """Writes tensors to a file, whose ending states the format: .safetensors, .gguf, .npz or
        .npy.

        Args:
            path: the file.
            include, exclude, rename, prefix, dtype: as for load().
            texts: metadata of the file.
            replace: whether to replace an existing file of that name.
            progress: called on the thread of the call; it returns False to cancel.

        Raises:
            AlreadyExistsError: a file of that name exists.
            UnsupportedError: for a type that the format does not have.
        """
        order = _order(include, exclude, rename, prefix, dtype, None)
        request = _abi.ferrum_weights_convert_request.init()
        request.flags = _abi.FERRUM_WEIGHTS_CONVERT_REPLACE if replace else 0
        request.specs_json, request.specs_bytes = order.text, order.size
        if texts is not None:
            request.texts_json = json.dumps(mapping("texts", texts)).encode()
            request.texts_bytes = len(request.texts_json)
        with _callbacks.progress_of(progress) as (function, key, forget):
            request.progress, request.user_data = function, key
            with _callbacks.raising_of(key):
                _native.check(
                    _native.functions().ferrum_weights_convert(
                        self._handle, file_path("path", path), ctypes.byref(request)
                    )
                )
            forget()

    def close(self, *, force: bool = False) -> None:
        """Closes the source. Sets keep their tensors.

        Args:
            force: also while loads read it; they are cancelled.

        Raises:
            BusyError: a load reads it.
        """
        self._owned.close(_abi.FERRUM_FORCE if force else 0)


@contextlib.contextmanager
def _freed_after_error(made: TensorSet) -> Iterator[None]:
    try:
        yield
    except BaseException:
        made.close(force=True)
        raise


class WeightTensor(TypedArray):
    """A loaded tensor. Its set owns the memory and cannot be freed while a view exists.
    Tensor.from_set() makes a Tensor over it.

    Attributes:
        info: its name, type, shape and place.
    """

    def __init__(self, of: TensorSet, info: TensorInfo) -> None:
        self.info = info
        self._set = of
        self._owned = of._owned
        self._read_only = of._device is None

    def _host_range(self) -> tuple[int | None, int]:
        is_host = self.info.device.startswith("cpu")
        return (self.info.address if is_host else None), self.info.size_bytes

    def _reach(self) -> tuple[int, int]:
        return self.info.address, self.info.address + self.info.size_bytes

    def _sleeper(self) -> VirtualPool | Model | None:
        return self._set._space

    def _array_range(self) -> tuple[int, int, Device | None]:
        self._refuse_asleep()
        return self.info.address, self.info.size_bytes, self._set._device

    def close(self) -> None:
        """Does nothing: the set owns the memory."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""
        return self.info.shape

    @property
    def dtype(self) -> DType:
        """The type of its elements."""
        return self.info.dtype

    def __repr__(self) -> str:
        return f"<ferrum_mem.WeightTensor {self.info.name} {self.dtype.name} {list(self.shape)}>"


class TensorSet(TensorSetCalls, Mapping[str, WeightTensor]):
    """A load, and a mapping of names to its loaded tensors."""

    def __init__(
        self,
        source: str,
        handle: _abi.ferrum_tensor_set,
        parent: Node,
        forget: Callable[[], None],
        device: Device | None,
        progress_key: int,
        memory: Place | None,
        tag: str | None,
    ) -> None:
        end = _native.functions().ferrum_tensor_set_free
        label = f"TensorSet of the {source}"
        self._own(Owned(label, lambda flags: end(handle, flags), parent, forget), handle)
        self._owned.tag = tag
        # None for mapped tensors, which are read-only.
        self._device = device
        # The virtual pool or model with the memory, which may sleep.
        self._space = memory if isinstance(memory, (VirtualPool, Model)) else None
        self._progress_key = progress_key
        self._indices: dict[str, int] = {}

    def wait(self, timeout_s: float | None = None) -> None:
        """Waits until the load is over, and returns its result.

        In the main thread a long wait is done in slices, so that Ctrl-C ends it.

        Raises:
            TimeoutError: the load is not over in time.
            CancelledError: after a cancel; otherwise the error of the load.
            InvalidStateError: inside the progress callback of the load.
            What the progress function has raised.
        """
        with _callbacks.raising_of(self._progress_key):
            super().wait(timeout_s)

    def tensors(self) -> LoadedTensors:
        """All tensors in their order. docs/weights.md documents the fields."""
        found: LoadedTensors = super().tensors()
        return found

    def find(self, name: str) -> TensorInfo:
        """Finds a tensor by its name.

        Raises:
            NotFoundError: the set has no tensor of the name.
            InvalidStateError: the load runs.
        """
        return _found(_native.functions().ferrum_tensor_set_find, self._handle, name)

    def tensor(self, index: int) -> WeightTensor:
        """A tensor by its index in the order of the load.

        Raises:
            InvalidArgumentError: no tensor has the index.
        """
        raw = _abi.ferrum_tensor_info.init()
        _native.check(
            _native.functions().ferrum_tensor_set_get_tensor(
                self._handle, u64("index", index), ctypes.byref(raw)
            )
        )
        return WeightTensor(self, _info(self.tensor_name(index), raw))

    def _index_of(self, name: str | int) -> int:
        """The index of a tensor in the order of the load."""
        if not isinstance(name, str):
            return name
        if not self._indices:
            self._indices = {each: at for at, each in enumerate(self)}
        if name not in self._indices:
            self.find(name)  # raises
        return self._indices[name]

    def __getitem__(self, name: str) -> WeightTensor:
        try:
            return WeightTensor(self, self.find(name))
        except NotFoundError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return (each["name"] for each in self.tensors()["tensors"])

    def __len__(self) -> int:
        return self.count()

    def close(self, *, force: bool = False) -> None:
        """Frees the tensors.

        Args:
            force: also while the load runs; it is cancelled.

        Raises:
            BusyError: the load runs.
            ViewExistsError: an array uses a tensor.
        """
        self._owned.close(_abi.FERRUM_FORCE if force else 0)


class DecodedFile:
    """A file of a format of the program, for the call that describes it.

    Attributes:
        name: its path, or the name of the memory.
        size_bytes: its length.
    """

    def __init__(self, raw: _abi.ferrum_weights_file) -> None:
        self._file, self._read_at = raw.file, raw.read_at
        self.name = (raw.name or b"").decode("utf-8", "replace")
        self.size_bytes: int = raw.size_bytes

    def read(self, offset_bytes: int, size_bytes: int) -> bytes:
        """Reads bytes of the file.

        Raises:
            InvalidSizeError: they are beyond its end.
        """
        if offset_bytes + size_bytes > self.size_bytes:
            # No buffer is created for them.
            size = 0
            offset_bytes = max(offset_bytes, self.size_bytes + 1)
        else:
            size = size_bytes
        buffer = ctypes.create_string_buffer(max(size, 1))
        _native.check(self._read_at(self._file, u64("offset_bytes", offset_bytes), buffer, size))
        return buffer.raw[:size]


class Decoder(Resource):
    """A decoder of a further format, registered until close().

    Args:
        name: name of the format, which no other format has.
        recognises: gets the first bytes of a file and its length, and returns whether the file is
            of the format.
        describe: returns the description of a file: a dictionary with "tensors" and "texts", whose
            form is in docs/weights.md. An exception becomes the error of the call that opens the
            file.

    Raises:
        AlreadyExistsError: there is a reader of the format.
    """

    def __init__(
        self,
        name: str,
        recognises: Callable[[bytes, int], bool],
        describe: Callable[[DecodedFile], Mapping[str, Any]],
    ) -> None:
        callable_of("describe", describe)
        _library.ensure_started()
        made, number = _abi.ferrum_weights_decoder.init(), ctypes.c_uint32()
        registration = _abi.ferrum_registration()
        made.format = _native.encode_required("name", name)
        library = _native.functions()
        made.recognises, made.decode, made.user_data, forget = _callbacks.decoder_of(
            callable_of("recognises", recognises),
            lambda raw: json.dumps(describe(DecodedFile(raw))).encode(),
        )
        status = library.ferrum_weights_decoder_add(
            ctypes.byref(made), ctypes.byref(number), ctypes.byref(registration)
        )
        if status < 0:
            error = _native.error_of(status)
            forget()
            raise error
        end = library.ferrum_registration_remove
        label = f"Decoder of {name}"
        self._own(Owned(label, lambda _: end(registration), _library.opens, forget), registration)
        self.number = number.value


def load(path: str | os.PathLike[str]) -> dict[str, Array]:
    """Maps all tensors of a file or folder, as read-only arrays of NumPy by their names. The
    memory ends with the last array.

    Raises:
        UnsupportedError: a tensor is not in its file as it is to be, or NumPy has no such type.
    """
    with Weights(path) as source:
        tensors = source.map()
    arrays: dict[str, Array] = {}
    with _freed_after_error(tensors):
        # Types without a form in NumPy are found before an array exists.
        for name in tensors:
            numpy_dtype(tensors[name].dtype)
        for name in tensors:
            arrays[name] = tensors[name].numpy()
    # The set ends without a warning when its last array is collected.
    tensors._owned.is_silent = True
    return arrays


__all__ = [
    "DecodedFile",
    "Decoder",
    "TensorInfo",
    "TensorSet",
    "WeightTensor",
    "Weights",
    "load",
    "numpy_dtype",
]
