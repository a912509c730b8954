"""Virtual pools: ranges, views that keep them mapped, and freeing by offset."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import ferrum_mem as fm
import pytest

from .conftest import MIB

numpy = pytest.importorskip("numpy")

PAGE = 1 << 16


@pytest.fixture
def vpool(device: fm.Device) -> Iterator[fm.VirtualPool]:
    config = fm.VirtualPoolConfig(
        capacity_bytes=64 * MIB, page_bytes=PAGE, limit_bytes=16 * PAGE, ready_pages=0, name="kv"
    )
    with fm.VirtualPool(device, config) as made:
        yield made


def test_page_sizes(device):
    sizes = device.page_sizes()
    assert PAGE <= sizes.minimum_bytes <= sizes.recommended_bytes
    assert fm.Capability.VIRTUAL_MEMORY in device.info().capabilities
    with fm.VirtualPool(device, fm.VirtualPoolConfig(capacity_bytes=1)) as pool:
        assert pool.page_bytes == sizes.recommended_bytes
        assert pool.info().physical_bytes == 0


def test_ranges_and_books(device, vpool):
    with vpool.alloc(10, PAGE, tag="weights") as block:
        info = vpool.info()
        assert block.address == info.base_address + 10
        assert (info.mapped_pages, info.requested_bytes) == (2, PAGE)
        assert info.physical_bytes == 2 * PAGE
        assert info.unmapped_share == pytest.approx(1 - 2 / 1024)
        assert vpool.is_mapped(0, 2 * PAGE)
        assert not vpool.is_mapped(0, 3 * PAGE)
        owner = device.owner_of(block.address)
        assert (owner.vpool, owner.tag, owner.pool_name) == (vpool._handle.id, "weights", "kv")
        leaks = {leak.kind: leak for leak in fm.leak_report().leaks}
        assert leaks["range"].tag == "weights"
        assert vpool.statistics().live_blocks.current == 1
        with pytest.raises(fm.BusyError):
            vpool.close()
    assert not vpool.is_mapped(0, 1)
    assert vpool.trim(PAGE) == PAGE
    vpool.pause()
    assert vpool.compact().released_bytes == PAGE
    vpool.resume()


def test_a_view_keeps_the_range_mapped(vpool):
    block = vpool.alloc(0, 4 * PAGE)
    array = block.as_numpy("float32", (PAGE,))
    array[:] = 2
    assert float(array.sum()) == 2 * PAGE
    for end in (
        block.free,
        lambda: vpool.free(0, 4 * PAGE),
        lambda: vpool.free(PAGE, PAGE),
        lambda: vpool.close(force=True),
    ):
        with pytest.raises(fm.ViewExistsError):
            end()
    assert float(array[-1]) == 2
    del array
    gc.collect()
    block.free()
    for use in (block.as_numpy, block.view, lambda: numpy.asarray(block)):
        with pytest.raises(fm.InvalidHandleError):
            use()
    block.free()


def test_freeing_by_offset_closes_what_it_touches(vpool):
    first, second = vpool.alloc(0, 2 * PAGE), vpool.alloc(2 * PAGE, 2 * PAGE)
    untouched = vpool.alloc(8 * PAGE, PAGE)
    vpool.free(PAGE, 2 * PAGE)
    assert first.closed
    assert second.closed
    assert not untouched.closed
    with pytest.raises(fm.InvalidHandleError):
        first.view()
    # The rest of the two ranges stays mapped.
    assert vpool.is_mapped(0, PAGE)
    assert vpool.is_mapped(3 * PAGE, PAGE)
    with pytest.raises(fm.NotMappedError, match=f"offset {PAGE}, page size {PAGE}"):
        vpool.free(0, 4 * PAGE)
    vpool.free(0, PAGE)
    vpool.free(3 * PAGE, PAGE)
    with pytest.raises(fm.InvalidOffsetError):
        vpool.free(8 * PAGE + 1, PAGE - 1)
    assert untouched.view()[0] == 0
    untouched.free()


def test_a_free_waits_for_its_stream(vpool, stream, gate):
    block = vpool.alloc(0, PAGE)
    stream.host_function(gate.wait)
    block.free(stream)
    assert vpool.info().retiring_pages == 1
    with pytest.raises(fm.FerrumTimeoutError):
        vpool.synchronize(0)
    gate.open()
    vpool.synchronize()
    assert vpool.info().retiring_pages == 0


def test_errors_name_their_values(device, vpool):
    with pytest.raises(
        fm.OutOfPhysicalMemoryError, match=r"requested 1.06 MiB \(1114112 bytes\), available 1 MiB"
    ):
        vpool.alloc(0, 17 * PAGE)
    vpool.set_limit(17 * PAGE)
    with vpool.alloc(0, 17 * PAGE), pytest.raises(fm.AlreadyMappedError, match="offset 65536"):
        vpool.alloc(PAGE, 20 * PAGE)
    vpool.set_limit(None)
    with pytest.raises(fm.InvalidOffsetError, match="offset 67108864, size 1, capacity 67108864"):
        vpool.alloc(64 * MIB, 1)
    with pytest.raises(fm.InvalidSizeError):
        vpool.alloc(0, 0)
    with pytest.raises(fm.FerrumOverflowError):
        vpool.alloc(2**64, 1)
    with pytest.raises(fm.InvalidArgumentError):
        vpool.alloc(0, 1, tag="t" * 64)
    with pytest.raises(fm.InvalidPageSizeError, match="page_bytes 4096"):
        fm.VirtualPool(device, fm.VirtualPoolConfig(capacity_bytes=1, page_bytes=4096))
    with pytest.raises(fm.OutOfVirtualMemoryError):
        fm.VirtualPool(device, fm.VirtualPoolConfig(capacity_bytes=1 << 62))
    with pytest.raises(fm.InvalidArgumentError, match="ready_pages"):
        fm.VirtualPool(device, fm.VirtualPoolConfig(capacity_bytes=1, ready_pages=65537))


def test_host_rejects_rdma_pages(device):
    assert fm.Capability.RDMA_PAGES not in device.info().capabilities
    with pytest.raises(fm.UnsupportedError, match="GPUDirect RDMA"):
        fm.VirtualPool(
            device, fm.VirtualPoolConfig(capacity_bytes=1 << 20, backing=fm.Backing.RDMA)
        )


def test_host_rejects_fabric_pages(device):
    assert fm.Capability.FABRIC_PAGES not in device.info().capabilities
    with pytest.raises(fm.UnsupportedError, match="fabric handles"):
        fm.VirtualPool(
            device, fm.VirtualPoolConfig(capacity_bytes=1 << 20, backing=fm.Backing.FABRIC)
        )
    plain = fm.VirtualPoolConfig(capacity_bytes=MIB, page_bytes=PAGE)
    with (
        fm.VirtualPool(device, plain) as pool,
        pool.alloc(0, PAGE),
        pytest.raises(fm.InvalidArgumentError, match="backing"),
    ):
        pool.export_fabric(0, PAGE)
    with fm.Manager(device) as manager:
        with pytest.raises(fm.UnsupportedError, match="fabric handles"):
            manager.import_fabric_pages(bytes(64), PAGE)
        for wrong in (b"", bytes(65)):
            with pytest.raises(fm.InvalidArgumentError, match="fabric handles"):
                manager.import_fabric_pages(wrong, PAGE)


def test_collected_pool_ends(device):
    pool = fm.VirtualPool(device, fm.VirtualPoolConfig(capacity_bytes=MIB, page_bytes=PAGE))
    kept = [pool.alloc(0, 1)]
    del pool
    with pytest.warns(ResourceWarning):
        kept.clear()
