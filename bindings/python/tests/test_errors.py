"""The exception tree: each failure has its class and its details."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import ferrum_mem as fm
import pytest
from ferrum_mem import _abi, errors

ERRORS = [row for row in _abi.STATUSES if row.value != 0]


@pytest.mark.parametrize("row", ERRORS, ids=lambda row: row.name)
def test_each_status_has_a_class_that_is_exported(row):
    cls = errors.class_of(row.value)
    assert cls is not fm.FerrumError
    assert getattr(fm, cls.__name__) is cls
    assert cls.__name__ in fm.__all__
    assert cls.__doc__
    error = cls(row.value, "why", operation="pool.alloc", device="cpu:0", native_code=7)
    assert str(error) == f"cpu:0: pool.alloc: why ({row.name}, native code 7)"
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is cls
    assert vars(copied) == vars(error)
    assert fm.status_name(row.value) == row.name == error.name
    assert fm.status_text(row.value) == row.text


def test_a_status_of_a_newer_library_is_a_plain_error():
    error = errors.class_of(-9999)(-9999, "new")
    assert type(error) is fm.FerrumError
    assert error.name == fm.status_name(-9999) == "FERRUM_ERROR_UNKNOWN"


@pytest.mark.parametrize(
    ("cls", "builtin"),
    [
        (fm.OutOfMemoryError, MemoryError),
        (fm.OutOfPhysicalMemoryError, fm.OutOfMemoryError),
        (fm.FerrumTimeoutError, TimeoutError),
        (fm.FerrumOverflowError, OverflowError),
        (fm.UnsupportedError, NotImplementedError),
        (fm.InvalidSizeError, ValueError),
        (fm.InvalidHandleError, fm.InvalidArgumentError),
        (fm.ForkedError, fm.InvalidStateError),
        (fm.ViewExistsError, fm.BusyError),
        (fm.ViewExistsError, BufferError),
        (fm.DeviceNotFoundError, LookupError),
        (fm.PermissionDeniedError, PermissionError),
        (fm.IoError, OSError),
        (fm.LibraryLoadError, ImportError),
    ],
)
def test_family(cls, builtin):
    assert issubclass(cls, builtin)


def test_the_detail_is_that_of_the_call(device):
    with pytest.raises(fm.InvalidConfigError) as caught:
        fm.Pool(device, fm.PoolConfig(initial_size_bytes=1 << 20, max_size_bytes=1 << 16))
    error = caught.value
    assert error.status == _abi.FERRUM_ERROR_INVALID_CONFIG
    assert error.name == "FERRUM_ERROR_INVALID_CONFIG"
    assert error.function == "ferrum_pool_create"
    assert error.operation
    assert error.device == "cpu:0"
    assert "initial_size_bytes" in error.message
    assert "initial_size_bytes 1 MiB" in error.message


def test_the_detail_is_per_thread(manager):
    """Two threads fail in two ways at the same time, and each gets its own details."""
    barrier = threading.Barrier(2)
    wrong: list[str] = []

    def fail(size_bytes: int, alignment_bytes: int, expected: type[fm.FerrumError]) -> None:
        for _ in range(200):
            barrier.wait(30)
            try:
                manager.alloc(size_bytes, alignment_bytes=alignment_bytes)
            except fm.FerrumError as error:
                if type(error) is not expected or error.status == 0:
                    wrong.append(repr(error))

    threads = [
        threading.Thread(target=fail, args=(0, 8, fm.InvalidSizeError)),
        threading.Thread(target=fail, args=(8, 3, fm.InvalidAlignmentError)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong


def test_details_that_a_finalizer_overwrote_are_not_used(device):
    from ferrum_mem import _native

    with pytest.raises(fm.DeviceNotFoundError):
        fm.Device("cpu:63")
    error = _native.error_of(_abi.FERRUM_ERROR_BUSY)
    assert isinstance(error, fm.BusyError)
    assert error.message == "in use"
    assert error.operation == ""


NEGATIVE = fm.InvalidArgumentError
TOO_LARGE = fm.FerrumOverflowError


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda d, p, m, b: p.alloc(-1), NEGATIVE),
        (lambda d, p, m, b: p.alloc(2**64), TOO_LARGE),
        (lambda d, p, m, b: p.alloc(1.5), TypeError),
        (lambda d, p, m, b: p.alloc(8, alignment_bytes=-8), NEGATIVE),
        (lambda d, p, m, b: m.alloc(2**64), TOO_LARGE),
        (lambda d, p, m, b: m.alloc(8, tag="a\0b"), NEGATIVE),
        (lambda d, p, m, b: m.alloc(8, tag=b"bytes"), TypeError),
        (lambda d, p, m, b: b.write(b"x", -1), NEGATIVE),
        (lambda d, p, m, b: b.read(1, 2**64), TOO_LARGE),
        (lambda d, p, m, b: b.read(-1), NEGATIVE),
        (lambda d, p, m, b: b.fill_async(2**32), TOO_LARGE),
        (lambda d, p, m, b: b.fill_async(-1), NEGATIVE),
        (lambda d, p, m, b: d.set_limit(-1), NEGATIVE),
        (lambda d, p, m, b: d.synchronize(-1.0), NEGATIVE),
        (lambda d, p, m, b: d.synchronize(float("nan")), NEGATIVE),
        (lambda d, p, m, b: fm.Device("cpu\0:0"), NEGATIVE),
        (lambda d, p, m, b: fm.init(host_devices=2**32), TOO_LARGE),
        (lambda d, p, m, b: d.on_reclaim(lambda *_: 0, priority=2**31), TOO_LARGE),
    ],
)
def test_numbers_and_texts_that_do_not_fit_are_rejected(device, pool, manager, call, expected):
    with manager.alloc(64) as block:
        before = block.read()
        with pytest.raises(expected):
            call(device, pool, manager, block)
        assert block.read() == before


PAGE = 1 << 16
FACTS = (
    "offset_bytes",
    "size_bytes",
    "capacity_bytes",
    "page_bytes",
    "requested_bytes",
    "available_bytes",
    "largest_free_bytes",
)


def stated(error: fm.FerrumError) -> dict[str, int]:
    values = {name: getattr(error, name) for name in FACTS}
    return {name: value for name, value in values.items() if value is not None}


def test_failures_of_virtual_pools_state_their_numbers(device):
    config = fm.VirtualPoolConfig(
        capacity_bytes=32 * PAGE, page_bytes=PAGE, limit_bytes=8 * PAGE, ready_pages=0
    )
    page = {"size_bytes": PAGE, "page_bytes": PAGE}
    with fm.VirtualPool(device, config) as pool, pool.alloc(PAGE, PAGE):
        cases = [
            (
                lambda: pool.alloc(0, 2 * PAGE),
                fm.AlreadyMappedError,
                page | {"offset_bytes": PAGE},
            ),
            (lambda: pool.free(0, PAGE), fm.NotMappedError, page | {"offset_bytes": 0}),
            (
                lambda: pool.alloc(31 * PAGE, PAGE + 1),
                fm.InvalidOffsetError,
                {
                    "offset_bytes": 31 * PAGE,
                    "size_bytes": PAGE + 1,
                    "capacity_bytes": 32 * PAGE,
                },
            ),
            (
                lambda: pool.alloc(2 * PAGE, 9 * PAGE),
                fm.OutOfPhysicalMemoryError,
                {"requested_bytes": 9 * PAGE, "available_bytes": 7 * PAGE},
            ),
            (
                lambda: fm.VirtualPool(
                    device, fm.VirtualPoolConfig(capacity_bytes=1, page_bytes=3 * PAGE)
                ),
                fm.InvalidPageSizeError,
                {"page_bytes": 3 * PAGE},
            ),
        ]
        for call, expected, facts in cases:
            with pytest.raises(expected) as caught:
                call()
            assert stated(caught.value) == facts
            assert caught.value.model == ""
            copied = pickle.loads(pickle.dumps(caught.value))
            assert vars(copied) == vars(caught.value)


def test_failures_of_models_name_them(device):
    limits = fm.ElasticPoolConfig(limit_bytes=4 * PAGE, page_bytes=PAGE, ready_pages=0)
    config = fm.ModelConfig(virtual_bytes=8 * PAGE)
    with fm.ElasticPool(device, limits) as pool, pool.register_model("chat", config) as chat:
        with pytest.raises(fm.ModelAlreadyExistsError) as exists:
            pool.register_model("chat", config)
        with pytest.raises(fm.OutOfPhysicalMemoryError) as short:
            chat.alloc(5 * PAGE)
        with pytest.raises(fm.OutOfVirtualMemoryError) as long:
            chat.alloc(9 * PAGE)
        assert {caught.value.model for caught in (exists, short, long)} == {"chat"}
        assert stated(exists.value) == {}
        assert stated(short.value) == {
            "requested_bytes": 5 * PAGE,
            "available_bytes": 4 * PAGE,
        }
        assert stated(long.value) == {
            "requested_bytes": 9 * PAGE,
            "capacity_bytes": 8 * PAGE,
        }


def test_error_without_numbers(pool):
    with pytest.raises(fm.InvalidSizeError) as caught:
        pool.alloc(0)
    assert stated(caught.value) == {}
    assert caught.value.native_code == 0


def test_out_of_memory_states_its_numbers(device):
    config = fm.PoolConfig(
        initial_size_bytes=4 << 20, growth_increment_bytes=4 << 20, max_size_bytes=4 << 20
    )
    with fm.Pool(device, config) as pool, pool.alloc(3 << 20):
        with pytest.raises(fm.OutOfMemoryError) as caught:
            pool.alloc(2 << 20)
        assert stated(caught.value) == {
            "requested_bytes": 2 << 20,
            "available_bytes": 1 << 20,
            "largest_free_bytes": 1 << 20,
        }


@pytest.mark.parametrize(
    ("create", "kind"),
    [
        (lambda d, other: fm.Pool(d, other), "a PoolConfig"),
        (lambda d, other: fm.VirtualPool(d, other), "a VirtualPoolConfig"),
        (lambda d, other: fm.ElasticPool(d, other), "an ElasticPoolConfig"),
        (lambda d, other: fm.Manager(d, other), "a ManagerConfig"),
        (lambda d, other: fm.FallbackManager(d, config=other), "a MemoryConfig"),
        (lambda d, other: fm.GenericMemoryPool(other), "a MemoryConfig"),
    ],
)
@pytest.mark.parametrize("other", [5, 0, {}, "64 MiB", fm.ModelConfig(virtual_bytes=8)])
def test_settings_of_another_class(device, create, kind, other):
    name = type(other).__name__
    with pytest.raises(TypeError, match=f"^config must be {kind}, not {name}$"):
        create(device, other)


def test_a_class_derived_from_settings(device):
    class Small(fm.PoolConfig):
        pass

    with fm.Pool(device, Small(initial_size_bytes=1 << 20)) as pool:
        pool.alloc(8).close()


def test_settings_of_another_class_for_a_memory_type(device, manager):
    with pytest.raises(TypeError, match="config must be a PoolConfig, not int"):
        manager.configure_pool(fm.MemoryType.GENERAL, 5)
    wrong: dict[fm.MemoryType, Any] = {fm.MemoryType.GENERAL: 5}
    config = fm.ManagerConfig(pool_configs=wrong)
    with pytest.raises(TypeError, match=r"pool_configs\[\d+\] must be a PoolConfig, not int"):
        fm.Manager(device, config)
