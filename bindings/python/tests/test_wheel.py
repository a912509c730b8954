"""The wheel: its contents, its tag, and that it works on its own."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

# One worker of pytest-xdist runs all of these tests, so that it builds and installs the wheel once.
pytestmark = pytest.mark.xdist_group("wheel")

PROJECT = Path(__file__).resolve().parents[1]
ROOT = PROJECT.parents[1]

# The devices that the wheel's command finds: two of the host, and no CUDA driver.
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


C_PROGRAM = """
#include <ferrum_mem.h>
#include <stdio.h>
int main(void) {
    ferrum_device device;
    ferrum_pool pool;
    ferrum_address block;
    ferrum_init(NULL);
    ferrum_device_open("cpu:0", &device);
    ferrum_pool_create(device, NULL, &pool);
    if (ferrum_pool_alloc(pool, 1 << 20, (ferrum_stream){0}, &block) == FERRUM_OK) puts("a block");
    return ferrum_shutdown(FERRUM_FORCE);
}
"""


def load(name: str, path: Path):
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def build_hook():
    pytest.importorskip("hatchling")
    return load("hatch_build", PROJECT / "hatch_build.py")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    # The wheel that `make wheel` has built, in the suite test-wheel.
    if made_before := os.environ.get("FERRUM_TEST_WHEEL"):
        return Path(made_before).resolve()
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    if importlib.util.find_spec("hatchling") is not None:
        command.append("--no-build-isolation")
    subprocess.run([*command, "--wheel-dir", str(folder), str(PROJECT)], check=True)
    made: list[Path] = list(folder.glob("*.whl"))
    assert len(made) == 1
    return made[0]


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """A new environment with the wheel, away from the checkout."""
    home: Path = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(home)
    # The pip of the tests installs into it: a pip of its own takes longer than all the rest.
    pip = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python")]
    subprocess.run([*pip, "install", "--quiet", "--no-index", str(wheel)], check=True, cwd=home)
    return home


def plain_environment() -> dict[str, str]:
    """Without variables that lead to the checkout or to a compiler."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "FERRUM_"))}
    return {**environment, "PATH": "/nonexistent", **MACHINE}


@pytest.mark.slow
def test_what_is_in_the_wheel(wheel):
    hook = build_hook()
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        library = archive.read("ferrum_mem/lib/libferrum_mem.so.0")
        command = archive.getinfo("ferrum_mem/bin/ferrum-mem")
        metadata = archive.read(next(n for n in names if n.endswith("METADATA"))).decode()
        helper = archive.getinfo("ferrum_mem/lib/ferrum-mem-probe")
        allocator = archive.read("ferrum_mem/lib/libferrum_mem_allocator.so")
    assert helper.external_attr >> 16 & 0o111, "the helper can be run"
    assert command.external_attr >> 16 & 0o111, "the command can be run"
    assert library == hook.find_library().read_bytes()
    assert hook.read_needs(allocator).libraries <= hook.ALLOCATOR_LIBRARIES
    assert "libferrum_mem.so.0" in hook.read_needs(allocator).libraries
    assert "ferrum_mem/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    headers = {file.relative_to(ROOT) for file in (ROOT / "include").rglob("*") if file.is_file()}
    assert {f"ferrum_mem/{header}" for header in headers} <= set(names)
    assert any(name.endswith("licenses/NOTICE") for name in names)
    assert "License-Expression: Apache-2.0" in metadata
    assert "Requires-Python: >=3.10" in metadata
    assert not re.search(r"^Requires-Dist: (?!.*extra ==)", metadata, re.MULTILINE)


@pytest.mark.slow
def test_the_tag_is_that_of_the_libraries(wheel):
    hook = build_hook()
    library = hook.find_library()
    allocator = hook.read_needs((library.parent / hook.ALLOCATOR_NAME).read_bytes())
    glibc = max(hook.read_needs(library.read_bytes()).glibc, allocator.glibc, (2, 28))
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
    [
        ("GLIBCXX_3.4.9", (2, 17)),
        ("GLIBCXX_3.4.21", (2, 28)),
        ("GLIBCXX_3.4.29", (2, 34)),
        ("CXXABI_1.3.7", (2, 17)),
        ("CXXABI_1.3.13", (2, 34)),
    ],
)
def test_cxx_floor(version, glibc):
    hook = build_hook()
    assert hook.cxx_floor(version) == glibc
    with pytest.raises(RuntimeError, match=r"GLIBCXX_3\.4\.99"):
        hook.cxx_floor("GLIBCXX_3.4.99")


@pytest.mark.parametrize("image", [b"", b"text", b"\x7fELF\x01\x01" + bytes(64)])
def test_file_that_is_no_library_is_rejected(image):
    with pytest.raises(RuntimeError, match="ELF"):
        build_hook().read_needs(image)


@pytest.mark.slow
def test_the_wheel_works_in_a_new_environment(installed):
    result = subprocess.run(
        [installed / "bin" / "python", "-I", "-c", PROGRAM],
        env=plain_environment(),
        cwd=installed,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    said, loaded = result.stdout.splitlines()
    assert said.startswith("from the wheel 0.")
    assert Path(loaded).is_relative_to(installed.resolve())


def ways_to_the_command(installed: Path) -> list[list[str]]:
    programs = installed / "bin"
    return [[str(programs / "ferrum-mem")], [str(programs / "python"), "-I", "-m", "ferrum_mem"]]


@pytest.mark.slow
@pytest.mark.parametrize("way", [0, 1], ids=["script", "module"])
def test_the_command_of_the_wheel(installed, way):
    command = ways_to_the_command(installed)[way]

    def run(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *args],
            env=plain_environment(),
            cwd=installed,
            capture_output=True,
            text=True,
            check=False,
        )

    version = run("version")
    assert (version.returncode, version.stderr) == (0, "")
    assert re.match(r"ferrum-mem \d+\.\d+\.\d+ \(go", version.stdout)
    devices = run("devices")
    assert devices.returncode == 0
    assert "cpu:1  " in devices.stdout
    refused = run("frobnicate")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith('ferrum-mem: there is no subcommand "frobnicate"')
    table = installed / "trace.csv"
    table.write_text("id,lower,upper,size\na,0,9,4000000\n")
    assert run("replay", str(table), "--limit", "1MiB").returncode == 1


@pytest.mark.slow
@pytest.mark.parametrize("way", [0, 1], ids=["script", "module"])
def test_signals_reach_the_command_of_the_wheel(installed, way):
    command = ways_to_the_command(installed)[way]
    for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -9)):
        with subprocess.Popen(
            [*command, "replay", "-"],
            env=plain_environment(),
            cwd=installed,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            assert process.stdin is not None
            # More than a pipe can hold, so it is written only when the command reads.
            process.stdin.write(b"id,lower,upper,size\n" + b"\n" * (1 << 20))
            process.stdin.flush()
            process.send_signal(number)
            assert process.wait() == status
    # No process reads its output.
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        done = subprocess.run([*command, "version"], env=plain_environment(), stdout=closed)
    assert done.returncode == -signal.SIGPIPE


@pytest.mark.slow
def test_a_c_program_against_the_wheel(installed, tmp_path):
    compiler = shutil.which(os.environ.get("CC", "cc").split()[0])
    if compiler is None:
        pytest.skip("no C compiler here")
    ask = "import ferrum_mem as fm; print(fm.get_include(), fm.get_library(), sep='\\n')"
    include, library = subprocess.run(
        [installed / "bin" / "python", "-I", "-c", f"import sys; {ask}"],
        env=plain_environment(),
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    for path in (include, library):
        assert Path(path).resolve().is_relative_to(installed.resolve())
    source, program = tmp_path / "first.c", tmp_path / "first"
    source.write_text(C_PROGRAM)
    link = f"-Wl,-rpath,{Path(library).parent}"
    command = [compiler, "-std=c11", "-Wall", "-Werror", f"-I{include}", source, library, link]
    subprocess.run([*command, "-o", program], check=True)
    done = subprocess.run([program], env=plain_environment(), capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "a block\n")


def test_get_include_and_get_library_in_a_checkout():
    import ferrum_mem as fm

    assert Path(fm.get_include()) == ROOT / "include"
    assert Path(fm.get_library()).name.startswith("libferrum_mem.so")


@pytest.mark.slow
def test_the_links_of_its_pages(wheel, installed):
    pages = load("pages", ROOT / "scripts" / "pages.py")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(n for n in names if n.endswith("METADATA"))).decode()
    # An index shows only the README.
    targets = re.findall(r"\]\(([^)\s]*)\)", metadata)
    assert [target for target in targets if not pages.ELSEWHERE.match(target)] == []
    (folder,) = installed.glob("lib/python3*/site-packages/ferrum_mem/docs")
    found = sorted(folder.rglob("*.md"))
    assert {page.name for page in (ROOT / "docs").glob("*.md")} <= {page.name for page in found}
    assert [line for page in found for line in pages.broken_links(page)] == []
    # The files of the package that the README names.
    for name in re.findall(r"`((?:docs|include)/[\w./]*)`", metadata):
        assert (folder.parent / name).exists(), name
