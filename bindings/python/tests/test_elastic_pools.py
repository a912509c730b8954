"""Elastic pools: models, their limits, and which models release pages when pages are short."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import ferrum_mem as fm
import pytest

from .conftest import MIB

PAGE = 1 << 16


@pytest.fixture
def shared(device: fm.Device) -> Iterator[fm.ElasticPool]:
    config = fm.ElasticPoolConfig(
        limit_bytes=8 * PAGE, page_bytes=PAGE, ready_pages=0, name="several"
    )
    with fm.ElasticPool(device, config) as made:
        yield made


def model(
    pool: fm.ElasticPool, model_id: str, *, guaranteed_bytes: int = 0, priority: int = 0
) -> fm.Model:
    config = fm.ModelConfig(
        virtual_bytes=64 * MIB, guaranteed_bytes=guaranteed_bytes, priority=priority
    )
    return pool.register_model(model_id, config)


def test_models_and_their_books(device, shared):
    with model(shared, "chat", priority=3) as chat, model(shared, "code", guaranteed_bytes=PAGE):
        with pytest.raises(fm.ModelAlreadyExistsError, match='"chat"'):
            model(shared, "chat")
        with chat.alloc(2 * PAGE + 1, tag="kv") as block:
            assert block.offset_bytes == 0
            info = chat.info()
            assert (info.priority, info.physical_bytes) == (3, 3 * PAGE)
            assert info.base_address == block.address
            owner = device.owner_of(block.address)
            assert (owner.model, owner.tag) == ("chat", "kv")
            assert owner.elastic_pool == shared._handle.id
            assert [m["id"] for m in shared.models()] == ["chat", "code"]
            assert shared.models()[0]["requested_bytes"] == 2 * PAGE + 1
            (leak,) = [leak for leak in fm.leak_report().leaks if leak.kind == "range"]
            assert (leak.model, leak.tag) == ("chat", "kv")
            everything = shared.info()
            assert (everything.num_models, everything.physical_bytes) == (2, 3 * PAGE)
            assert everything.guaranteed_bytes == PAGE
            assert shared.statistics().live_blocks.current == 1
            with pytest.raises(fm.BusyError):
                chat.close()
    assert chat.closed
    assert shared.info().num_models == 0
    with pytest.raises(fm.InvalidHandleError):
        chat.alloc(1)


def test_places_and_views(shared):
    with model(shared, "chat") as chat:
        first, second = chat.alloc(PAGE), chat.alloc(PAGE)
        assert second.offset_bytes == PAGE
        first.view()[0] = 7
        first.free()
        with chat.alloc(10) as again:
            assert again.offset_bytes == 0
            with pytest.raises(fm.AlreadyMappedError):
                chat.alloc(1, offset_bytes=5)
            with chat.alloc(1, offset_bytes=5 * PAGE + 3, tag="x") as placed:
                assert placed.address == chat.info().base_address + 5 * PAGE + 3
                view = placed.view()
                with pytest.raises(fm.ViewExistsError):
                    chat.free(5 * PAGE, PAGE)
                with pytest.raises(fm.ViewExistsError):
                    chat.close(force=True)
                del view
                gc.collect()
        assert chat.is_mapped(PAGE, PAGE)
        chat.free(PAGE, PAGE)
        assert second.closed
        assert not chat.is_mapped(PAGE, PAGE)
        with pytest.raises(fm.OutOfVirtualMemoryError):
            chat.alloc(65 * MIB)


def test_model_above_its_guarantee_releases_pages(shared):
    with model(shared, "chat") as chat, model(shared, "code", guaranteed_bytes=4 * PAGE) as code:
        held = [chat.alloc(PAGE) for _ in range(4)]
        with pytest.raises(
            fm.OutOfPhysicalMemoryError, match="requested 64 KiB, available 0 bytes"
        ):
            chat.alloc(PAGE)
        asked = []

        def give(who: fm.Model, needed: int) -> int:
            asked.append((who.id, needed))
            held.pop().free()
            return PAGE

        with chat.on_reclaim(give, deadline_s=20), code.alloc(5 * PAGE):
            assert asked == [("chat", PAGE)]
            assert chat.info().reclaim_calls == 1
            assert code.info().waits == 1
        code.set_limits(max_bytes=PAGE, priority=2)
        assert (code.info().guaranteed_bytes, code.info().max_bytes) == (0, PAGE)
        with pytest.raises(fm.OutOfPhysicalMemoryError):
            code.alloc(2 * PAGE)
        shared.set_limit(3 * PAGE)
        with pytest.raises(fm.InvalidConfigError):
            chat.set_limits(guaranteed_bytes=4 * PAGE)
        for block in held:
            block.free()
    shared.synchronize()
    shared.pause()
    shared.trim()
    shared.compact()
    assert shared.info().held_bytes == 0
    shared.resume()


def test_all_models_have_the_recommended_pages(device):
    sizes = device.page_sizes()
    with fm.ElasticPool(device) as pool:
        assert pool.info().page_bytes == sizes.recommended_bytes
        assert (pool.info().physical_bytes, pool.info().num_models) == (0, 0)
        with model(pool, "chat") as chat, model(pool, "code") as code:
            for each in (chat, code):
                info = each.info()
                assert info.page_bytes == sizes.recommended_bytes
                assert info.base_address % sizes.recommended_bytes == 0
                with each.alloc(1):
                    assert each.info().physical_bytes == sizes.recommended_bytes


def test_bad_settings(device, shared):
    for model_id in ("", "m" * 64, "a\0b"):
        with pytest.raises(fm.InvalidArgumentError):
            model(shared, model_id)
    with pytest.raises(fm.InvalidConfigError, match="guaranteed_bytes"):
        model(shared, "new", guaranteed_bytes=9 * PAGE)
    with pytest.raises(fm.FerrumOverflowError):
        model(shared, "new", priority=2**31)
    with pytest.raises(fm.InvalidConfigError):
        fm.ElasticPool(device, fm.ElasticPoolConfig(limit_bytes=1))
    with fm.ElasticPool(device) as pool:
        assert pool.info().physical_limit_bytes == device.info().total_bytes


def test_many_threads(shared):
    failures: list[BaseException] = []
    with model(shared, "a", guaranteed_bytes=PAGE) as a, model(shared, "b") as b:

        def work(of: fm.Model, mark: int) -> None:
            try:
                for i in range(100):
                    try:
                        block = of.alloc(1 + i % 3 * PAGE)
                    except fm.OutOfPhysicalMemoryError:
                        continue
                    view = block.view()
                    assert view[0] in (0, 1, 2)
                    view[0] = mark
                    del view
                    block.free()
            except BaseException as error:
                failures.append(error)

        threads = [
            threading.Thread(target=work, args=pair) for pair in ((a, 1), (b, 2), (a, 1), (b, 2))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        assert shared.info().physical_bytes == 0
