"""Call sites of blocks are lines of Python, if the pool records them."""

from __future__ import annotations

import inspect

import ferrum_mem as fm

from .conftest import Run

SITES = fm.PoolConfig(debug=fm.DebugFlags.CALL_SITES)


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
        found = reported(block.address)
        assert found[: len(site)] == site
        # The native functions of the library follow.
        assert len(found) > len(site)
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
        assert pool._sites is None
        assert reported(block.address) == ()


def test_free_removes_the_call_site(device):
    with fm.Pool(device, SITES) as pool:
        number = pool.alloc_address(100)
        pool.free_address(number)
        assert pool._sites is not None
        assert pool._sites.of(number) == ()
        again, line = pool.alloc(100), here()
        assert reported(again.address)[0] == line
        again.free()


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
    print(block.call_site)
"""
    for words, want in (("red_zones,call_sites", "('<string>:3 (<module>)',)"), ("poison", "()")):
        done = run_python(program, FERRUM_DEBUG=words)
        assert (done.returncode, done.stdout.strip()) == (0, want), done.stderr
