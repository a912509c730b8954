"""Python functions as callbacks of the library.

The library gets one C function for each kind of callback, and a number as user_data. The C
function is created once and never freed, so the library never calls a freed function. The
number is the key of the Python function in a dictionary here.

An exception in a callback goes to sys.unraisablehook and never into C. That of a progress function
is raised by the call that it belongs to, and that of a compute backend or a pass is the cause of
the error.
"""

from __future__ import annotations

import collections
import contextlib
import ctypes
import itertools
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from . import _abi, _native
from ._arguments import callable_of, choice
from ._enums import LogLevel
from ._enums_by_hand import PressureLevel
from ._values import i32
from .errors import CancelledError, FerrumError

HostFunction = Callable[[], object]
LogFunction = Callable[[LogLevel, str], object]

# The library bounds the size of these dictionaries. A function is removed after its run,
# with its registration, or when the call that registers it fails. A stream rejects host
# functions above a limit.
_keys = itertools.count(1)
_host_functions: dict[int, HostFunction] = {}
_log_functions: dict[int, LogFunction] = {}
_pressure_functions: dict[int, Callable[[PressureLevel], object]] = {}
_reclaim_functions: dict[int, Callable[[int], int]] = {}
_monitor_functions: dict[int, Callable[[Any, int], object]] = {}
_enqueue_functions: dict[int, Callable[[Callable[[], None]], object]] = {}
_progress_functions: dict[int, Callable[[Any], object]] = {}
# Exceptions of progress functions, until the call that they belong to raises them.
_progress_errors: dict[int, BaseException] = {}
_decoder_functions: dict[int, tuple[Callable[[bytes, int], object], Callable[[Any], bytes]]] = {}
_placement_functions: dict[int, Callable[[Any, Any, int], int | None]] = {}
_release_functions: dict[int, Callable[[], object]] = {}
_compute_functions: dict[int, tuple[Callable[..., None], ...]] = {}
_layer_functions: dict[int, tuple[Callable[..., Any] | None, ...]] = {}
_layer_forwards: dict[int, Callable[[int], None]] = {}
_pass_functions: dict[int, tuple[Callable[..., None], Callable[..., None]]] = {}
_text_receivers: dict[int, Callable[[bytes], object]] = {}
# The exceptions of compute backends, layers and passes in the running call of a thread.
_compute_failures = threading.local()
# Those of queued runs, on threads of streams, with their texts: the call that gets the error of the
# stream finds its exception by the text.
_late_failures: collections.deque[tuple[str, BaseException]] = collections.deque(maxlen=16)

# Whether queued work may ever have had to call a function here. Only then does the exit wait
# for the work.
_work_calls_back = False

# Keys of log functions that were set. The next log function replaces them.
_log_keys_set: set[int] = set()


class _Unraisable:
    """Passes an exception to sys.unraisablehook.

    The interpreter does that for an exception in the callback of a weak reference. The
    reported object is this one, and its repr() shows the user's function.
    """

    def __init__(self, function: object, error: BaseException) -> None:
        self.function = function
        self.error = error

    def __call__(self, _reference: object) -> None:
        raise self.error

    def __repr__(self) -> str:
        return f"callback {self.function!r}"


class _Referent:
    """The target of a weak reference."""


def _report(function: object, error: BaseException) -> None:
    referent = _Referent()
    reference = weakref.ref(referent, _Unraisable(function, error))
    del referent
    del reference


class _Inside:
    """Marks the thread as being inside a callback."""

    def __enter__(self) -> None:
        self.thread = threading.get_ident()
        # A call of a callback may lead to another callback on the same thread.
        self.is_first = self.thread not in _native.callback_threads
        _native.callback_threads.add(self.thread)

    def __exit__(self, *_: object) -> None:
        if self.is_first:
            _native.callback_threads.discard(self.thread)


def _run_once(functions: dict[int, Callable[[], object]], key: int) -> None:
    """Runs a function that is called once, and forgets it."""
    # Removed from the dictionary, so that it is released after its run.
    function = functions.pop(key, None)
    if function is None:
        return
    with _Inside():
        try:
            function()
        except BaseException as error:
            _report(function, error)


def _run_host(key: int) -> None:
    _run_once(_host_functions, key)


def _run_release(key: int) -> None:
    _run_once(_release_functions, key)


def _run_log(level: int, message: bytes | None, key: int) -> None:
    function = _log_functions.get(key)
    if function is None or message is None:
        return
    with _Inside():
        try:
            function(LogLevel(level), message.decode("utf-8", "replace"))
        except BaseException as error:
            _report(function, error)


def _run_pressure(_device: Any, level: int, key: int) -> None:
    function = _pressure_functions.get(key)
    if function is None:
        return
    with _Inside():
        try:
            function(PressureLevel(level))
        except BaseException as error:
            _report(function, error)


def _run_reclaim(_device: Any, needed_bytes: int, key: int) -> int:
    function = _reclaim_functions.get(key)
    if function is None:
        return 0
    with _Inside():
        try:
            freed = function(needed_bytes)
            return min(max(int(freed or 0), 0), 2**64 - 1)
        except BaseException as error:
            _report(function, error)
    return 0


def _run_model_reclaim(_pool: Any, _model: Any, needed_bytes: int, key: int) -> int:
    return _run_reclaim(None, needed_bytes, key)


def _run_monitor(_monitor: Any, levels: Any, count: int, key: int) -> None:
    function = _monitor_functions.get(key)
    if function is None:
        return
    with _Inside():
        try:
            function(levels, count)
        except BaseException as error:
            _report(function, error)


def _run_placement(request: Any, options: Any, count: int, chosen: Any, key: int) -> int:
    function = _placement_functions.get(key)
    if function is None:
        return _abi.FERRUM_ERROR_INVALID_STATE
    # The library calls it on the caller's thread, which may be inside a callback already.
    try:
        answer = function(request[0], options, count)
        chosen[0] = -1 if answer is None else i32("the chosen index", answer)
    except BaseException as error:
        _report(function, error)
        return _abi.FERRUM_ERROR_INTERNAL
    return _abi.FERRUM_OK


def _run_enqueue(work: Any, work_data: int | None, key: int) -> int:
    function = _enqueue_functions.get(key)
    if function is None:
        return _abi.FERRUM_ERROR_INVALID_STATE
    # The library calls it on the caller's thread, which may be inside a callback already.
    try:
        function(lambda: work(work_data))
    except BaseException as error:
        _report(function, error)
        return _abi.FERRUM_ERROR_CANCELLED
    return _abi.FERRUM_OK


# These exist as long as the module. Threads of the library may run longer, but _library has
# then removed all callbacks.
def _run_progress(progress: Any, key: int) -> int:
    from ._records import WeightsProgress

    return _tell(lambda: WeightsProgress.from_abi(progress.contents), key)


def _run_build_progress(progress: Any, key: int) -> int:
    from .executors import BuildProgress

    return _tell(lambda: BuildProgress.from_abi(progress.contents), key)


def _tell(progress: Callable[[], object], key: int) -> int:
    """Returns 0 to go on. An exception cancels as False does."""
    function = _progress_functions.get(key)
    if function is None:
        return 0
    with _Inside():
        try:
            return int(function(progress()) is False)
        except BaseException as error:
            # A load goes on for a few calls after the first exception.
            _progress_errors.setdefault(key, error)
            return 1


def _run_recognises(start: int | None, size: int, file_bytes: int, key: int) -> int:
    functions = _decoder_functions.get(key)
    if functions is None:
        return 0
    with _Inside():
        try:
            return int(bool(functions[0](ctypes.string_at(start or 0, size), file_bytes)))
        except BaseException as error:
            _report(functions[0], error)
            return 0


def _run_decode(file: Any, key: int) -> int:
    functions = _decoder_functions.get(key)
    if functions is None:
        return _abi.FERRUM_ERROR_INVALID_STATE
    with _Inside():
        try:
            text = functions[1](file.contents)
            status: int = file.contents.describe(file.contents.file, text, len(text))
            return status
        except FerrumError as error:
            return error.status
        except BaseException as error:
            _report(functions[1], error)
            return _abi.FERRUM_ERROR_INVALID_FORMAT


def _program_status(message: int, size: int, call: Callable[[], None]) -> int:
    """Calls a function of a compute backend or a pass. An exception becomes a status, and a text of
    at most size - 1 bytes at the address of a message; 0: there is no place for it.
    """
    with _Inside():
        try:
            call()
        except BaseException as error:
            return _program_failed(message, size, error)
    return _abi.FERRUM_OK


def _program_failed(message: int, size: int, error: BaseException) -> int:
    """The status of an exception, whose text goes to the address of a message."""
    found = _compute_failures.__dict__.get("found")
    text = error.message if isinstance(error, FerrumError) else repr(error)
    if found is not None:
        found.append(error)
    else:
        _late_failures.append((text[:100], error))
    if message:
        place = text.encode("utf-8", "replace")[: size - 1]
        ctypes.memmove(message, place + b"\0", len(place) + 1)
    if isinstance(error, FerrumError) and error.status < 0:
        return error.status
    if isinstance(error, NotImplementedError):
        return _abi.FERRUM_ERROR_UNSUPPORTED
    return _abi.FERRUM_ERROR_INTERNAL


def _message_of(call: Any, kind: Any) -> int:
    place = ctypes.addressof(call.contents) + kind.message_out.offset
    return ctypes.c_void_p.from_address(place).value or 0


def _compute_status(call: Any, run: Callable[[], None]) -> int:
    message = _message_of(call, _abi.ferrum_compute_call)
    return _program_status(message, _abi.FERRUM_COMPUTE_MESSAGE_MAX, run)


def _run_compute_plan(call: Any, plan: Any, key: int) -> int:
    functions = _compute_functions.get(key)
    if functions is None:
        return _abi.FERRUM_ERROR_INVALID_STATE
    return _compute_status(call, lambda: functions[0](call.contents, plan.contents))


_kept = threading.local()


def _keep_thread_state() -> None:
    """Keeps what Python has of a thread of the library until Python ends. Otherwise each call makes
    it and frees it, which takes longer than a small layer. The library has few such threads, and
    uses them again.
    """
    if not hasattr(_kept, "state"):
        _kept.state = ctypes.pythonapi.PyGILState_Ensure()


def _run_compute(call: Any, key: int) -> int:
    _keep_thread_state()
    functions = _compute_functions.get(key)
    if functions is None:
        return _abi.FERRUM_ERROR_INVALID_STATE
    return _compute_status(call, lambda: functions[1](call.contents))


def _run_compute_synchronize(_device: Any, key: int) -> int:
    functions = _compute_functions.get(key)
    if functions is None:
        return _abi.FERRUM_ERROR_INVALID_STATE
    return _program_status(0, 0, functions[2])


def _pass_status(call: Any, run: Callable[[], None]) -> int:
    message = _message_of(call, _abi.ferrum_pass_call)
    return _program_status(message, _abi.FERRUM_PASS_MESSAGE_MAX, run)


def _run_pass_check(call: Any, answer: Any, key: int) -> int:
    functions = _pass_functions.get(key)
    if functions is None:
        return _abi.FERRUM_ERROR_INVALID_STATE
    return _pass_status(call, lambda: functions[0](call.contents, answer))


def _run_pass(call: Any, key: int) -> int:
    functions = _pass_functions.get(key)
    if functions is None:
        return _abi.FERRUM_ERROR_INVALID_STATE
    return _pass_status(call, lambda: functions[1](call.contents))


def _run_receive(text: Any, size: int, key: int) -> None:
    receiver = _text_receivers.get(key)
    if receiver is not None:
        receiver(ctypes.string_at(text, size))


def _run_layer_infer(call: Any, outputs: Any, key: int) -> int:
    functions = _layer_functions.get(key)
    if functions is None or functions[0] is None:
        return _abi.FERRUM_ERROR_INVALID_STATE
    infer = functions[0]
    return _compute_status(call, lambda: infer(call.contents, outputs))


def _run_layer_parameters(call: Any, take: Any, number: int, key: int) -> int:
    functions = _layer_functions.get(key)
    if functions is None or functions[1] is None:
        return _abi.FERRUM_ERROR_INVALID_STATE
    parameters = functions[1]

    def state() -> None:
        text = parameters(call.contents)
        _native.check(take(number, text, len(text)))

    return _compute_status(call, state)


def _run_layer_initialize(call: Any, parameter: bytes, key: int) -> int:
    functions = _layer_functions.get(key)
    if functions is None or functions[2] is None:
        return _abi.FERRUM_ERROR_INVALID_STATE
    initialize = functions[2]
    return _compute_status(call, lambda: initialize(call.contents, parameter.decode()))


def _run_layer_forward(call: int, key: int) -> int:
    """Runs a layer. Models have many small ones, so the call is an address, and nothing that only a
    failure needs is read before it.
    """
    _keep_thread_state()
    forward = _layer_forwards.get(key)
    if forward is None:
        return _abi.FERRUM_ERROR_INVALID_STATE
    thread, threads = threading.get_ident(), _native.callback_threads
    is_first = thread not in threads
    threads.add(thread)
    try:
        forward(call)
    except BaseException as error:
        kind: Any = _abi.ferrum_compute_call
        place = call + kind.message_out.offset
        message = ctypes.c_void_p.from_address(place).value or 0
        return _program_failed(message, _abi.FERRUM_COMPUTE_MESSAGE_MAX, error)
    finally:
        if is_first:
            threads.discard(thread)
    return _abi.FERRUM_OK


_layer_forward_function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(
    _run_layer_forward
)
_layer_forward_trampoline = ctypes.cast(_layer_forward_function, type(_abi.ferrum_compute_run_fn()))
_layer_infer_trampoline = _abi.ferrum_layer_infer_fn(_run_layer_infer)
_layer_parameters_trampoline = _abi.ferrum_layer_parameters_fn(_run_layer_parameters)
_layer_initialize_trampoline = _abi.ferrum_layer_initialize_fn(_run_layer_initialize)
_compute_plan_trampoline = _abi.ferrum_compute_plan_fn(_run_compute_plan)
_compute_run_trampoline = _abi.ferrum_compute_run_fn(_run_compute)
_compute_synchronize_trampoline = _abi.ferrum_compute_synchronize_fn(_run_compute_synchronize)
_pass_check_trampoline = _abi.ferrum_pass_is_applicable_fn(_run_pass_check)
_pass_trampoline = _abi.ferrum_pass_apply_fn(_run_pass)
_receive_trampoline = _abi.ferrum_optimized_fn(_run_receive)
_recognises_trampoline = _abi.ferrum_weights_recognises_fn(_run_recognises)
_decode_trampoline = _abi.ferrum_weights_decode_fn(_run_decode)
_progress_trampoline = _abi.ferrum_weights_progress_fn(_run_progress)
_build_progress_trampoline = _abi.ferrum_build_progress_fn(_run_build_progress)
_release_trampoline = _abi.ferrum_release_fn(_run_release)
_host_trampoline = _abi.ferrum_host_fn(_run_host)
_log_trampoline = _abi.ferrum_log_fn(_run_log)
_pressure_trampoline = _abi.ferrum_pressure_fn(_run_pressure)
_reclaim_trampoline = _abi.ferrum_reclaim_fn(_run_reclaim)
_model_reclaim_trampoline = _abi.ferrum_model_reclaim_fn(_run_model_reclaim)
_monitor_trampoline = _abi.ferrum_monitor_fn(_run_monitor)
_enqueue_trampoline = _abi.ferrum_enqueue_fn(_run_enqueue)
_placement_trampoline = _abi.ferrum_placement_fn(_run_placement)


def queue_host_function(stream: Any, function: HostFunction) -> None:
    global _work_calls_back
    _work_calls_back = True
    key = next(_keys)
    _host_functions[key] = function
    status = _native.functions().ferrum_stream_host_function(stream, _host_trampoline, key)
    if status < 0:
        error = _native.error_of(status)
        _host_functions.pop(key, None)
        raise error


def wrap_memory(call: Callable[[Any, int], int], function: Callable[[], object]) -> None:
    """Calls the library with a C function that calls the Python function once, and with its
    user_data. After an error the function is not called.
    """
    global _work_calls_back
    _work_calls_back = True
    key = next(_keys)
    _release_functions[key] = function
    status = call(_release_trampoline, key)
    if status < 0:
        error = _native.error_of(status)
        _forget(_release_functions, key)
        raise error


def add_pressure(
    watched: Any,
    function: Callable[[PressureLevel], object],
    add: Callable[..., int] | None = None,
) -> tuple[_abi.ferrum_registration, Callable[[], None]]:
    """Returns the registration, and a function that removes the callback's entry. watched is a
    device, unless the library's function add takes another object.
    """
    key = next(_keys)
    registration = _abi.ferrum_registration()
    _pressure_functions[key] = function
    add = add or _native.functions().ferrum_device_pressure_callback_add
    status = add(watched, _pressure_trampoline, key, ctypes.byref(registration))
    if status < 0:
        error = _native.error_of(status)
        _pressure_functions.pop(key, None)
        raise error
    return registration, lambda: _forget(_pressure_functions, key)


def decoder_of(
    recognises: Callable[[bytes, int], object], describe: Callable[[Any], bytes]
) -> tuple[Any, Any, int, Callable[[], None]]:
    """Returns the C functions of a decoder, their user_data, and a function that removes the
    entry.
    """
    key = next(_keys)
    _decoder_functions[key] = (recognises, describe)
    return (
        _recognises_trampoline,
        _decode_trampoline,
        key,
        lambda: _forget(_decoder_functions, key),
    )


def compute_of(
    plan: Callable[..., None],
    run: Callable[..., None],
    synchronize: Callable[[], None],
    release: Callable[[], None],
) -> tuple[Any, Any, Any, Any, int, Callable[[], None]]:
    """Returns the C functions of a compute backend, their user_data, and a function that removes
    the entries.
    """
    global _work_calls_back
    _work_calls_back = True
    key = next(_keys)
    _compute_functions[key] = (plan, run, synchronize)
    _release_functions[key] = release

    def forget() -> None:
        _forget(_compute_functions, key)
        _forget(_release_functions, key)

    return (
        _compute_plan_trampoline,
        _compute_run_trampoline,
        _compute_synchronize_trampoline,
        _release_trampoline,
        key,
        forget,
    )


def layer_of(
    infer: Callable[..., None] | None,
    parameters: Callable[..., bytes] | None,
    initialize: Callable[..., None] | None,
    forward: Callable[[int], None],
) -> tuple[tuple[Any, Any, Any, Any], Any, int, Callable[[], None]]:
    """Returns the C functions of a layer type, its function of release, their user_data, and a
    function that removes the entries.
    """
    global _work_calls_back
    _work_calls_back = True
    key = next(_keys)
    _layer_functions[key] = (infer, parameters, initialize)
    _layer_forwards[key] = forward
    _release_functions[key] = lambda: None

    def forget() -> None:
        _forget(_layer_functions, key)
        _forget(_layer_forwards, key)
        _forget(_release_functions, key)

    functions = (
        _layer_infer_trampoline if infer is not None else _abi.ferrum_layer_infer_fn(),
        _layer_parameters_trampoline
        if parameters is not None
        else _abi.ferrum_layer_parameters_fn(),
        _layer_initialize_trampoline
        if initialize is not None
        else _abi.ferrum_layer_initialize_fn(),
        _layer_forward_trampoline,
    )
    return functions, _release_trampoline, key, forget


def pass_of(
    check: Callable[..., None], apply: Callable[..., None]
) -> tuple[Any, Any, int, Callable[[], None]]:
    """Returns the C functions of a pass, their user_data, and a function that removes the entry."""
    key = next(_keys)
    _pass_functions[key] = (check, apply)
    return (
        _pass_check_trampoline,
        _pass_trampoline,
        key,
        lambda: _forget(_pass_functions, key),
    )


@contextlib.contextmanager
def text_receiver(receive: Callable[[bytes], object]) -> Iterator[tuple[Any, int]]:
    """The C function that receives a text, and its user_data."""
    key = next(_keys)
    _text_receivers[key] = receive
    try:
        yield _receive_trampoline, key
    finally:
        _forget(_text_receivers, key)


def check_compute(call: Callable[[], int]) -> None:
    """Raises the exception of a call that may call a compute backend or a pass on this thread.
    Their exception is its cause. One that is no Exception, such as KeyboardInterrupt, is raised
    itself.
    """
    former = _compute_failures.__dict__.get("found")
    found: list[BaseException] = []
    _compute_failures.found = found
    try:
        status = call()
    finally:
        _compute_failures.found = former
    if status < 0:
        raise _compute_error(status, found)


def _compute_error(status: int, found: list[BaseException]) -> BaseException:
    # No frame of the traceback refers to the exception.
    failure = _native.error_of(status)
    for text, late in [] if found else list(_late_failures):
        if text and text in failure.message:
            found.append(late)
            with contextlib.suppress(ValueError):
                _late_failures.remove((text, late))
    if not found:
        return failure
    if not isinstance(found[-1], Exception):
        return found[-1]
    failure.__cause__ = found[-1]
    return failure


@contextlib.contextmanager
def progress_of(
    function: Callable[[Any], object] | None, *, of_build: bool = False
) -> Iterator[tuple[Any, int, Callable[[], None]]]:
    """The C function, its user_data, and a function that removes the entry, which happens at once
    if the block raises.
    """
    trampoline = _build_progress_trampoline if of_build else _progress_trampoline
    if function is None:
        yield type(trampoline)(), 0, lambda: None
        return
    key = next(_keys)
    _progress_functions[key] = callable_of("progress", function)
    try:
        yield trampoline, key, lambda: _forget_progress(key)
    except BaseException:
        _forget_progress(key)
        raise


def _forget_progress(key: int) -> None:
    function = _progress_functions.pop(key, None)
    error = _progress_errors.pop(key, None)
    if error is not None:
        _report(function, error)  # nobody waited for the load


@contextlib.contextmanager
def raising_of(key: int) -> Iterator[None]:
    """Raises the exception of a progress function in place of the block's CancelledError."""
    try:
        yield
    except CancelledError as cancelled:
        error = _progress_errors.pop(key, None)
        if error is not None:
            raise error from cancelled
        raise
    error = _progress_errors.pop(key, None)
    if error is not None:
        raise error


def add_reclaim(
    device: Any, config: _abi.ferrum_reclaim_config, function: Callable[[int], int]
) -> tuple[_abi.ferrum_registration, Callable[[], None]]:
    """Returns the registration, and a function that removes the callback's entry."""
    key = next(_keys)
    registration = _abi.ferrum_registration()
    _reclaim_functions[key] = function
    status = _native.functions().ferrum_device_reclaim_callback_add(
        device, ctypes.byref(config), _reclaim_trampoline, key, ctypes.byref(registration)
    )
    if status < 0:
        error = _native.error_of(status)
        _reclaim_functions.pop(key, None)
        raise error
    return registration, lambda: _forget(_reclaim_functions, key)


def add_model_reclaim(
    pool: Any,
    model: bytes | None,
    config: _abi.ferrum_reclaim_config,
    function: Callable[[int], int],
) -> tuple[_abi.ferrum_registration, Callable[[], None]]:
    """Returns the registration, and a function that removes the callback's entry."""
    key = next(_keys)
    registration = _abi.ferrum_registration()
    _reclaim_functions[key] = function
    status = _native.functions().ferrum_elastic_pool_reclaim_callback_add(
        pool,
        model,
        ctypes.byref(config),
        _model_reclaim_trampoline,
        key,
        ctypes.byref(registration),
    )
    if status < 0:
        error = _native.error_of(status)
        _reclaim_functions.pop(key, None)
        raise error
    return registration, lambda: _forget(_reclaim_functions, key)


def set_monitor(monitor: Any, former: int, function: Callable[[Any, int], object] | None) -> int:
    """Replaces the function of a monitor, and returns the key of the new one."""
    key = next(_keys) if function is not None else 0
    if function is not None:
        _monitor_functions[key] = function
    trampoline = _monitor_trampoline if function is not None else _abi.ferrum_monitor_fn()
    status = _native.functions().ferrum_monitor_set_callback(monitor, trampoline, key)
    if status < 0:
        error = _native.error_of(status)
        forget_monitor(key)
        raise error
    forget_monitor(former)
    return key


def forget_monitor(key: int) -> None:
    _monitor_functions.pop(key, None)


def create_placement(
    name: bytes | None, function: Callable[[Any, Any, int], int | None], handle: Any
) -> int:
    """Creates a strategy that calls the function, and returns the function's key."""
    key = next(_keys)
    _placement_functions[key] = function
    status = _native.functions().ferrum_placement_create_own(
        name, _placement_trampoline, key, ctypes.byref(handle)
    )
    if status < 0:
        error = _native.error_of(status)
        forget_placement(key)
        raise error
    return key


def adopt_stream(
    device: Any,
    foreign: _abi.ferrum_foreign_stream,
    function: Callable[[Callable[[], None]], object] | None,
    handle: Any,
) -> Callable[[], None]:
    """Adopts a stream that queues work through the function. Returns a function that removes
    its entry.
    """
    key = next(_keys) if function is not None else 0
    if function is not None:
        _enqueue_functions[key] = function
        foreign.enqueue = _enqueue_trampoline
        foreign.user_data = key
    status = _native.functions().ferrum_stream_adopt(
        device, ctypes.byref(foreign), ctypes.byref(handle)
    )
    if status < 0:
        error = _native.error_of(status)
        _forget(_enqueue_functions, key)
        raise error
    return lambda: _forget(_enqueue_functions, key)


def forget_placement(key: int) -> None:
    _placement_functions.pop(key, None)


def _forget(functions: dict[int, Any], key: int) -> None:
    functions.pop(key, None)


def set_log_callback(callback: LogFunction | None, minimum_level: LogLevel = LogLevel.INFO) -> None:
    """Sets the receiver of the library's log messages.

    It runs on a thread of the library, one call at a time. It may call this package except
    shutdown(). Setting another receiver, or None, waits for a running call of the previous
    one, except from inside that call. It works before init(), stays set after shutdown(),
    and is removed when the interpreter exits.

    Args:
        callback: called with the level and the text; None: no receiver.
        minimum_level: messages below this level are not delivered.
    """
    level = choice("minimum_level", minimum_level, LogLevel)
    if callback is not None:
        callable_of("callback", callback)
    key = next(_keys) if callback is not None else 0
    if callback is not None:
        _log_functions[key] = callback
    # This call is sure to replace only the functions that were set before it began. No lock
    # can be held during it: the library waits for a running receiver, and a receiver may
    # set another.
    replaced = list(_log_keys_set)
    trampoline = _log_trampoline if callback is not None else _abi.ferrum_log_fn()
    status = _native.functions().ferrum_log_set_callback(level, trampoline, key)
    if status < 0:
        error = _native.error_of(status)
        _log_functions.pop(key, None)
        raise error
    if key:
        _log_keys_set.add(key)
    for former in replaced:
        _log_keys_set.discard(former)
        _log_functions.pop(former, None)


def has_log_callback() -> bool:
    return bool(_log_functions)


def work_calls_back() -> bool:
    return _work_calls_back
