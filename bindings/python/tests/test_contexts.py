"""The end of a context: which objects are closed, and which exception propagates."""

# A context under test ends inside the block of pytest.raises.
# ruff: noqa: PT012

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import pathlib
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import ferrum_mem as fm
import pytest

from .conftest import MIB, SMALL, Gate, eventually
from .test_models import SMALL_MODEL

PAGE = 1 << 16
VIRTUAL = fm.VirtualPoolConfig(capacity_bytes=1 << 20, page_bytes=PAGE)
SHARED = fm.ElasticPoolConfig(limit_bytes=1 << 22, page_bytes=PAGE)
BUFFERS = fm.MemoryConfig(min_free_bytes=0)
WEIGHTS = (
    pathlib.Path(__file__).parents[3]
    / "core"
    / "weights"
    / "header"
    / "testdata"
    / "plain.safetensors"
)


class Home:
    """The parents of the objects in the tests."""

    def __init__(self, device: fm.Device, pool: fm.Pool, manager: fm.Manager):
        self.device, self.pool, self.manager = device, pool, manager
        self.gate = Gate()
        self.keep = contextlib.ExitStack()

    def kept(self, made: Any) -> Any:
        return self.keep.enter_context(made)


@pytest.fixture
def home(device: fm.Device, pool: fm.Pool, manager: fm.Manager) -> Iterator[Home]:
    made = Home(device, pool, manager)
    yield made
    made.gate.open()
    made.keep.close()


def shared(home: Home) -> fm.ElasticPool:
    return fm.ElasticPool(home.device, SHARED)


def model(home: Home) -> fm.Model:
    pool: fm.ElasticPool = home.kept(shared(home))
    return pool.register_model("chat", fm.ModelConfig(virtual_bytes=1 << 20))


def fallback_manager(home: Home) -> fm.FallbackManager:
    return fm.FallbackManager(home.device, home.kept(fm.Device("cpu:1")), BUFFERS)


def hold(home: Home, stream: fm.Stream) -> Callable[[], object]:
    stream.host_function(home.gate.wait)
    home.gate.reached.wait()

    def release() -> None:
        home.gate.open()
        stream.synchronize()

    return release


def look(_home: Home, block: Any) -> Callable[[], object]:
    views = [block.view()]
    return views.clear


def pin(_home: Home, block: Any) -> Callable[[], object]:
    block.pin()
    unpin: Callable[[], object] = block.unpin
    return unpin


def source(_home: Home) -> fm.Weights:
    return fm.Weights(WEIGHTS)


def tensors(home: Home) -> fm.TensorSet:
    with source(home) as opened:
        return opened.load(home.pool)


def load_slowly(home: Home, opened: fm.Weights) -> Callable[[], object]:
    gate = home.gate
    loading = opened.load(home.pool, progress=lambda _: gate.wait(), wait=False)
    gate.reached.wait()

    def release() -> None:
        gate.open()
        loading.wait()
        loading.close()

    return release


def look_at_tensor(_home: Home, loaded: fm.TensorSet) -> Callable[[], object]:
    views = [loaded["embed.weight"].view()]
    return views.clear


def occupy(_home: Home, made: fm.ElasticPool) -> Callable[[], object]:
    inside = made.register_model("chat", fm.ModelConfig(virtual_bytes=1 << 20))
    held = inside.alloc(PAGE)

    def release() -> None:
        held.close()
        if not inside.closed:
            inside.close()

    return release


def run_slowly(home: Home, made: fm.Executor) -> Callable[[], object]:
    stream: fm.Stream = home.kept(fm.Stream(home.device))
    stream.host_function(home.gate.wait)
    x = {"x": [[1, 2, 3, 4]]}
    thread = threading.Thread(target=lambda: made.run(x, stream=stream))
    thread.start()

    def is_used() -> bool:
        with contextlib.suppress(fm.BusyError):
            made.run(x, timeout_s=0)
            return False
        return True

    eventually(is_used)

    def release() -> None:
        home.gate.open()
        thread.join()

    return release


def hold_sequence(_home: Home, cache: fm.KvCache) -> Callable[[], object]:
    (made,) = cache.allocate([6], [], [])
    return lambda: cache.free([made.sequence])


Make = Callable[[Home], Any]
Use = Callable[[Home, Any], Callable[[], object]]

# How to create a context, and a use that prevents its close. Calling the result ends the
# use.
BUSY: dict[str, tuple[Make, Use]] = {
    "Device": (lambda h: fm.Device("cpu:1"), lambda h, d: fm.Pool(d, SMALL).close),
    "Pool": (lambda h: fm.Pool(h.device, SMALL), lambda h, p: p.alloc(100).close),
    "PoolBlock": (lambda h: h.pool.alloc(100), look),
    "Manager": (lambda h: fm.Manager(h.device), lambda h, m: m.alloc(100).close),
    "Memory, pinned": (lambda h: h.manager.alloc(100), pin),
    "Memory, mapped": (lambda h: h.manager.alloc(100), lambda h, b: b.map().close),
    "HostMapping": (lambda h: h.kept(h.manager.alloc(100)).map(), look),
    "Stream": (lambda h: fm.Stream(h.device), hold),
    "VirtualPool": (
        lambda h: fm.VirtualPool(h.device, VIRTUAL),
        lambda h, p: p.alloc(0, 100).close,
    ),
    "MappedRange": (lambda h: h.kept(fm.VirtualPool(h.device, VIRTUAL)).alloc(0, 100), look),
    "ElasticPool": (shared, occupy),
    "Model": (model, lambda h, m: m.alloc(100).close),
    "FallbackManager": (fallback_manager, lambda h, m: m.alloc(100).close),
    "FallbackBuffer": (lambda h: h.kept(fallback_manager(h)).alloc(100), pin),
    "Weights": (source, load_slowly),
    "TensorSet": (tensors, look_at_tensor),
    "Compute": (lambda h: fm.Compute(h.device), lambda h, c: c.sequence().close),
    "Tensor": (lambda h: fm.Tensor(h.pool, "f32", 4), look),
    "KvCache": (
        lambda h: fm.KvCache(
            fm.KvCacheConfig(block_tokens=4, blocks=8, sequences=2, sequence_tokens=16)
        ),
        hold_sequence,
    ),
    "Executor": (lambda h: fm.models.build(definition=SMALL_MODEL), run_slowly),
}

# Contexts whose close always succeeds.
FREE: dict[str, Make] = {
    "Event": lambda h: h.device.default_stream.record_event(),
    "Registration": lambda h: h.device.on_pressure(print),
    "PoolBatch": lambda h: h.pool.alloc_batch(3, 100),
    "Monitor": lambda h: fm.Monitor(),
    "Placement": lambda h: fm.Placement(),
    "GenericMemoryPool": lambda h: fm.GenericMemoryPool(BUFFERS),
    "AllocationTracker": lambda h: fm.AllocationTracker(),
    "Decoder": lambda h: fm.Decoder("a test", lambda _start, _size: False, lambda _file: {}),
    "RegisteredCompute": lambda h: fm.register_compute("a-test", print),
    "RegisteredPass": lambda h: fm.models.register_pass(
        fm.models.optimization_pass(print, name="a-test")
    ),
    "OpSequence": lambda h: h.kept(fm.Compute(h.device)).sequence(),
    "pinned": lambda h: h.kept(h.manager.alloc(100)).pinned(),
    "pinned buffer": lambda h: h.kept(h.kept(fallback_manager(h)).alloc(100)).pinned(),
}


class OwnError(Exception):
    """An exception of the program."""


def out_of_memory(home: Home) -> None:
    home.pool.alloc(1 << 50)


def raising(kind: type[BaseException]) -> Callable[[Home], None]:
    def act(_home: Home) -> None:
        raise kind("mine")

    return act


IN_FLIGHT: dict[str, tuple[type[BaseException], Callable[[Home], None]]] = {
    "the program's": (OwnError, raising(OwnError)),
    "of the library": (fm.OutOfMemoryError, out_of_memory),
    "Ctrl-C": (KeyboardInterrupt, raising(KeyboardInterrupt)),
    "an exit": (SystemExit, raising(SystemExit)),
    "a cancelled task": (asyncio.CancelledError, raising(asyncio.CancelledError)),
}


def notes(error: BaseException) -> list[str]:
    return list(getattr(error, "__notes__", []))


def test_every_context_has_a_case() -> None:
    """Each class with a context is in one of the tables, or inherits its context from one."""
    kinds = {
        value
        for value in (getattr(fm, name) for name in fm.__all__)
        if isinstance(value, type) and hasattr(value, "__exit__")
    }
    named = {name.split(",")[0] for name in (*BUSY, *FREE)}
    # Only a device with captures has graphs. A span and a tensor of a set own nothing: their
    # close() does nothing.
    exempt = {"Graph", "MappedSpan", "WeightTensor"}
    missing = {kind.__name__ for kind in kinds} - named - exempt
    assert not {
        name
        for name in missing
        if not any(issubclass(getattr(fm, name), getattr(fm, known, ())) for known in named)
    }


@pytest.mark.parametrize("flight", IN_FLIGHT)
@pytest.mark.parametrize("kind", BUSY)
def test_exception_in_a_context_propagates(home: Home, kind: str, flight: str) -> None:
    make, use = BUSY[kind]
    raised, act = IN_FLIGHT[flight]
    made = make(home)
    release = use(home, made)
    with pytest.raises(raised) as caught, made:
        act(home)
    error = caught.value
    assert type(error) is raised
    assert len(notes(error)) == 1
    assert made._owned.label in notes(error)[0]
    assert "could not be closed" in notes(error)[0]
    assert not made.closed, "what could not be closed is usable"
    release()
    made.close()
    made.close()
    assert made.closed


@pytest.mark.parametrize("kind", BUSY)
def test_a_failed_close_raises_when_nothing_else_does(home: Home, kind: str) -> None:
    make, use = BUSY[kind]
    made = make(home)
    release = use(home, made)
    with pytest.raises(fm.BusyError) as caught, made:
        pass
    assert not notes(caught.value)
    assert not made.closed
    again = use(home, made) if kind in ("Pool", "Manager", "Model", "FallbackManager") else None
    if again is not None:
        again()
    release()
    made.close()
    assert made.closed


@pytest.mark.parametrize("flight", IN_FLIGHT)
@pytest.mark.parametrize("kind", FREE)
def test_object_is_closed_when_an_exception_leaves_its_context(
    home: Home, kind: str, flight: str
) -> None:
    raised, act = IN_FLIGHT[flight]
    made = FREE[kind](home)
    with pytest.raises(raised) as caught, made:
        act(home)
    assert not notes(caught.value)
    if hasattr(made, "closed"):
        assert made.closed


@pytest.mark.parametrize("of", ["manager", "fallback manager"])
def test_missing_pin_does_not_hide_the_exception(home: Home, of: str) -> None:
    """A forced close ended its block inside the context."""
    owner = fm.Manager(home.device) if of == "manager" else fallback_manager(home)
    block: Any = owner.alloc(100)
    with pytest.raises(OwnError) as caught, block.pinned():
        owner.close(force=True)
        raise OwnError
    assert len(notes(caught.value)) == 1
    assert "a pin of the" in notes(caught.value)[0]


@pytest.mark.parametrize(
    "kind",
    ["Device", "Pool", "Manager", "VirtualPool", "ElasticPool", "Model", "FallbackManager"],
)
def test_postponed_object_ends_with_its_last_dependent(home: Home, kind: str) -> None:
    make, use = BUSY[kind]
    made = make(home)
    first, second = use(home, made), None
    if kind not in ("Device", "ElasticPool", "VirtualPool"):
        second = use(home, made)
    with pytest.raises(OwnError), made:
        raise OwnError
    if second is not None:
        first()
        assert not made.closed
        first = second
    first()
    eventually(lambda: made.closed)


def test_nested_contexts_end_from_the_inside_out(home: Home) -> None:
    blocks = []
    with pytest.raises(OwnError) as caught:  # noqa: SIM117
        with fm.Device("cpu:1") as device, fm.Pool(device, SMALL) as pool, pool.alloc(5):
            blocks.append(pool.alloc(10))
            raise OwnError
    assert [note.split(" ")[0] for note in notes(caught.value)] == ["Pool", "Device"]
    blocks[0].close()
    assert pool.closed
    assert device.closed


@pytest.mark.parametrize("raises", [False, True])
def test_exit_stack_raises_the_first_failure(home: Home, raises: bool) -> None:
    """The first failure propagates, whether of the program or of a close."""
    with (
        pytest.raises(OwnError if raises else fm.BusyError) as caught,
        contextlib.ExitStack() as all_,
    ):
        device = all_.enter_context(fm.Device("cpu:1"))
        pool = all_.enter_context(fm.Pool(device, SMALL))
        block = pool.alloc(10)
        if raises:
            raise OwnError
    labels = [note.split(" ")[0] for note in notes(caught.value)]
    assert labels == (["Pool", "Device"] if raises else ["Device"])
    assert "1 live block of" in (str(caught.value) if not raises else notes(caught.value)[0])
    block.close()
    pool.close()
    eventually(lambda: device.closed)


def test_dropped_contexts_leak_nothing(home: Home) -> None:
    def use() -> None:
        with fm.Device("cpu:1") as device, fm.Pool(device, SMALL) as pool:
            pool.alloc(10)
            fm.Stream(device).host_function(home.gate.wait)
            raise OwnError

    before = len(fm.leak_report().leaks)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with contextlib.suppress(OwnError):
            use()
        gc.collect()
    labels = {str(warning.message).split(".")[1].split(" ")[0] for warning in told}
    assert labels <= {"PoolBlock", "Stream"}
    home.gate.open()
    eventually(lambda: len(fm.leak_report().leaks) == before)


def test_a_warning_that_is_an_error_does_not_hide_the_exception(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Like Python versions whose exceptions have no notes."""

    class BareError(OwnError):
        add_note = None

    pool = fm.Pool(home.device, SMALL)
    block = pool.alloc(5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(BareError), pool:
            raise BareError
    with pytest.raises(BareError), pytest.warns(ResourceWarning, match="could not be closed"), pool:
        raise BareError
    block.close()
    assert pool.closed


def test_an_interrupt_in_a_real_wait_is_not_hidden(home: Home) -> None:
    """Ctrl-C in a wait inside contexts that cannot be closed."""
    raise_in = ctypes.pythonapi.PyErr_SetInterrupt
    # A process that a shell starts in the background ignores the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt) as caught, fm.Stream(home.device) as stream:
            hold(home, stream)
            raise_in()
            stream.synchronize()
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(notes(caught.value)) == 1
    home.gate.open()
    stream.synchronize()
    stream.close()


def test_a_cancelled_task_stays_cancelled(home: Home) -> None:
    left: list[Any] = []

    async def work() -> None:
        with fm.Manager(home.device) as manager, manager.alloc(MIB) as block:
            left.extend((manager, block))
            block.pin()
            left[0].begun = True
            await asyncio.Event().wait()

    async def main() -> None:
        task = asyncio.create_task(work())
        while not left:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        assert len(notes(caught.value)) == 2

    asyncio.run(main())
    left[1].unpin()
    left[1].close()
    assert left[0].closed


def test_a_fork_ends_contexts_in_the_child_quietly(run_python: Any) -> None:
    done = run_python(
        """
import os
import ferrum_mem as fm
with fm.Device("cpu:0") as device, fm.Pool(device) as pool:
    block = pool.alloc(10)
    child = os.fork()
    if child == 0:
        try:
            with pool:
                raise KeyError("mine")
        except KeyError as error:
            os._exit(0 if not getattr(error, "__notes__", []) else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    block.close()
"""
    )
    assert done.returncode == 0, done.stderr
