"""Objects that the program does not close."""

from __future__ import annotations

import gc
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import ferrum_mem as fm
import pytest

from .conftest import SMALL, eventually


def collect_warnings(action) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
        gc.collect()
    assert all(w.category is ResourceWarning for w in caught)
    return [str(w.message) for w in caught]


@pytest.mark.parametrize(
    ("make", "label"),
    [
        (lambda d, p, m: fm.Device("cpu:1"), "Device cpu:1"),
        (lambda d, p, m: fm.Pool(d, SMALL), "Pool on cpu:0"),
        (lambda d, p, m: fm.Manager(d), "Manager on cpu:0"),
        (lambda d, p, m: fm.Stream(d), "Stream on cpu:0"),
        (lambda d, p, m: d.default_stream.record_event(), "Event on cpu:0"),
        (lambda d, p, m: p.alloc(7), "PoolBlock of 7 bytes on cpu:0"),
        (lambda d, p, m: m.alloc(7), "Memory of 7 bytes on cpu:0"),
        (lambda d, p, m: d.on_pressure(print), "pressure callback on cpu:0"),
        (lambda d, p, m: d.on_reclaim(print), "reclaim callback on cpu:0"),
    ],
)
def test_collected_objects_warn_and_end(device, pool, manager, make, label):
    before = sorted(leak.kind for leak in fm.leak_report().leaks)
    told = collect_warnings(lambda: make(device, pool, manager))
    assert told == [f"unclosed ferrum_mem.{label}"]
    assert sorted(leak.kind for leak in fm.leak_report().leaks) == before


def test_closed_objects_do_not_warn(device):
    def use() -> None:
        with fm.Pool(device, SMALL) as pool, pool.alloc(10):
            pass

    assert collect_warnings(use) == []


def test_a_cycle_is_ended_in_the_right_order():
    """The collector frees a parent and its dependents at once, in an order of its own."""

    def make() -> None:
        device = fm.Device("cpu:0")
        pool = fm.Pool(device, SMALL)
        manager = fm.Manager(device)
        family: list[object] = [device, pool, manager, fm.Stream(device)]
        family += [pool.alloc(10), manager.alloc(10), device.on_pressure(print)]
        family.append(family)

    told = collect_warnings(make)
    assert len(told) == 7
    assert not fm.leak_report().leaks


def test_leak_report_has_ages(device):
    config = fm.VirtualPoolConfig(capacity_bytes=1 << 20, page_bytes=1 << 16)
    start = time.monotonic_ns()
    with (
        fm.Stream(device) as stream,
        fm.Event(stream),
        fm.VirtualPool(device, config) as pool,
        pool.alloc(0, 100),
    ):
        made = time.monotonic_ns()
        first = {leak.kind: leak.age_ns for leak in fm.leak_report().leaks}
        least = time.monotonic_ns()
        second = {leak.kind: leak.age_ns for leak in fm.leak_report().leaks}
        most = time.monotonic_ns() - start
    assert set(first) == {"device", "stream", "event", "vpool", "range"}
    for kind in ("stream", "event", "vpool", "range"):
        assert 0 < first[kind] < second[kind] <= most
        assert second[kind] >= least - made


def test_a_busy_stream_is_ended_in_the_background(device, gate):
    def make() -> None:
        fm.Stream(device).host_function(gate.wait)

    assert collect_warnings(make) == ["unclosed ferrum_mem.Stream on cpu:0"]
    assert any(leak.kind == "stream" for leak in fm.leak_report().leaks)
    gate.open()
    eventually(lambda: not any(leak.kind == "stream" for leak in fm.leak_report().leaks))


def test_a_warning_that_is_an_error_does_not_lose_the_object(device, monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: told.append(args.exc_type))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fm.Pool(device, SMALL)
        gc.collect()
    assert told == [ResourceWarning]
    assert not [leak for leak in fm.leak_report().leaks if leak.kind == "pool"]


def test_an_owner_may_be_forgotten_before_its_blocks(device):
    block = fm.Pool(device, SMALL).alloc(10)
    assert collect_warnings(lambda: None) == []
    assert not block.pool.closed
    block.free()
    told = collect_warnings(lambda: block.__dict__.pop("_pool"))
    assert told == ["unclosed ferrum_mem.Pool on cpu:0"]


def test_memory_of_every_kind_has_free_and_close(device, other_device):
    virtual = fm.VirtualPoolConfig(capacity_bytes=1 << 20)
    with (
        fm.Pool(device, SMALL) as pool,
        fm.Manager(device) as manager,
        fm.VirtualPool(device, virtual) as vpool,
        fm.FallbackManager(other_device, device) as fallback,
    ):
        makers = [
            lambda: pool.alloc(10),
            lambda: pool.alloc_batch(10, 2),
            lambda: manager.alloc(10),
            lambda: vpool.alloc(0, 10),
            lambda: fallback.alloc(10, fm.DType.U8),
        ]
        for make in makers:
            for first, second in (("free", "close"), ("close", "free")):
                made = make()
                getattr(made, first)()
                assert made.closed
                getattr(made, second)()
        memory = manager.alloc(10)
        view = memory.as_numpy()
        with pytest.raises(fm.ViewExistsError):
            memory.free()
        assert not memory.closed
        del view
        memory.free()


@pytest.mark.parametrize("owner", ["backend", "pool", "virtual pool", "model", "manager", "device"])
def test_no_view_of_memory_that_another_thread_made_during_a_forced_end(owner: str) -> None:
    """A forced end first looks for views. Another thread can then still make tensors and blocks."""
    numpy = pytest.importorskip("numpy")
    device = fm.Device("cpu:0")
    compute, pool, manager = fm.Compute(device), fm.Pool(device, SMALL), fm.Manager(device)
    vpool = fm.VirtualPool(device, fm.VirtualPoolConfig(capacity_bytes=8 << 20))
    elastic = fm.ElasticPool(device, fm.ElasticPoolConfig(limit_bytes=16 << 20))
    model = elastic.register_model("m", fm.ModelConfig(virtual_bytes=8 << 20))
    makers = {
        "backend": lambda: [compute.op("Relu")([1.0, 2.0])],
        "pool": lambda: [fm.Tensor(pool, "u8", 8), pool.alloc(8)],
        "virtual pool": lambda: [fm.Tensor(vpool, "u8", 8, offset_bytes=4 << 20)],
        "model": lambda: [fm.Tensor(model, "u8", 8)],
        "manager": lambda: [manager.alloc(8)],
    }
    of = {"backend": compute, "pool": pool, "virtual pool": vpool, "manager": manager}
    ended: Any = {**of, "model": elastic, "device": device}[owner]
    make = makers.get(owner, lambda: [each for made in makers.values() for each in made()])
    end: Callable[[int], int] = ended._owned._end
    late: list[Any] = []

    def refused() -> None:
        for each in late:
            for view in (each.view, lambda each=each: numpy.from_dlpack(each)):
                with pytest.raises(fm.InvalidHandleError):
                    view()
            assert not each._owned.views

    def end_after_the_check(flags: int) -> int:
        late.extend(make())
        refused()
        return end(flags)

    ended._owned._end = end_after_the_check
    ended.close(force=True)
    assert len(late) >= 1
    refused()
    for each in late:
        assert each.closed
        each.close()
    for each in (model, elastic, vpool, manager, pool, compute, device):
        each.close()


def test_views_after_a_forced_end_that_failed() -> None:
    with fm.Device("cpu:0") as device, fm.Device("cpu:0") as same, fm.Pool(device, SMALL) as pool:
        end = pool._owned._end
        pool._owned._end = lambda flags: -1
        with pytest.raises(fm.FerrumError):
            pool.close(force=True)
        pool._owned._end = end
        same.close(force=True)  # the device stays open
        with pool.alloc(8) as block:
            assert len(block.view()) == 8


def test_sizes_in_messages_equal_those_of_the_library():
    from ferrum_mem._values import size_text

    # The sizes of core/device/size_test.go.
    for size, text in {
        0: "0 bytes",
        1: "1 byte",
        1000: "1000 bytes",
        (64 << 10) - 1: "65535 bytes",
        64 << 10: "64 KiB",
        96 << 10: "96 KiB",
        1 << 20: "1 MiB",
        3 << 19: "1.50 MiB (1572864 bytes)",
        (1 << 30) - 1: "1024.00 MiB (1073741823 bytes)",
        8 << 30: "8 GiB",
        (8 << 30) + 1: "8.00 GiB (8589934593 bytes)",
        1 << 40: "1024 GiB",
        16 << 40: "16 TiB",
        (1 << 64) - 1: "16777216.00 TiB (18446744073709551615 bytes)",
    }.items():
        assert size_text(size) == text
