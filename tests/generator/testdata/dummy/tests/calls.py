"""Calls every function of the dummy family, with valid and invalid arguments."""

import contextlib
from collections.abc import Callable

import ferrum_mem
from ferrum_mem import errors
from ferrum_mem._enums import DummyOrder, DummyTraitFlags
from ferrum_mem._records import DummyConfig, DummyExtent, DummyItem
from ferrum_mem.dummies import Dummy


@contextlib.contextmanager
def refused(kind, part=""):
    caught = None
    try:
        yield
    except kind as problem:
        caught = problem
    assert caught is not None, f"no {kind.__name__}"
    assert part in str(caught), caught


def item(name: str, size_bytes: int) -> DummyItem:
    return DummyItem(name, DummyExtent(4096, size_bytes), -7)


def lists() -> None:
    room = DummyExtent(4096, 8192)
    traits = DummyTraitFlags.UNIQUE
    with Dummy(DummyConfig(name="list", room=room, flags=traits)) as dummy:
        info = dummy.info()
        assert (info.name, info.room, info.flags, info.is_empty) == ("list", room, traits, True)
        items = [item("b", 200), item("a", 100)]
        dummy.add(items)
        assert dummy.items() == items
        with refused(errors.AlreadyExistsError):
            dummy.add(items)
        with refused(errors.InvalidArgumentError, "name is longer"):
            dummy.add([item("n" * 32, 1)])
        with refused(errors.InvalidOffsetError):
            dummy.add([item("far", 1 << 40)])
        dummy.add([])
        assert dummy.find("a") == (1, items[1])
        with refused(errors.NotFoundError):
            dummy.find("z")
        dummy.add_json('[{"name": "c", "offset_bytes": 4096, "size_bytes": 1}]')
        with refused(errors.InvalidFormatError):
            dummy.add_json("{")
        assert dummy.names() == ["b", "a", "c"]
        with refused(errors.NotFoundError, "names[1]"):
            dummy.remove(["a", "z"])
        assert dummy.remove([]) == 0
        with refused(errors.InvalidArgumentError, "names[1]"):
            dummy.remove(["a", "a\0b"])
        assert dummy.remove(["a", "c"]) == 2
        assert dummy.names() == ["b"]
        dummy.set_traits(DummyTraitFlags.CLOSED)
        assert dummy.info().flags == DummyTraitFlags.CLOSED
        with refused(errors.InvalidArgumentError):
            dummy.set_traits(DummyTraitFlags(8))
    with refused(errors.InvalidHandleError):
        dummy.info()


def releases() -> None:
    released: list[str] = []

    def noting(what: str) -> Callable[[], None]:
        return lambda: released.append(what)

    dummy = Dummy()
    dummy.adopt(noting("first"))
    dummy.adopt(noting("second"))
    dummy.set_traits(DummyTraitFlags.CLOSED)
    with refused(errors.InvalidStateError):
        dummy.adopt(noting("never"))
    assert released == []
    dummy.close()
    assert released == ["first", "second"]


def jobs() -> None:
    dummy = Dummy()
    dummy.add([item("b", 200), item("a", 100)])
    dummy.hold(True)
    job = dummy.sort(DummyOrder.SIZE)
    progress = job.progress()
    assert (progress.done, progress.total, progress.is_over) == (0, 2, False)
    with refused(errors.FerrumTimeoutError):
        job.wait(0)
    with refused(errors.InvalidStateError):
        job.result()
    with refused(errors.BusyError):
        job.close()
    with refused(errors.BusyError):
        dummy.sort(DummyOrder.SIZE)
    dummy.hold(False)
    job.wait()
    assert job.progress().is_over
    assert job.result().moved == 2
    job.close()
    assert dummy.names() == ["a", "b"]
    dummy.hold(True)
    second = dummy.sort(DummyOrder.GIVEN)
    second.cancel()
    second.wait()
    with refused(errors.CancelledError):
        second.result()
    dummy.close(force=True)
    assert second.closed


def added_function() -> None:
    with ferrum_mem.Device("cpu:0") as device, ferrum_mem.Pool(device) as pool:
        block = pool.alloc(1000)
        assert pool.kept_bytes() >= 1000
        block.free()
    with refused(errors.InvalidHandleError):
        pool.kept_bytes()


lists()
releases()
jobs()
added_function()
