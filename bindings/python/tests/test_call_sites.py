"""Call sites of blocks are lines of Python, if the pool records them."""

from __future__ import annotations

import ctypes
import inspect
import random
import threading
import traceback
from collections.abc import Callable, Iterator

import ferrum_mem as fm
import pytest

from .conftest import Run

SITES = fm.PoolConfig(debug=fm.DebugFlags.CALL_SITES)


@pytest.fixture
def log() -> Iterator[Callable[[], list[str]]]:
    """Returns a function that returns the errors logged so far."""
    messages: list[str] = []
    fm.set_log_callback(lambda _level, text: messages.append(text), fm.LogLevel.ERROR)

    def taken() -> list[str]:
        # Removing the receiver delivers the queued messages first.
        fm.set_log_callback(None)
        return messages

    yield taken
    fm.set_log_callback(None)


def here(offset: int = 0) -> str:
    """The caller's line, in the form of a call site."""
    frame = inspect.stack()[1]
    return f"{__file__}:{frame.lineno + offset} ({frame.function})"


def reported(address: int) -> tuple[str, ...]:
    """The call site of a block in the leak report."""
    (found,) = [leak for leak in fm.leak_report().leaks if leak.address == address]
    return found.call_site


def allocate(pool: fm.Pool) -> fm.PoolBlock:
    return pool.alloc(100, tag="kv")


def test_a_leak_names_the_lines_that_allocated_it(device):
    with fm.Pool(device, SITES) as pool:
        block, line = allocate(pool), here()
        site = block.call_site
        assert site[1] == line
        assert site[0].endswith("(allocate)")
        assert all("ferrum_mem/" not in each.partition(":")[0] for each in site)
        assert reported(block.address) == site
        # The native functions of the library follow.
        assert any("(ferrum_pool_alloc_with)" in each for each in site)
        other, line = pool.alloc(100), here()
        assert reported(other.address)[0] == line
        number, line = pool.alloc_address(100), here()
        assert reported(number)[0] == line
        pool.free_address(number)
        with pool.alloc_batch(100, 3) as batch:
            line = here(-1)
            assert [reported(address)[0] for address in batch.addresses] == [line] * 3
            assert batch[2].call_site[0] == line
        other.free()
        block.free()


def test_pool_without_the_flag_records_no_call_sites(device):
    with fm.Pool(device) as pool, pool.alloc(100) as block:
        assert block.call_site == ()
        assert reported(block.address) == ()


def test_an_address_that_is_allocated_again_has_new_lines(device):
    with fm.Pool(device, SITES) as pool:
        number = pool.alloc_address(100)
        pool.free_address(number)
        assert device.call_site_of(number) == ()
        again, line = pool.alloc(100), here()
        assert reported(again.address)[0] == line
        again.free()


def free(block: fm.PoolBlock) -> None:
    block.free()


def test_damage_names_the_lines_of_allocation_and_free(device, log):
    with fm.Pool(device, fm.PoolConfig(debug=fm.DebugFlags.ALL)) as pool:
        block, allocated = allocate(pool), here()
        ctypes.memset(block.address + 100, 0x41, 1)
        with pytest.raises(fm.CorruptedError) as caught:
            free(block)
        freed = here(-1)
        number, first = pool.alloc_address(100), here()
        pool.free_address(number)
        second = here(-1)
        with pytest.raises(fm.DoubleFreeError) as double:
            pool.free_address(number)
        third = here(-1)
        late = allocate(pool)
        address = late.address
        free(late)
        ctypes.memset(address, 0x41, 1)
        pool.trim()
        messages = log()
    for text in (str(caught.value), messages[0]):
        where = text.index("allocated at"), text.index("freed at")
        assert where[0] < text.index(allocated) < where[1] < text.index(freed), text
        assert text.index("(allocate)\n") < where[1] < text.index("(free)\n"), text
    for text in (str(double.value), messages[1]):
        places = [text.index(each) for each in ("allocated at", "freed at", "called from")]
        lines = [text.index(each) for each in (first, second, third)]
        assert sorted(places + lines) == [
            each for pair in zip(places, lines, strict=True) for each in pair
        ], text
    (write,) = [each for each in messages if "write after the free" in each]
    assert "(allocate)\n" in write
    assert write.index("freed at") < write.index("(free)\n")


def test_blocks_of_managers_have_lines(run_python: Run):
    program = """
import ctypes
import ferrum_mem as fm
def load(manager):
    return manager.alloc(100)
def drop(block):
    block.close()
with fm.Manager("cpu:0") as manager:
    block = load(manager)
    print(block.call_site[:2])
    print([leak.call_site[:2] for leak in fm.leak_report().leaks if leak.kind == "memory"])
    ctypes.memset(block.address + 100, 0x41, 1)
    try:
        drop(block)
    except fm.CorruptedError:
        pass
"""
    done = run_python(program, FERRUM_DEBUG="all")
    assert done.returncode == 0, done.stderr
    site = "('<string>:5 (load)', '<string>:9 (<module>)')"
    assert done.stdout.splitlines() == [site, f"[{site}]"]
    for place in (
        "allocated at\n    <string>:5 (load)\n    <string>:9 (<module>)\n",
        "freed at\n    <string>:7 (drop)\n    <string>:14 (<module>)\n",
    ):
        assert place in done.stderr


def test_threads_that_allocate_have_their_own_lines(device):
    sites: dict[int, tuple[str, ...]] = {}

    def work(number: int) -> None:
        for _ in range(100):
            with pool.alloc(100) as block:
                sites[number] = block.call_site

    with fm.Pool(device, SITES) as pool:
        threads = [threading.Thread(target=work, args=(each,)) for each in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(sites) == 4
    for site in sites.values():
        assert site[0].endswith("(work)")
        assert any("threading.py" in each for each in site)
        assert not any("(test_threads" in each for each in site)


def test_leak_report_of_a_forced_shutdown_has_call_sites(run_python: Run):
    program = """
import ferrum_mem as fm
def load(pool):
    return pool.alloc_address(100)
fm.init()
pool = fm.Pool(fm.Device("cpu:0"), fm.PoolConfig(debug=fm.DebugFlags.CALL_SITES))
load(pool)
fm.shutdown(force=True)
print([leak.call_site[:2] for leak in fm.leak_report().leaks if leak.kind == "block"])
"""
    done = run_python(program)
    assert done.returncode == 0, done.stderr
    assert "('<string>:4 (load)', '<string>:7 (<module>)')" in done.stdout


def test_environment_enables_call_sites_of_all_pools(run_python: Run):
    program = """
import ferrum_mem as fm
with fm.Pool("cpu:0") as pool, pool.alloc(100) as block:
    print(block.call_site[:1])
"""
    for words, want in (("red_zones,call_sites", "('<string>:3 (<module>)',)"), ("poison", "()")):
        done = run_python(program, FERRUM_DEBUG=words)
        assert (done.returncode, done.stdout.strip()) == (0, want), done.stderr


def stack() -> list[str]:
    """The caller's lines, as the traceback module has them, innermost first."""
    frames = traceback.walk_stack(inspect.currentframe())
    lines = [f"{f.f_code.co_filename}:{line} ({f.f_code.co_name})" for f, line in frames]
    return lines[1:17]


class Walk:
    """Random calls, from functions, generators and compiled code, down to an allocation.
    Each allocation has the lines that the traceback module has at that moment."""

    def __init__(self, device: fm.Device, pool: fm.Pool, seed: int) -> None:
        self.device, self.pool, self.random = device, pool, random.Random(seed)
        self.checked = 0
        self.numbers = self.produce()

    def check(self) -> None:
        # Both on one line, so that the lines are equal.
        address, lines = self.pool.alloc_address(64), stack()
        site = self.device.call_site_of(address)
        assert list(site[: len(lines)]) == lines
        self.pool.free_address(address)
        self.checked += 1

    def one(self, depth: int) -> None:
        self.down(depth - 1)
        self.down(depth - self.random.randrange(2, 20))

    def other(self, depth: int) -> None:
        for step in range(2):
            if step == 1:
                self.down(depth - 1)
            else:
                self.down(depth - self.random.randrange(2, 20))

    def produce(self) -> Iterator[int]:
        # One activation with different callers.
        while True:
            self.check()
            yield 1
            self.check()
            yield 2

    def resume(self, _depth: int) -> None:
        next(self.numbers)

    def compiled(self, depth: int) -> None:
        # The code is freed after the call, and its place in memory is used again.
        name = f"made-{self.random.randrange(1000)}.py"
        source = "\n" * self.random.randrange(5) + "walk.down(depth)"
        exec(compile(source, name, "exec"), {"walk": self, "depth": depth - 1})

    def down(self, depth: int) -> None:
        if depth <= 0:
            self.check()
            return
        self.random.choice([self.one, self.other, self.resume, self.compiled])(depth)


@pytest.mark.parametrize("seed", range(4))
def test_lines_equal_those_of_the_traceback_module(device, monkeypatch, seed):
    from ferrum_mem import _sites

    # So few texts that they are forgotten often.
    monkeypatch.setattr(_sites, "_TEXTS_MAX", 20 if seed % 2 else 4096)
    with fm.Pool(device, SITES) as pool:
        walk = Walk(device, pool, seed)
        while walk.checked < 400:
            walk.down(walk.random.randrange(2, 20))
        assert len(_sites._texts) <= _sites._TEXTS_MAX
