"""Views of ranges while other threads or a fork try to take their memory: by sleep, by
unmapping, by closing the owner. A view never covers missing memory: the call that would
take the memory fails.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import ferrum_mem as fm
import pytest

from .conftest import MIB
from .test_process import PRELUDE
from .test_threads import together

numpy = pytest.importorskip("numpy")

PAGE = 1 << 16
Space = fm.VirtualPool | fm.Model


def vpool(device: fm.Device) -> fm.VirtualPool:
    config = fm.VirtualPoolConfig(
        capacity_bytes=64 * MIB, page_bytes=PAGE, ready_pages=0, name="kv"
    )
    return fm.VirtualPool(device, config)


def place(space: Space, size: int = 4 * PAGE) -> fm.MappedRange:
    if isinstance(space, fm.VirtualPool):
        return space.alloc(0, size)
    return space.alloc(size, offset_bytes=0)


@pytest.fixture(params=["vpool", "model"])
def space(request: pytest.FixtureRequest, device: fm.Device) -> Iterator[Space]:
    with ExitStack() as stack:
        if request.param == "vpool":
            yield stack.enter_context(vpool(device))
        else:
            config = fm.ElasticPoolConfig(page_bytes=PAGE, ready_pages=0)
            shared = stack.enter_context(fm.ElasticPool(device, config))
            wanted = fm.ModelConfig(virtual_bytes=64 * MIB)
            yield stack.enter_context(shared.register_model("chat", wanted))


def in_thread(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_view_of_another_thread_prevents_sleep_and_unmap(device, space):
    block = place(space)
    looking, let_go = threading.Event(), threading.Event()
    seen: list[int] = []

    def look() -> None:
        array = block.as_numpy("uint32")
        array[:] = 7
        looking.set()
        let_go.wait(60)
        array += 1
        seen.append(int(array.sum()))

    thread = in_thread(look)
    looking.wait(60)
    takers = [
        space.sleep,
        block.free,
        lambda: space.free(0, 4 * PAGE),
        lambda: space.free(PAGE, PAGE),
        lambda: space.close(force=True),
        lambda: device.close(force=True),
        lambda: fm.shutdown(force=True),
    ]
    if isinstance(space, fm.Model):
        takers.append(lambda: space.pool.close(force=True))
    for take in takers:
        with pytest.raises(fm.ViewExistsError, match="1 view still uses"):
            take()
    let_go.set()
    thread.join()
    assert seen == [8 * PAGE]
    gc.collect()
    space.sleep()
    for look_at in (block.view, block.as_numpy, lambda: numpy.asarray(block)):
        with pytest.raises(fm.InvalidStateError, match="asleep"):
            look_at()
    space.wake()
    assert int(block.as_numpy("uint32").sum()) == 8 * PAGE
    gc.collect()
    space.free(PAGE, PAGE)
    with pytest.raises(fm.InvalidHandleError, match="closed"):
        block.view()
    space.close(force=True)
    with pytest.raises(fm.InvalidHandleError, match="closed"):
        block.as_numpy()


def contend(take: Callable[[], None], look: Callable[[], None]) -> None:
    """One thread takes memory while others create views. Each attempt succeeds or is rejected.
    Afterwards the memory can be taken.
    """
    for _ in range(25):
        refused: list[int] = []

        def work(number: int, refused: list[int] = refused) -> None:
            try:
                if number == 0:
                    take()
                else:
                    look()
            except (fm.InvalidStateError, fm.InvalidHandleError):
                assert number != 0
            except fm.ViewExistsError:
                assert number == 0
                refused.append(number)

        together(work)
        if refused:
            take()
        look()


def test_sleep_against_views(space):
    with place(space) as block:
        block.view()[:] = b"\x05" * len(block)

        def look() -> None:
            array = block.as_numpy()
            assert array[0] == array[PAGE] == array[-1] == 5

        def take() -> None:
            space.sleep()
            space.wake()

        contend(take, look)
        info = space.info()
        assert info.sleeps == info.wakes == 25
        assert info.sleep_failures == info.wake_failures == 0


def test_unmapping_against_views(space):
    present = [place(space)]

    def look() -> None:
        block = present[0]
        view = block.view()
        view[0] = view[-1] = 1
        view.release()

    def take() -> None:
        present[0].free()
        present[0] = place(space)

    contend(take, look)
    present[0].free()


def test_closing_by_force_against_views(device):
    made = [vpool(device)]
    present = [place(made[0])]

    def look() -> None:
        present[0].as_numpy()[:] = 3

    def take() -> None:
        made[0].close(force=True)
        made[0] = vpool(device)
        present[0] = place(made[0])

    contend(take, look)
    made[0].close(force=True)


FORK = """
import numpy
PAGE = 1 << 16
device = fm.Device("cpu:0")
def made():
    for backing in (fm.Backing.MOVABLE, fm.Backing.PRIVATE, fm.Backing.SHAREABLE):
        yield fm.VirtualPool(device, fm.VirtualPoolConfig(
            capacity_bytes=16 << 20, page_bytes=PAGE, backing=backing))
    shared = fm.ElasticPool(device, fm.ElasticPoolConfig(page_bytes=PAGE))
    yield shared.register_model("chat", fm.ModelConfig(virtual_bytes=16 << 20))
def place(space, page):
    if isinstance(space, fm.VirtualPool):
        return space.alloc(page * PAGE, 2 * PAGE)
    return space.alloc(2 * PAGE, offset_bytes=page * PAGE)
spaces = list(made())
"""


def test_views_in_a_forked_child_have_memory(run_python):
    """Private memory has its contents from the moment of the fork, and relocatable pages are
    zero. Neither process sees later writes of the other.
    """
    result = run_python(
        PRELUDE
        + FORK
        + """
for space, expected in zip(spaces, (0, 7, 0, 0), strict=True):
    block = place(space, 0); asleep = place(space, 3); asleep.view()[0] = 5; gc.collect()
    if isinstance(space, fm.VirtualPool):
        place(space, 8).free()
    view, array = block.view(), block.as_numpy("uint8")
    array[:] = 7
    told, tell = os.pipe()
    child = os.fork()
    if not child:
        os.read(told, 1)
        assert set(view) == {expected} and set(array.tolist()) == {expected}, set(view)
        view[0] = array[-1] = 9
        for call in (block.view, block.as_numpy, lambda: numpy.asarray(block), space.sleep,
                     space.wake, lambda: space.free(0, PAGE), space.info,
                     lambda: space.is_mapped(0, 1), lambda: place(space, 5)):
            expect(fm.ForkedError, call)
        block.free(); asleep.free(); space.close(force=True)
        assert block.closed and array[-1] == 9
        grandchild = os.fork()
        if not grandchild:
            assert view[0] == 9 and array[1] == expected
            os._exit(0)
        os._exit(os.waitpid(grandchild, 0)[1] != 0)
    array[:] = 8
    os.write(tell, b"x")
    _, status = os.waitpid(child, 0)
    assert status == 0, (space, status)
    assert set(view) == {8} and not block.closed
    view.release(); del view, array; gc.collect()
    block.free(); asleep.free()
for space in spaces: space.close()
spaces[-1].pool.close(); device.close()
"""
    )
    assert (result.returncode, result.stderr) == (0, ""), result


def test_a_child_forked_while_locks_are_held(run_python):
    """Locks that another thread held at the fork stay locked in the child."""
    result = run_python(
        PRELUDE
        + FORK
        + """
from ferrum_mem import _library, _owned
space = spaces[0]
block = place(space, 0)
held, done = threading.Event(), threading.Event()
def hold():
    with _owned.views_lock, _library._lock, block._owned._closing:
        held.set(); done.wait()
thread = threading.Thread(target=hold); thread.start(); held.wait()
child = os.fork()
if not child:
    signal.alarm(30)
    for call in (block.view, block.as_numpy, space.sleep, lambda: space.free(0, PAGE),
                 fm.init, fm.shutdown, lambda: fm.shutdown(force=True), fm.snapshot):
        expect(fm.ForkedError, call)
    block.free(); space.close(force=True); device.close(force=True)
    os._exit(0)
_, status = os.waitpid(child, 0)
done.set(); thread.join()
assert status == 0, status
block.free()
for space in spaces: space.close()
spaces[-1].pool.close(); device.close()
"""
    )
    assert (result.returncode, result.stderr) == (0, ""), result
