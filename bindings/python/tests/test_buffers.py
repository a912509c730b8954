"""Memory as Python buffers: without a copy, kept alive, and rejected after a free."""

from __future__ import annotations

import gc
import sys
import warnings

import ferrum_mem as fm
import pytest


@pytest.fixture(params=["memory", "pool block"])
def block(request):
    source = "manager" if request.param == "memory" else "pool"
    owner = request.getfixturevalue(source)
    with owner.alloc(64) as made:
        yield made


def test_a_view_is_the_memory_itself(manager):
    with manager.alloc(64) as block:
        view = block.view()
        assert (view.format, view.nbytes, view.readonly) == ("B", 64, False)
        view[:5] = b"hello"
        assert block.read(5) == b"hello"
        block.write(b"J")
        assert bytes(view[:5]) == b"Jello"
        del view


def test_two_views_see_the_same(block):
    first, second = block.view(), block.view()
    first[7] = 42
    assert second[7] == 42
    assert block.buffer[7] == 42
    del first, second


def test_a_block_with_a_view_cannot_be_freed(block):
    view = block.view()
    part = view[4:8]
    with pytest.raises(fm.ViewExistsError, match="1 view still uses it"):
        block.close()
    with pytest.raises(BufferError):
        block.close()
    assert not block.closed
    del view
    with pytest.raises(fm.BusyError):
        block.close()
    part[0] = 1
    part.release()
    del part
    block.close()
    assert block.closed


def test_a_freed_block_has_no_views(block):
    block.close()
    for look in (
        block.view,
        block.as_numpy,
        lambda: block.buffer,
        lambda: block.__array_interface__,
    ):
        with pytest.raises(fm.InvalidHandleError, match="closed"):
            look()


def test_view_keeps_block_manager_and_device_alive():
    """Block, manager and device have no references left; the view still has live memory."""

    def make() -> memoryview:
        manager = fm.Manager(fm.Device("cpu:0"))
        block = manager.alloc(64)
        block.write(b"alive")
        return block.view()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        view = make()
        gc.collect()
        assert not caught
        assert bytes(view[:5]) == b"alive"
        assert len(fm.leak_report().leaks) == 3
        view[:5] = b"still"
        del view
        gc.collect()
    assert [str(w.message).split(" on")[0].split(" of")[0] for w in caught] == [
        "unclosed ferrum_mem.Memory",
        "unclosed ferrum_mem.Manager",
        "unclosed ferrum_mem.Device cpu:0",
    ]
    assert not fm.leak_report().leaks


@pytest.mark.skipif(sys.version_info < (3, 12), reason="needs Python 3.12's __buffer__")
def test_the_block_is_a_buffer(block):
    with memoryview(block) as view:
        view[0] = 9
        with pytest.raises(fm.ViewExistsError):
            block.close()
    assert block.view()[0] == 9


class TestNumPy:
    @pytest.fixture(autouse=True)
    def _numpy(self):
        self.numpy = pytest.importorskip("numpy")

    def test_asarray_copies_nothing(self, block):
        array = self.numpy.asarray(block)
        assert (array.dtype, array.shape) == (self.numpy.uint8, (64,))
        array[:] = range(64)
        assert bytes(block.view()) == bytes(range(64))
        with pytest.raises(fm.ViewExistsError):
            block.close()
        part = array[3:5]
        del array
        with pytest.raises(fm.ViewExistsError):
            block.close()
        assert list(part) == [3, 4]
        del part
        block.close()

    def test_as_numpy(self, block):
        array = block.as_numpy("float32", (2, 3), offset_bytes=8)
        array[:] = 1.5
        assert bytes(block.view()[8:32]) == self.numpy.full(6, 1.5, "float32").tobytes()
        assert block.as_numpy("int64").shape == (8,)
        assert block.as_numpy("int64", offset_bytes=9).shape == (6,)
        assert block.as_numpy(shape=5).shape == (5,)
        assert block.as_numpy(shape=0).shape == (0,)
        assert block.as_numpy(offset_bytes=64).shape == (0,)
        with pytest.raises(fm.ViewExistsError):
            block.close()
        del array

    @pytest.mark.parametrize(
        "arguments",
        [
            {"shape": 65},
            {"dtype": "float64", "shape": (3, 3)},
            {"dtype": "float64", "shape": (2**62, 2**62)},
            {"shape": 1, "offset_bytes": 64},
            {"offset_bytes": 65},
            {"offset_bytes": -1},
            {"shape": -1},
            {"shape": (-1, -1)},
        ],
    )
    def test_array_outside_the_block_is_rejected(self, block, arguments):
        with pytest.raises(fm.InvalidOffsetError):
            block.as_numpy(**arguments)
        block.close()

    @pytest.mark.parametrize("dtype", ["O", [("a", "i4"), ("b", "O")]])
    def test_object_dtypes_are_rejected(self, block, dtype):
        with pytest.raises(fm.InvalidArgumentError, match="objects"):
            block.as_numpy(dtype)


def test_device_without_host_addresses_has_no_views(manager, monkeypatch):
    """No device of this machine is like that, so the test changes the device's description."""
    with manager.alloc(64) as block:
        monkeypatch.setattr(type(block), "_host_range", lambda self: (None, 64))
        with pytest.raises(fm.UnsupportedError, match="read"):
            block.view()
