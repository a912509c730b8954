"""Discovery: available backends, the choice of a device, and broken drivers."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import ferrum_mem as fm
import pytest
from ferrum_mem import _abi

SIMULATED = Path(__file__).resolve().parents[3] / "tests" / "simulated"


def test_all_backends_are_there():
    found = fm.backends()
    assert [b.backend for b in found] == [t.backend for t in fm.BackendType][1:]
    assert [b.name for b in found] == [str(t) for t in fm.BackendType][1:]
    for backend in found:
        assert backend.available == (backend.error is None) == bool(backend.devices)
        assert backend.available == (backend.reason is None)
    assert found[0].available
    assert found[0].usable
    device = found[0].devices[0]
    assert device.free_bytes is not None
    assert device.can_fit(device.free_bytes)
    assert not device.can_fit(device.free_bytes + 1)
    assert device.total_memory_gb() == 0.5
    assert device.recommended_fraction_percent == 70


def test_summary(capsys):
    text = fm.backend_summary()
    lines = text.splitlines()
    assert lines[0] == "=== Available Backends ==="
    assert lines[1] == "✓ CPU (CPU)"
    assert lines[-1] == f"Recommended backend: {fm.best_available_backend()}"
    fm.print_backend_summary()
    assert capsys.readouterr().out == text


def test_backend_types():
    constants = {
        name.removeprefix("FERRUM_BACKEND_"): value
        for name, value in vars(_abi).items()
        if name.startswith("FERRUM_BACKEND_")
    }
    assert {t.name: t.value for t in fm.BackendType} == constants
    assert [t.backend for t in fm.BackendType] == [name.lower() for name in constants]
    assert [str(t).upper() for t in fm.BackendType] == list(constants)
    assert (str(fm.BackendType.AUTO), str(fm.BackendType.ROCM)) == ("Auto", "ROCm")


def test_select_and_init():
    choice = fm.select_backend_for_model(1 << 20, fm.BackendType.CPU)
    assert (choice.backend, choice.device_id, choice.device_index) == (1, "cpu:0", 0)
    assert choice.tried == (("cpu:0", "chosen"),)
    device, choice = fm.init_backend_with_memory_check(fm.BackendType.AUTO, 1 << 20)
    with device:
        assert device.id == choice.device_id
        assert choice.tried[-1] == (device.id, "chosen")
        assert choice.free_bytes >= 1 << 20
    with pytest.raises(fm.OutOfMemoryError, match=r"cpu:0: needs 1024 TiB"):
        fm.init_backend_with_memory_check(fm.BackendType.AUTO, 1 << 50)
    with pytest.raises(fm.OutOfMemoryError, match=r"cpu:1: needs"):
        fm.select_backend_for_model(1 << 50)
    with pytest.raises(fm.BackendUnavailableError, match="Metal is not supported"):
        fm.select_backend_for_model(1, fm.BackendType.METAL)
    with pytest.raises(fm.InvalidArgumentError, match="preference is 9"):
        fm.select_backend_for_model(1, 9)  # type: ignore[arg-type]
    assert not fm.leak_report().leaks


def test_device_can_fit_and_sizes():
    assert fm.device_can_fit("cpu:0", 1)
    assert not fm.device_can_fit("cpu:0", 1 << 60)
    with pytest.raises(fm.DeviceNotFoundError):
        fm.device_can_fit("cpu:9", 1)
    sizes = {0: 1, 1: 1, 3: 4, 5: 8, 1000: 1024}
    assert {n: fm.round_up_power_of_2(n) for n in sizes} == sizes
    assert {n: fm.size_class(n) for n in sizes} == sizes
    assert (fm.compute_f32_bytes(7), fm.compute_f16_bytes(7)) == (28, 14)
    with pytest.raises(OverflowError):
        fm.round_up_power_of_2((1 << 63) + 1)


def test_host_info():
    info = fm.host_info()
    assert info.cpu_name
    assert info.available_bytes is not None
    assert 0 < info.available_bytes <= info.total_bytes


@pytest.fixture(scope="module")
def driver(tmp_path_factory) -> Path:
    compiler = shutil.which("cc")
    if compiler is None or not SIMULATED.exists():
        pytest.skip("a C compiler and the checkout are needed")
    folder: Path = tmp_path_factory.mktemp("driver")
    library = folder / "libcuda.so.1"
    options = ["-std=gnu11", "-D_GNU_SOURCE", "-shared", "-fPIC"]
    subprocess.run([compiler, *options, SIMULATED / "cuda.c", "-o", library], check=True)
    return folder


# The system call numbers of execve and execveat.
STARTING = {"x86_64": (59, 322), "aarch64": (221, 281)}

PROGRAM = """
import ctypes, json, signal, struct, sys
if "ignore" in sys.argv:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if "forbid" in sys.argv:
    # As sandboxes do: a filter that refuses to start programs, for all threads to come.
    first, second = map(int, sys.argv[-2:])
    rules = ((0x20, 0, 0, 0), (0x15, 2, 0, first), (0x15, 1, 0, second),
             (0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x00050001))
    code = b"".join(struct.pack("HBBI", *rule) for rule in rules)
    kept = ctypes.create_string_buffer(code, len(code))
    filter = struct.pack("HxxxxxxP", len(rules), ctypes.addressof(kept))
    libc = ctypes.CDLL(None)
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    if libc.prctl(22, 2, filter) != 0:
        sys.exit("no filter")
import ferrum_mem as fm
for _ in range(3):
    fm.refresh_backends()
cuda = fm.backends()[1]
best = str(fm.best_available_backend())
ids = [d.id for d in cuda.devices]
print(json.dumps([cuda.available, cuda.reason, cuda.native_code, ids, best]))
"""


def look(driver: Path, behaviour: str, *arguments: str, **more: str) -> list[object]:
    environment = {**os.environ, "LD_LIBRARY_PATH": str(driver), "SIMULATED": behaviour, **more}
    command = [sys.executable, "-c", PROGRAM, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, check=True, text=True)
    answer: list[object] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("arguments", [(), ("ignore",)])
def test_broken_drivers_do_not_harm_the_program(driver, arguments):
    whole = [True, None, 0, ["cuda:0", "cuda:1"], "CUDA"]
    assert look(driver, "normal", *arguments) == whole
    assert look(driver, "garbage", *arguments) == whole
    assert look(driver, "error=999", *arguments)[:3] == [False, "driver_error", 999]
    crash = look(driver, "abort", *arguments)
    assert crash[:2] == [False, "crashed"]
    hang = look(driver, "sleep", *arguments, FERRUM_PROBE_TIMEOUT="200ms")
    assert hang[:2] == [False, "timed_out"]


def test_probe_modes(driver):
    whole = [True, None, 0, ["cuda:0", "cuda:1"], "CUDA"]
    assert look(driver, "normal", FERRUM_PROBE="in_process") == whole
    assert look(driver, "normal", FERRUM_PROBE="off")[1] == "switched_off"
    missing = look(driver, "normal", FERRUM_PROBE_HELPER="/nonexistent/helper")
    assert missing[:3] == [False, "helper_unavailable", 2]


def test_probing_in_the_process_is_a_setting(run_python):
    program = """
import ferrum_mem as fm
fm.init(probe_in_process=FLAG)
print([each.reason for each in fm.backends() if each.backend != "cpu"])
fm.shutdown()
"""

    def reasons(flag: bool) -> str:
        text = program.replace("FLAG", str(flag))
        done = run_python(text, FERRUM_PROBE_HELPER="/nonexistent/helper")
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    assert "helper_unavailable" in reasons(False)
    assert "helper_unavailable" not in reasons(True)


def test_discovery_without_permission_to_start_processes(driver):
    numbers = STARTING.get(platform.machine())
    if numbers is None:
        pytest.skip("the numbers of this machine's system calls are not known here")
    forbidden = ("forbid", *map(str, numbers))
    try:
        seen = look(driver, "normal", *forbidden)
    except subprocess.CalledProcessError as error:
        if "no filter" in error.stderr:
            pytest.skip("this system has no such filter")
        raise
    assert seen == [False, "helper_unavailable", 1, [], "CPU"]
    whole = [True, None, 0, ["cuda:0", "cuda:1"], "CUDA"]
    assert look(driver, "normal", *forbidden, FERRUM_PROBE="in_process") == whole


def test_processes_of_a_device_are_listed():
    build = Path(__file__).parents[3] / "build/test"
    simulators = build / "simcuda/12090/libcuda.so.1", build / "simnvml/libnvidia-ml.so.1"
    if not all(path.exists() for path in simulators):
        pytest.skip("the simulated driver is not built (make simcuda)")
    program = "import ferrum_mem as fm; print(fm.backends()[1].devices[0].processes)"

    def asked(**more: str) -> str:
        environment = {
            **os.environ,
            "FERRUM_CUDA_LIBRARY": str(simulators[0]),
            "FERRUM_NVML_LIBRARY": str(simulators[1]),
            "SIMCUDA_LEAKS": "",
            **more,
        }
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=environment, capture_output=True, check=True, text=True)
        return done.stdout.strip()

    first, second = "ProcessUse(pid=1000, used_bytes=1)", "ProcessUse(pid=1001, used_bytes=None)"
    assert asked(SIMNVML_PROCESSES="2") == f"({first}, {second})"
    assert asked() == "()"
    assert asked(SIMNVML_FAULT="nvmlDeviceGetComputeRunningProcesses_v3") == "None"
