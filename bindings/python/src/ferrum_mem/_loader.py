"""Finds and loads libferrum_mem, once per process.

The order, first found first taken:

1. the file that the environment variable FERRUM_MEM_LIBRARY names;
2. the library inside this package, as a wheel carries it;
3. build/lib of the source checkout that this package lies in;
4. what the system's loader finds as libferrum_mem.so.0.

A file of 1 to 3 that is there but cannot be loaded is an error; a later place
is not tried then. The library is never unloaded.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator

from . import _abi

FILE_NAME = f"libferrum_mem.so.{_abi.FERRUM_VERSION_MAJOR}"
VARIABLE = "FERRUM_MEM_LIBRARY"


class LibraryLoadError(ImportError):
    """libferrum_mem cannot be loaded; the message names what was tried."""


def load() -> _abi.Functions:
    """Loads the library and checks that it can serve this package."""
    tried: list[str] = []
    for origin, path in candidates():
        if not os.path.exists(path) and origin != VARIABLE:
            tried.append(f"{path} ({origin}): no such file")
            continue
        try:
            return _bind(path)
        except OSError as problem:
            raise LibraryLoadError(
                f"ferrum_mem: cannot load {path} ({origin}): {problem}", path=path
            ) from problem
    try:
        return _bind(FILE_NAME)
    except OSError as problem:
        tried.append(f"{FILE_NAME} (the system's loader): {problem}")
    raise LibraryLoadError(
        "ferrum_mem: the library was not found. Set "
        f"{VARIABLE} to its path, run `make build` in the checkout, or install it. Tried:\n  "
        + "\n  ".join(tried)
    )


def candidates() -> Iterator[tuple[str, str]]:
    """The files of 1 to 3, each with where it comes from."""
    named = os.environ.get(VARIABLE)
    if named:
        yield VARIABLE, named
    package = os.path.dirname(os.path.realpath(__file__))
    yield "in the package", os.path.join(package, "lib", FILE_NAME)
    if os.path.exists(os.path.join(checkout(), "include", "ferrum_mem.h")):
        yield "in the checkout", os.path.join(checkout(), "build", "lib", FILE_NAME)


def checkout() -> str:
    """Where a checkout is if the package lies in one."""
    # src/ferrum_mem, src, python, bindings: it is above them.
    package = os.path.dirname(os.path.realpath(__file__))
    return os.path.normpath(os.path.join(package, *[os.pardir] * 4))


def _bind(name: str) -> _abi.Functions:
    library = ctypes.CDLL(name)
    try:
        functions = _abi.Functions(library)
    except AttributeError as problem:
        raise LibraryLoadError(
            f"ferrum_mem: {name} is no libferrum_mem or an older one: {problem}", path=name
        ) from problem
    found = functions.ferrum_abi_version()
    if found < _abi.FERRUM_ABI_VERSION:
        raise LibraryLoadError(
            f"ferrum_mem: {name} has ABI version {found}, this package needs at least "
            f"{_abi.FERRUM_ABI_VERSION}",
            path=name,
        )
    return functions
