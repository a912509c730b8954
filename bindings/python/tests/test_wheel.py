"""The wheel: what is in it, what it is tagged, and that it works alone."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]

# What the program of the wheel finds: two devices of the host, and no CUDA driver.
MACHINE = {"FERRUM_HOST_DEVICES": "2", "FERRUM_CUDA_LIBRARY": "/nowhere/libcuda.so.1"}

PROGRAM = """
import sys
import ferrum_mem as fm
assert sys.prefix in fm.__file__, fm.__file__
with fm.Device("cpu:1") as device, fm.Manager(device) as manager:
    with manager.alloc(16) as block:
        block.write(b"from the wheel")
        print(bytes(block.view()[:14]).decode(), fm.library_version())
import ferrum_mem.frameworks as frameworks
assert str(frameworks.allocator_path()).startswith(sys.prefix), frameworks.allocator_path()
try:
    frameworks.trim()
except fm.BackendUnavailableError as error:
    assert "/nowhere/libcuda.so.1" in str(error)
else:
    raise AssertionError("there is no driver")
assert all(b.reason != "helper_unavailable" for b in fm.backends()), fm.backends()
fm.shutdown()
maps = open("/proc/self/maps").read()
print([l.split()[-1] for l in maps.splitlines() if "libferrum_mem" in l][0])
"""


def build_hook():
    pytest.importorskip("hatchling")
    spec = importlib.util.spec_from_file_location("hatch_build", PROJECT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["hatch_build"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    if importlib.util.find_spec("hatchling") is not None:
        command.append("--no-build-isolation")
    subprocess.run([*command, "--wheel-dir", str(folder), str(PROJECT)], check=True)
    made: list[Path] = list(folder.glob("*.whl"))
    assert len(made) == 1
    return made[0]


def plain_environment() -> dict[str, str]:
    """Without anything that could lead to the checkout or to a compiler."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "FERRUM_"))}
    return {**environment, "PATH": "/nonexistent", **MACHINE}


@pytest.mark.slow
def test_what_is_in_the_wheel(wheel):
    hook = build_hook()
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        library = archive.read("ferrum_mem/lib/libferrum_mem.so.0")
        metadata = archive.read(next(n for n in names if n.endswith("METADATA"))).decode()
        helper = archive.getinfo("ferrum_mem/lib/ferrum-mem-probe")
        allocator = archive.read("ferrum_mem/lib/libferrum_mem_allocator.so")
    assert helper.external_attr >> 16 & 0o111, "the helper can be run"
    assert library == hook.find_library().read_bytes()
    assert hook.read_needs(allocator).libraries <= hook.ALLOCATOR_LIBRARIES
    assert "libferrum_mem.so.0" in hook.read_needs(allocator).libraries
    assert "ferrum_mem/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert any(name.endswith("licenses/NOTICE") for name in names)
    assert "License-Expression: Apache-2.0" in metadata
    assert "Requires-Python: >=3.10" in metadata
    assert not re.search(r"^Requires-Dist: (?!.*extra ==)", metadata, re.MULTILINE)


@pytest.mark.slow
def test_the_tag_is_that_of_the_libraries(wheel):
    hook = build_hook()
    library = hook.find_library()
    allocator = hook.read_needs((library.parent / hook.ALLOCATOR_NAME).read_bytes())
    glibc = max(hook.read_needs(library.read_bytes()).glibc, allocator.glibc)
    tag = f"py3-none-manylinux_{glibc[0]}_{glibc[1]}_{platform.machine()}"
    assert wheel.name.endswith(f"-{tag}.whl")


def test_the_glibc_floor_is_what_readelf_says():
    hook = build_hook()
    library = hook.find_library()
    try:
        text = subprocess.run(
            ["readelf", "--version-info", "--dynamic", "--wide", str(library)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    except FileNotFoundError:
        pytest.skip("no readelf here")
    versions = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", text)
    needs = hook.read_needs(library.read_bytes())
    assert needs.glibc == max((int(major), int(minor)) for major, minor in versions)
    assert needs.libraries == set(re.findall(r"\(NEEDED\).*\[(.*)\]", text))
    assert needs.machine == platform.machine()


@pytest.mark.parametrize(
    ("version", "glibc"),
    [("GLIBCXX_3.4.9", (2, 17)), ("GLIBCXX_3.4.21", (2, 28)), ("GLIBCXX_3.4.29", (2, 34))],
)
def test_the_cxx_library_that_systems_have(version, glibc):
    hook = build_hook()
    assert hook.cxx_floor(version) == glibc
    with pytest.raises(RuntimeError, match=r"GLIBCXX_3\.4\.99"):
        hook.cxx_floor("GLIBCXX_3.4.99")


@pytest.mark.parametrize("image", [b"", b"text", b"\x7fELF\x01\x01" + bytes(64)])
def test_what_is_no_library_is_refused(image):
    with pytest.raises(RuntimeError, match="ELF"):
        build_hook().read_needs(image)


@pytest.mark.slow
def test_the_wheel_works_in_a_new_environment(wheel, tmp_path):
    home = tmp_path / "venv"
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--no-index", str(wheel)],
        check=True,
        cwd=tmp_path,
    )
    result = subprocess.run(
        [python, "-I", "-c", PROGRAM],
        env=plain_environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    said, loaded = result.stdout.splitlines()
    assert said.startswith("from the wheel 0.")
    assert Path(loaded).is_relative_to(home.resolve())
