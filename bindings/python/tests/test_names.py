"""The names of the package, which are imported at their first use."""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib
import inspect
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import ferrum_mem as fm
import pytest

ROOT = Path(fm.__file__)


def in_a_new_interpreter(program: str) -> str:
    """The output of a program. -I and -S disable hooks of the site."""
    path = f"import sys; sys.path.append({str(ROOT.parents[1])!r})"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"{path}\n{program}"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def test_a_checker_of_types_sees_the_same_names():
    """A type checker reads the imports, and the interpreter reads the table."""
    (shown,) = [node for node in ast.parse(ROOT.read_text()).body if isinstance(node, ast.If)]
    imports = [node for node in shown.body if isinstance(node, ast.ImportFrom)]
    seen = {alias.name: node.module for node in imports for alias in node.names}
    assert seen == fm._HOME_OF


def test_every_name_is_there():
    own = {"ALIGNMENT_MAX", "BATCH_MAX", "READY_PAGES_ALL", "__version__"}
    assert set(fm.__all__) == set(fm._HOME_OF) | own
    for name in fm.__all__:
        assert getattr(fm, name) is getattr(fm, name)
        assert name in dir(fm)
    for name, home in fm._HOME_OF.items():
        assert getattr(fm, name) is getattr(importlib.import_module(f"ferrum_mem.{home}"), name)


def test_all_of_them_at_once():
    program = "from ferrum_mem import *; import ferrum_mem; "
    program += "print(*sorted(set(ferrum_mem.__all__) - set(globals())))"
    assert in_a_new_interpreter(program) == ""


def test_one_by_one():
    program = "from ferrum_mem import Pool, BusyError; import ferrum_mem; "
    program += "print(ferrum_mem.pools.Pool is Pool, ferrum_mem.errors.BusyError is BusyError)"
    assert in_a_new_interpreter(program) == "True True"


@pytest.mark.parametrize("module", sorted(path.stem for path in ROOT.parent.glob("*.py")))
def test_each_module_may_be_the_first(module):
    if module == "__init__":
        return
    in_a_new_interpreter(f"import ferrum_mem.{module}")


@pytest.mark.parametrize("name", ["nothing", "Nothing", "__nothing__", "_nothing"])
def test_unknown_names_are_rejected(name):
    with pytest.raises(AttributeError, match=f"'ferrum_mem' has no attribute '{name}'"):
        getattr(fm, name)
    assert not hasattr(fm, name)


def test_import_error_inside_a_module_propagates(monkeypatch):
    def lacks(_name: str) -> None:
        raise ModuleNotFoundError("No module named 'other'", name="other")

    monkeypatch.setattr(importlib, "import_module", lacks)
    with pytest.raises(ModuleNotFoundError, match="other"):
        _ = fm.nothing


def test_threads_may_import_at_the_same_time():
    program = """
import threading, ferrum_mem
found = []
start = threading.Barrier(8)
def ask(names):
    start.wait()
    found.append({name: getattr(ferrum_mem, name) for name in names})
names = sorted(ferrum_mem.__all__)
threads = [threading.Thread(target=ask, args=(names[::1 if i % 2 else -1],)) for i in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(found), all(each == found[0] for each in found))
"""
    assert in_a_new_interpreter(program) == "8 True"


# Modules that take long to import and that many programs do not need.
SLOW = {"asyncio", "dataclasses", "inspect", "json", "logging", "numpy", "pathlib", "re", "typing"}


def imported(program: str) -> set[str]:
    return set(in_a_new_interpreter(f"import sys\n{program}\nprint(*sys.modules)").split())


def test_import_loads_no_slow_module():
    found = imported("import ferrum_mem")
    assert {name for name in found if name.startswith("ferrum_mem")} == {
        "ferrum_mem",
        "ferrum_mem._abi",
    }
    assert not (SLOW | {"enum"}) & found


def test_a_first_block_imports_no_records():
    program = """
import ferrum_mem as fm
with fm.Device("cpu:0") as device, fm.Pool(device) as pool:
    pool.alloc(100).free()
    pool.free_address(pool.alloc_address(100))
"""
    found = imported(program)
    assert "ferrum_mem.pools" in found
    assert not (SLOW - {"re", "typing"}) & found
    assert not {"ferrum_mem._records", "ferrum_mem.managers"} & found


def test_no_public_name_is_that_of_a_builtin():
    """A star import, or an import of one name, replaces no builtin."""
    taken = set(dir(builtins))
    assert not taken & set(fm.__all__)
    for module in modules():
        for name, value in vars(module).items():
            if not name.startswith("_") and name in taken:
                assert value is getattr(builtins, name), f"{module.__name__}.{name}"


# `id` and `map()` are the usual names in every language.
USUAL = {"id", "map", "type"}


def public_members() -> Iterator[tuple[str, object]]:
    """Each public function, class, method and property of the package, with its name."""
    for module in modules():
        for name, value in vars(module).items():
            if name[0] == "_" or getattr(value, "__module__", "") != module.__name__:
                continue
            yield f"{module.__name__}.{name}", value
            if inspect.isclass(value):
                for at, of in vars(value).items():
                    if at[0] != "_":
                        yield f"{module.__name__}.{name}.{at}", getattr(of, "__func__", of)


def test_no_parameter_or_member_is_named_like_a_builtin():
    taken, found = set(dir(builtins)) - USUAL, []
    for name, value in public_members():
        found += [name] if name.rpartition(".")[2] in taken else []
        if inspect.isfunction(value) or inspect.isclass(value):
            with contextlib.suppress(ValueError):
                found += [
                    f"{name}({at})" for at in inspect.signature(value).parameters if at in taken
                ]
    assert not found


def modules() -> list[types.ModuleType]:
    names = [path.stem for path in sorted(ROOT.parent.glob("[!_]*.py"))]
    return [fm, *(importlib.import_module(f"ferrum_mem.{name}") for name in names)]
