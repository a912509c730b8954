"""Views over several ranges of one address space, and unmapped parts between them."""

from __future__ import annotations

from collections.abc import Iterator

import ferrum_mem as fm
import numpy
import pytest

from .conftest import MIB

PAGE = 2 * MIB


@pytest.fixture(params=["pool", "model"])
def space(request, device) -> Iterator[fm.VirtualPool | fm.Model]:
    if request.param == "pool":
        with fm.VirtualPool(device, fm.VirtualPoolConfig(capacity_bytes=16 * MIB)) as pool:
            yield pool
        return
    settings = fm.ModelConfig(virtual_bytes=16 * MIB)
    with fm.ElasticPool(device) as shared, shared.register_model("chat", settings) as model:
        yield model


def put(space: fm.VirtualPool | fm.Model, page: int, pages: int = 1) -> fm.MappedRange:
    """Maps pages, in a pool or a model."""
    if isinstance(space, fm.Model):
        return space.alloc(pages * PAGE, offset_bytes=page * PAGE)
    return space.alloc(page * PAGE, pages * PAGE)


def test_one_array_over_several_ranges(space):
    with put(space, 1), put(space, 2, 2), put(space, 4):
        span = space.span(PAGE, 4 * PAGE)
        assert (span.offset_bytes, span.size_bytes, len(span)) == (PAGE, 4 * PAGE, 4 * PAGE)
        array = span.as_numpy("uint32")
        array[:] = numpy.arange(len(array), dtype="uint32")
        # Across the end of a range.
        middle = space.span(2 * PAGE - 8, 16)
        assert list(middle.as_numpy("uint32")) == [PAGE // 4 - 2 + i for i in range(4)]
        shared = numpy.from_dlpack(span)
        assert shared.nbytes == 4 * PAGE
        shared[0] = 7
        assert span.view()[0] == 7
        del array, shared


def test_span_over_unmapped_pages_is_rejected(space):
    with put(space, 0), put(space, 2), put(space, 3):
        for offset, size in ((0, 3 * PAGE), (PAGE, 1), (0, 16 * MIB), (3 * PAGE, PAGE + 1)):
            with pytest.raises(fm.NotMappedError, match=r"offset (2097152|8388608)"):
                space.span(offset, size)
        with pytest.raises(fm.InvalidSizeError):
            space.span(0, 0)
        parts = [(span.offset_bytes, span.size_bytes) for span in space.spans()]
        assert parts == [(0, PAGE), (2 * PAGE, 2 * PAGE)]
        for span in space.spans():
            span.as_numpy()[:] = 3
            assert int(span.as_numpy().sum()) == 3 * span.size_bytes
    assert space.spans() == []


def test_nothing_is_unmapped_under_a_view(space):
    ranges = [put(space, 0), put(space, 1)]
    span = space.span(PAGE - 4, 8)
    view = span.view()
    for end in (
        ranges[0].free,
        ranges[1].free,
        lambda: space.free(0, 2 * PAGE),
        space.sleep,
        lambda: space.close(force=True),
    ):
        with pytest.raises(fm.ViewExistsError):
            end()
    view[:] = b"12345678"
    del view
    ranges[1].free()
    assert span.closed
    for get in (span.view, span.as_numpy, span.__dlpack__):
        with pytest.raises(fm.InvalidHandleError, match="MappedSpan of 8 bytes"):
            get()
    with pytest.raises(fm.NotMappedError):
        space.span(PAGE - 4, 8)
    ranges[0].free()


def test_spans_leave_out_sleeping_ranges(space):
    with put(space, 0), put(space, 1):
        span = space.span(0, 2 * PAGE)
        span.view()[:4] = b"kept"
        space.sleep()
        assert space.spans() == []
        with pytest.raises(fm.InvalidStateError):
            span.view()
        space.wake()
        assert bytes(span.view()[:4]) == b"kept"


def test_memory_without_range_objects_has_no_span(space):
    part = put(space, 0, 2)
    space.free(PAGE, PAGE)
    assert part.closed
    with pytest.raises(fm.NotMappedError, match="no range that this program allocated"):
        space.span(0, PAGE)
    space.free(0, PAGE)
