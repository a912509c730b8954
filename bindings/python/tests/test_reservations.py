"""Ranges in batches, and arrays over an address space with unmapped parts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import ferrum_mem as fm
import numpy
import pytest

PAGE = 64 * 1024
PAGES = 32


@pytest.fixture(params=["pool", "model"])
def space(request, device) -> Iterator[fm.VirtualPool | fm.Model]:
    if request.param == "pool":
        config = fm.VirtualPoolConfig(capacity_bytes=PAGES * PAGE, page_bytes=PAGE)
        with fm.VirtualPool(device, config) as pool:
            yield pool
        return
    settings = fm.ModelConfig(virtual_bytes=PAGES * PAGE)
    with (
        fm.ElasticPool(device, fm.ElasticPoolConfig(page_bytes=PAGE)) as shared,
        shared.register_model("chat", settings) as model,
    ):
        yield model


def pages(*numbers: int) -> list[tuple[int, int]]:
    """A range of one page for each number."""
    return [(number * PAGE, PAGE) for number in numbers]


def test_ranges_in_batches(space):
    assert space.alloc_batch([]) == []
    space.free_batch([])
    ranges = space.alloc_batch([(5 * PAGE, 2 * PAGE), (0, PAGE), (9 * PAGE + 8, 100)], tag="kv")
    assert [r.offset_bytes for r in ranges] == [5 * PAGE, 0, 9 * PAGE + 8]
    assert [r.size_bytes for r in ranges] == [2 * PAGE, PAGE, 100]
    base = space.info().base_address
    for r in ranges:
        assert r.address == base + r.offset_bytes
        r.as_numpy()[:] = 7
    assert space.info().mapped_pages == 4
    with pytest.raises(fm.AlreadyMappedError, match=r"ranges\[1\]"):
        space.alloc_batch([*pages(2), (6 * PAGE, PAGE)])
    with pytest.raises(fm.InvalidOffsetError, match=r"ranges\[2\].*ranges\[0\]"):
        space.alloc_batch([*pages(2, 3), (2 * PAGE + 9, 4)])
    with pytest.raises((ValueError, OverflowError, fm.FerrumError), match=r"ranges\[0\]"):
        space.alloc_batch([(-1, PAGE)])
    with pytest.raises(fm.NotMappedError, match=r"ranges\[1\]"):
        space.free_batch([ranges[0], *pages(2)])
    assert space.info().mapped_pages == 4, "nothing has changed"
    view = ranges[1].view()
    with pytest.raises(fm.ViewExistsError):
        space.free_batch(ranges)
    assert space.info().mapped_pages == 4
    view.release()
    del view
    # Objects and offsets in one list; each object ends.
    space.free_batch([ranges[2], (0, PAGE), (6 * PAGE, PAGE)])
    assert space.info().mapped_pages == 1
    for r in ranges:
        with pytest.raises(fm.InvalidHandleError):
            r.view()
    with pytest.raises(fm.InvalidHandleError):
        space.free_batch([ranges[1]])
    space.free_batch([(5 * PAGE, PAGE)])


def test_a_batch_is_freed_after_its_stream(space, device):
    with fm.Stream(device) as stream:
        ranges = space.alloc_batch(pages(1, 3), stream=stream)
        space.free_batch(ranges, stream=stream)
    assert space.info().mapped_pages == 0


def test_a_cache_that_grows_block_by_block(space):
    # Blocks of one page: 4 layers of 2 x 8 x 256 halves.
    cache = space.array("float16", (PAGES, 4, 2, 16, 256))
    assert (cache.ndim, len(cache), cache.itemsize) == (5, PAGES, 2)
    assert (cache.nbytes, cache.size) == (PAGES * PAGE, PAGES * PAGE // 2)
    assert not cache.mapped.any()
    assert cache.runs() == []
    ranges = space.alloc_batch([cache.byte_range(block) for block in (3, 7, 8)])
    assert list(numpy.flatnonzero(cache.mapped)) == [3, 7, 8]
    assert cache.runs() == [(3 * PAGE, PAGE), (7 * PAGE, 2 * PAGE)]
    cache[3] = 0
    cache[7:9] = numpy.arange(2)[:, None, None, None, None]
    cache[3, 1, :, 4] = numpy.float16(2.5)
    assert cache[8].min() == 1
    assert [cache[3, 1, 0, row, 9] for row in (4, 5)] == [2.5, 0]
    assert cache[7:9].base is not None, "a view"
    with pytest.raises(fm.NotMappedError, match=rf"offset {4 * PAGE} is in page 4 "):
        cache[3:5]
    with pytest.raises(fm.NotMappedError, match="page 0 "):
        cache[0, 0, 0, 0, 0]
    # Elements of both blocks, and nothing between them.
    assert list(cache.read((slice(3, 9, 4), 0, 0, 0, 0))) == [0, 0]
    cache[3:9:4] = 9
    assert cache.read(slice(3, 9, 4)).min() == 9
    # All is checked before the first byte is written.
    with pytest.raises(fm.NotMappedError):
        cache[3:9:2] = 1
    with pytest.raises(fm.NotMappedError):
        cache.fill(1)
    assert cache[3].max() == 9
    with pytest.raises(ValueError, match="could not convert"):
        cache[3] = "x"
    # A view holds its pages, and no others.
    view = cache[7]
    with pytest.raises(fm.ViewExistsError):
        space.free_batch(ranges)
    space.free_batch(ranges[:1])
    del view
    space.free_batch(ranges[1:])
    assert not cache.mapped.any()


@pytest.mark.parametrize("seed", range(3))
def test_an_array_with_holes_against_numpy(space, seed):
    rng = random.Random(seed)
    shape = rng.choice([(PAGES * PAGE // 4,), (20, 3, PAGE // 8), (PAGES * 4, 16, PAGE // 256)])
    offset = 0 if len(shape) < 3 or shape[0] > 24 else 4 * rng.randrange(100)
    array = space.array("int32", shape, offset_bytes=offset)
    whole = numpy.zeros(PAGES * PAGE, "uint8")
    model: Any = numpy.ndarray(shape, "int32", whole, offset)
    # The number of the page that each byte lies in, element by element.
    first = (numpy.arange(model.size) * 4 + offset).reshape(shape) // PAGE
    last = (numpy.arange(model.size) * 4 + offset + 3).reshape(shape) // PAGE
    mapped = numpy.zeros(PAGES, bool)
    kept: list[fm.MappedRange] = []

    def key() -> tuple[Any, ...]:
        found: list[Any] = []
        for length in shape[: rng.randint(1, len(shape))]:
            at = rng.randrange(length)
            step = rng.choice([1, 1, -1, 2, 5, max(1, length // 7), -max(1, length // 5)])
            wide = slice(at, rng.randrange(length), step)
            found.append(rng.choice([at, wide, slice(None, None, step), -1]))
        if rng.random() < 0.3:
            found.insert(rng.randrange(len(found) + 1), ...)
        return tuple(found)

    for _ in range(50):
        some = rng.sample(range(PAGES), rng.randint(1, 6))
        if rng.random() < 0.5:
            fresh = [p for p in some if not mapped[p]]
            for r in space.alloc_batch(pages(*fresh)):
                r.as_numpy()[:] = 0
                kept.append(r)
            mapped[fresh] = True
            for p in fresh:
                whole[p * PAGE : (p + 1) * PAGE] = 0
        elif rng.random() < 0.4:
            gone = [p for p in some if mapped[p]]
            space.free_batch(pages(*gone))
            mapped[gone] = False
        chosen = key()
        touched = set(numpy.unique(first[chosen])) | set(numpy.unique(last[chosen]))
        there = all(mapped[p] for p in touched)
        value = rng.randrange(1 << 30)
        if there:
            array[chosen] = value
            model[chosen] = value
            assert numpy.array_equal(array.read(chosen), model[chosen])
        else:
            with pytest.raises(fm.NotMappedError, match=r"page \d+ .*not mapped"):
                array[chosen] = value
            with pytest.raises(fm.NotMappedError):
                array.read(chosen)
        if touched and mapped[min(touched) : max(touched) + 1].all():
            view = array[chosen]
            assert numpy.array_equal(view, model[chosen])
            assert numpy.shape(view) == model[chosen].shape
            del view
        elif touched:
            with pytest.raises(fm.NotMappedError):
                array[chosen]
        rows = shape[0]
        want = [
            bool(mapped[first[i].min() : last[i].max() + 1].all()) for i in range(min(rows, 64))
        ]
        assert list(array.mapped[:64]) == want
    space.free_batch(pages(*numpy.flatnonzero(mapped).tolist()))


def test_what_an_array_rejects(space):
    with pytest.raises(fm.InvalidOffsetError):
        space.array("uint8", PAGES * PAGE + 1)
    with pytest.raises(fm.InvalidOffsetError):
        space.array(offset_bytes=PAGES * PAGE + 1)
    for shape in ((), (-1, -1)):
        with pytest.raises(fm.InvalidArgumentError):
            space.array("uint8", shape)
    with pytest.raises(fm.InvalidArgumentError):
        space.array("O")
    array = space.array("uint8", (4, PAGE))
    for key in ((0, 0, 0), (4,), (..., ...)):
        with pytest.raises(IndexError):
            array[key]
    with pytest.raises(TypeError):
        array[1.5]
    assert array[0:0].shape == (0, PAGE), "nothing is touched"
    array[0:0] = 1
    ranges = space.alloc_batch(pages(0, 1))
    array[0] = 1
    ranges[0].free()
    with pytest.raises(fm.NotMappedError):
        array[0]
    ranges[1].free()
    assert "0 bytes of 256 KiB mapped" in repr(array)


def test_an_array_over_what_sleeps(space):
    array = space.array("uint8", (PAGES, PAGE))
    ranges = space.alloc_batch(pages(0, 1))
    array[0:2] = 5
    space.sleep()
    assert not array.mapped.any()
    with pytest.raises(fm.NotMappedError):
        array[0]
    space.wake()
    assert array[1].min() == 5
    assert numpy.asarray(space.array("uint8", (2, PAGE))).sum() == 10 * PAGE
    space.free_batch(ranges)
