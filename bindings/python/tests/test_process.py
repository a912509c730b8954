"""The package in a process: fork, Ctrl-C, exit, loading."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import ferrum_mem as fm
import pytest

PRELUDE = """
import gc, os, signal, sys, threading, warnings
import ferrum_mem as fm
warnings.simplefilter("always")
# A shell starts what it puts into the background with SIGINT ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
# From Python 3.12 on it says that of every process with threads.
warnings.filterwarnings("ignore", ".*use of fork.*", DeprecationWarning)
def expect(error, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except error as caught:
        return caught
    raise SystemExit(f"no {error.__name__}")
"""


def check(run_python, program, expected="", **environment):
    result = run_python(PRELUDE + program, **environment)
    assert (result.returncode, result.stderr, result.stdout) == (0, "", expected)


FAMILY = """
SMALL = fm.PoolConfig(initial_size_bytes=1 << 20, growth_increment_bytes=1 << 20)
device = fm.Device("cpu:0")
pool = fm.Pool(device, SMALL); chunk = pool.alloc(10)
manager = fm.Manager(device, fm.ManagerConfig(pool_configs={fm.MemoryType.GENERAL: SMALL}))
block = manager.alloc(10)
stream = fm.Stream(device); event = stream.record_event()
registration = device.on_pressure(print)
fm.set_log_callback(lambda level, text: None)
stream.host_function(lambda: None); stream.synchronize()
"""


def test_every_call_in_a_forked_child_raises_forked_error(run_python):
    check(
        run_python,
        FAMILY
        + """
view = block.view()
address = pool.alloc_address(1)
child = os.fork()
if not child:
    for call in (lambda: pool.alloc(1), lambda: manager.alloc(1), stream.synchronize,
                 lambda: pool.alloc_address(1), lambda: pool.free_address(address),
                 event.is_ready, lambda: block.read(1), device.info, fm.snapshot, fm.backends,
                 fm.init, fm.shutdown, fm.leak_report, lambda: fm.Device("cpu:0"),
                 stream.record_event, lambda: block.view()):
        expect(fm.ForkedError, call)
    assert fm.status_name(-23) == "FERRUM_ERROR_BUSY" and fm.abi_version() >= 1
    view[0] = 1
    chunk.free()
    with block, pool:
        pass
    assert chunk.closed and block.closed
    del view, chunk, pool, manager, block, stream, event, registration, device
    gc.collect()
    sys.exit(0)
_, status = os.waitpid(child, 0)
assert status == 0, status
assert block.read(1) == b"\\0"
pool.free_address(address)
view.release(); del view
for thing in (registration, event, stream, block, manager, chunk, pool, device):
    assert not thing.closed
    thing.close()
fm.set_log_callback(None)
fm.shutdown()
""",
    )


def test_forked_child_may_drop_everything_at_exit(run_python):
    check(
        run_python,
        FAMILY
        + """
child = os.fork()
if child:
    _, status = os.waitpid(child, 0)
    assert status == 0, status
    for thing in (registration, event, stream, block, manager, chunk, pool, device):
        thing.close()
""",
    )


def test_fork_while_other_threads_work(run_python):
    """Locks that another thread holds at the fork must not block the child."""
    check(
        run_python,
        FAMILY
        + """
stop = threading.Event()
def work():
    while not stop.is_set():
        with manager.alloc(64) as mine:
            mine.view()[0] = 1
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
for _ in range(20):
    child = os.fork()
    if not child:
        expect(fm.ForkedError, manager.alloc, 1)
        block.close(); chunk.close(); manager.close()
        gc.collect()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, status
stop.set()
for thread in threads: thread.join()
for thing in (registration, event, stream, block, manager, chunk, pool, device): thing.close()
""",
    )


def test_multiprocessing_with_fork(run_python):
    check(
        run_python,
        FAMILY
        + """
import multiprocessing
def child(queue):
    try:
        manager.alloc(10)
    except fm.ForkedError as error:
        queue.put(error)
context = multiprocessing.get_context("fork")
queue = context.SimpleQueue()
process = context.Process(target=child, args=(queue,))
process.start()
error = queue.get()
assert type(error) is fm.ForkedError and error.name == "FERRUM_ERROR_FORKED", error
process.join()
assert process.exitcode == 0
for thing in (registration, event, stream, block, manager, chunk, pool, device): thing.close()
""",
    )


WAITS = {
    "stream": "stream.synchronize()",
    "stream with a timeout": "stream.synchronize(1000)",
    "event": "stream.record_event().synchronize()",
    "device": "device.synchronize()",
}


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS.keys())
def test_ctrl_c_ends_a_wait(run_python, wait):
    """The signal is sent when the main thread is inside the package's wait."""
    program = f"""
warnings.simplefilter("ignore")
def waits(frame):
    return frame and (frame.f_code.co_filename.endswith("_waits.py") or waits(frame.f_back))
def interrupt():
    while not waits(sys._current_frames()[threading.main_thread().ident]):
        pass
    os.kill(os.getpid(), signal.SIGINT)
device = fm.Device("cpu:0"); stream = fm.Stream(device)
gate = threading.Event(); reached = threading.Event()
stream.host_function(lambda: (reached.set(), gate.wait(50)))
reached.wait(30)
threading.Thread(target=interrupt).start()
try:
    {wait}
except KeyboardInterrupt:
    print("interrupted")
gate.set()
stream.synchronize()
"""
    check(run_python, program, "interrupted\n")


def test_signal_handlers_of_the_program_keep_working(run_python):
    check(
        run_python,
        """
seen = []
for number in (signal.SIGINT, signal.SIGPROF, signal.SIGPIPE, signal.SIGUSR1):
    signal.signal(number, lambda number, frame: seen.append(number))
with fm.Device("cpu:0") as device:
    device.synchronize()
    for number in (signal.SIGINT, signal.SIGPROF, signal.SIGPIPE, signal.SIGUSR1):
        os.kill(os.getpid(), number)
        device.synchronize()
assert seen == [signal.SIGINT, signal.SIGPROF, signal.SIGPIPE, signal.SIGUSR1], seen
""",
    )


def test_exit_with_everything_open_is_silent(run_python):
    check(run_python, FAMILY + "view = block.view()\nkept = [fm, view]\n")


def test_exit_with_everything_open_in_a_cycle_is_silent(run_python):
    check(run_python, FAMILY + "device.self = [device, pool, chunk, block, stream]\n")


def test_exit_waits_for_queued_host_functions(run_python):
    check(
        run_python,
        """
device = fm.Device("cpu:0"); stream = fm.Stream(device)
started = threading.Event()
def slow():
    started.set()
    total = sum(range(2_000_000))
    print("done", total > 0)
for _ in range(3):
    stream.host_function(slow)
started.wait(30)
""",
        expected="done True\n" * 3,
    )


def test_exit_while_callbacks_are_running(run_python):
    check(
        run_python,
        """
fm.set_log_callback(lambda level, text: sum(range(1000)), fm.LogLevel.DEBUG)
device = fm.Device("cpu:0")
registration = device.on_pressure(lambda where, level: sum(range(1000)))
SMALL = fm.PoolConfig(initial_size_bytes=1 << 20, growth_increment_bytes=1 << 20)
pool = fm.Pool(device, SMALL)
for _ in range(20):
    pool.alloc(480 << 20).free()
    pool.trim()
""",
    )


def test_daemon_threads_at_exit(run_python):
    result = run_python(
        PRELUDE
        + FAMILY
        + """
def work():
    while True:
        manager.alloc(64).close()
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
for _ in range(1000):
    manager.alloc(64).close()
"""
    )
    assert (result.returncode, result.stdout) == (0, ""), result


LOAD = PRELUDE + "error = expect(fm.LibraryLoadError, fm.Device, 'cpu:0'); print(error)"


def test_missing_library_of_the_variable_is_an_error(run_python):
    result = run_python(LOAD, FERRUM_MEM_LIBRARY="/no/such/library.so")
    assert result.returncode == 0, result
    assert "/no/such/library.so (FERRUM_MEM_LIBRARY)" in result.stdout


def test_wrong_library_of_the_variable_is_an_error(run_python):
    result = run_python(LOAD, FERRUM_MEM_LIBRARY="libc.so.6")
    assert result.returncode == 0, result
    assert "libc.so.6 is not libferrum_mem" in result.stdout
    assert "ferrum_" in result.stdout


def test_no_library_anywhere(tmp_path, run_python):
    """A copy of the package outside the checkout, without a library to load."""
    shutil.copytree(Path(fm.__file__).parent, tmp_path / "ferrum_mem")
    result = run_python(LOAD, PYTHONPATH=str(tmp_path), FERRUM_MEM_LIBRARY="")
    assert result.returncode == 0, result
    for place in (
        str(tmp_path / "ferrum_mem" / "lib" / "libferrum_mem.so.0"),
        "in the package",
        "libferrum_mem.so.0 (the system's loader)",
        "FERRUM_MEM_LIBRARY",
        "make build",
    ):
        assert place in result.stdout


def test_the_library_in_the_package_comes_first(tmp_path, run_python):
    package = tmp_path / "ferrum_mem"
    shutil.copytree(Path(fm.__file__).parent, package)
    (package / "lib").mkdir()
    broken = package / "lib" / "libferrum_mem.so.0"
    broken.write_bytes(b"no library")
    result = run_python(LOAD, PYTHONPATH=str(tmp_path), FERRUM_MEM_LIBRARY="")
    assert result.returncode == 0, result
    assert f"cannot load {broken} (in the package)" in result.stdout


def test_an_older_library_is_refused(monkeypatch):
    from ferrum_mem import _abi, _loader

    monkeypatch.setattr(_abi, "FERRUM_ABI_VERSION", 10**6)
    with pytest.raises(fm.LibraryLoadError, match="ABI version"):
        _loader.load()


def test_this_process_is_not_forked():
    from ferrum_mem import _native

    assert not _native.is_forked()
    assert _native._owner_pid == os.getpid()


def test_import_loads_no_asyncio():
    """Calls import what only they need: asyncio imports sockets, ssl and executors."""
    program = (
        "import sys; import ferrum_mem; "
        "print(*sorted({'asyncio', 'concurrent', 'logging', 'multiprocessing', 'numpy', 'socket', "
        "'ssl', 'subprocess', 'torch', 'unittest'} & set(sys.modules)))"
    )
    # -I: modules that the test run adds to the path, such as hooks of the site, do not
    # count.
    source = str(Path(fm.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.append({source!r}); {program}"],
        capture_output=True,
        text=True,
    )
    assert (done.stdout.strip(), done.stderr) == ("", "")
