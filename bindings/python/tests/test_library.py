"""Start, stop, counters and versions; in subprocesses where the number of starts matters."""

from __future__ import annotations

import ferrum_mem as fm
import pytest
from ferrum_mem import _abi

PRELUDE = """
import ferrum_mem as fm
SMALL = fm.PoolConfig(initial_size_bytes=1 << 20, growth_increment_bytes=1 << 20)
def expect(error, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except error as caught:
        return caught
    raise SystemExit(f"no {error.__name__}")
"""


def check(run_python, program, **environment):
    result = run_python(PRELUDE + program, **environment)
    assert (result.returncode, result.stderr) == (0, ""), result
    return result.stdout


def test_versions():
    assert fm.abi_version() >= _abi.FERRUM_ABI_VERSION
    assert fm.library_version() == fm.__version__


def test_backends():
    (cpu,) = [backend for backend in fm.backends() if backend.backend == "cpu"]
    assert cpu.available
    assert cpu.error is None
    assert [found.id for found in cpu.devices] == ["cpu:0", "cpu:1"]
    assert all(found.total_bytes == 1 << 29 and found.host_addressable for found in cpu.devices)


def test_snapshot_and_leak_report_see_what_is_alive(device, manager):
    with manager.alloc(1000, tag="kv"):
        (books,) = [d for d in fm.snapshot()["devices"] if d["id"] == "cpu:0"]
        (tag,) = [t for t in books["tags"] if t["tag"] == "kv"]
        assert (tag["requested_bytes"], tag["blocks"]) == (1000, 1)
        report = fm.leak_report()
        (leak,) = [entry for entry in report.leaks if entry.kind == "memory"]
        assert (leak.device, leak.tag, leak.size_bytes) == ("cpu:0", "kv", 1000)
        assert report.omitted == 0
        assert report.total_bytes == 1000


def test_long_leak_report_is_complete(device, pool):
    blocks = [pool.alloc(256) for _ in range(300)]
    leaks = [leak for leak in fm.leak_report().leaks if leak.kind == "block"]
    assert {leak.address for leak in leaks} == {block.address for block in blocks}
    for block in blocks:
        block.free()


def test_each_init_is_undone_by_one_shutdown(run_python):
    check(
        run_python,
        """
fm.init(host_devices=3, host_memory_bytes=3 << 20)
fm.init(host_devices=3, host_memory_bytes=3 << 20)
fm.init()
expect(fm.InvalidStateError, fm.init, host_devices=4)
assert len(fm.backends()[0].devices) == 3
fm.shutdown(); fm.shutdown()
assert len(fm.backends()[0].devices) == 3
fm.shutdown()
expect(fm.NotInitializedError, fm.shutdown)
fm.init(host_devices=1)
assert len(fm.backends()[0].devices) == 1
""",
    )


def test_a_device_starts_the_library_and_init_takes_that_over(run_python):
    check(
        run_python,
        """
with fm.Device("cpu:0"):
    fm.init()
    error = expect(fm.BusyError, fm.shutdown)
    assert error.function == "ferrum_shutdown", error.function
fm.shutdown()
expect(fm.NotInitializedError, fm.shutdown)
""",
    )


def test_shutdown_by_force_ends_everything_and_keeps_the_report(run_python):
    check(
        run_python,
        """
device = fm.Device("cpu:0")
config = fm.ManagerConfig(pool_configs={fm.MemoryType.GENERAL: SMALL})
manager = fm.Manager(device, config); block = manager.alloc(1000, tag="kv")
pool = fm.Pool(device, SMALL); chunk = pool.alloc(10)
stream = fm.Stream(device); event = stream.record_event()
registration = device.on_pressure(print)
view = block.view()
expect(fm.ViewExistsError, fm.shutdown, force=True)
assert bytes(view[:1]) == b"\\0" and not block.closed
block.write(b"x")
view.release()
del view
fm.shutdown(force=True)
kinds = [leak.kind for leak in fm.leak_report().leaks]
assert sorted(kinds) == ["block", "device", "event", "manager", "memory", "pool",
                         "registration", "stream"], kinds
for gone in (block, chunk, manager, pool, stream, event, registration, device):
    assert gone.closed, gone
    gone.close()
expect(fm.InvalidHandleError, block.read)
fm.init()
expect(fm.InvalidHandleError, block.read)
fm.shutdown()
""",
    )


def test_error_names_the_invalid_setting(run_python):
    check(
        run_python,
        """
error = expect(fm.InvalidConfigError, fm.Device, "cpu:0")
assert "FERRUM_HOST_MEMORY" in error.message and "lots" in error.message, error
error = expect(fm.InvalidConfigError, fm.init, host_memory_bytes=1 << 60)
assert str(1 << 60) in error.message, error
""",
        FERRUM_HOST_MEMORY="lots",
    )


def test_more_than_the_machine_has_can_be_forced(run_python):
    check(
        run_python,
        """
fm.init(host_devices=1, host_memory_bytes=1 << 50, host_memory_forced=True)
with fm.Device("cpu") as device:
    assert device.info().total_bytes == 1 << 50
fm.shutdown()
""",
    )


def test_nothing_is_loaded_at_import_and_nothing_printed(run_python):
    out = check(
        run_python,
        """
from ferrum_mem import _native
assert not _native.is_loaded()
with fm.Device("cpu:0") as device, fm.Manager(device) as manager:
    manager.alloc(10).close()
""",
    )
    assert out == ""


@pytest.mark.parametrize("name", fm.__all__)
def test_everything_public_is_documented(name):
    value = getattr(fm, name)
    assert isinstance(value, (int, str)) or value.__doc__


def test_signal_handler_without_onstack_is_repaired_and_reported(run_python):
    check(
        run_python,
        """
import ctypes, signal
libc = ctypes.CDLL(None)
libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
def install(number):
    libc.signal(number, ctypes.cast(libc.abs, ctypes.c_void_p))
fm.library_version()  # loading it repairs the handlers that exist
signal.signal(signal.SIGALRM, lambda *_: None)
install(signal.SIGPROF)
fm.init(host_memory_bytes=1 << 26)
install(signal.SIGVTALRM)
with fm.Device("cpu:0"):
    found = {h["name"]: h for h in fm.snapshot()["signal_handlers"]}
assert found.keys() >= {"SIGPROF", "SIGVTALRM"}
assert "SIGALRM" not in found and "SIGINT" not in found, "Python's own have the flag"
assert found["SIGPROF"]["symbol"] == "abs" and "libc" in found["SIGPROF"]["file"]
assert all(h["repaired"] for h in found.values())
assert [found[n]["late"] for n in ("SIGPROF", "SIGVTALRM")] == [False, True]
fm.shutdown()
fm.init(host_memory_bytes=1 << 26, leave_signal_handlers=True)
install(signal.SIGUSR1)
with fm.Device("cpu:0"):
    left = [h for h in fm.snapshot()["signal_handlers"] if h["name"] == "SIGUSR1"]
assert [h["repaired"] for h in left] == [False]
expect(fm.InvalidStateError, fm.init, host_memory_bytes=1 << 26)
fm.shutdown()
""",
    )


def test_a_start_without_descriptors_is_an_error(run_python):
    check(
        run_python,
        """
import os, resource
fm.library_version()  # the library is loaded
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
taken = []
try:
    while True:
        taken.append(os.dup(2))
except OSError:
    pass
error = expect(fm.ResourceExhaustedError, fm.init)
for descriptor in taken:
    os.close(descriptor)
assert "2 descriptors" in error.message and error.native_code != 0, error
fm.init(host_memory_bytes=1 << 26)
fm.shutdown()
""",
    )
