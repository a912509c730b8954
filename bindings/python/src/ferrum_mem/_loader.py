"""Finds and loads libferrum_mem, once per process.

The first of these that exists:

1. the file that the environment variable FERRUM_MEM_LIBRARY names;
2. the library inside this package, as in a wheel;
3. build/lib of the source checkout that contains this package;
4. the libferrum_mem.so.0 that the system's loader finds.

If a file of 1 to 3 exists and cannot be loaded, that is an error, and no later place is
tried. The library is never unloaded.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator

from . import _abi

FILE_NAME = f"libferrum_mem.so.{_abi.FERRUM_VERSION_MAJOR}"
VARIABLE = "FERRUM_MEM_LIBRARY"


class LibraryLoadError(ImportError):
    """libferrum_mem cannot be loaded. The message names the places that were tried."""


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
    """The files of 1 to 3, each with its origin."""
    named = os.environ.get(VARIABLE)
    if named:
        yield VARIABLE, named
    package = os.path.dirname(os.path.realpath(__file__))
    yield "in the package", os.path.join(package, "lib", FILE_NAME)
    if os.path.exists(os.path.join(checkout(), "include", "ferrum_mem.h")):
        yield "in the checkout", os.path.join(checkout(), "build", "lib", FILE_NAME)


def checkout() -> str:
    """The folder of the checkout, if the package is in one."""
    # The package is in bindings/python/src/ferrum_mem of the checkout.
    package = os.path.dirname(os.path.realpath(__file__))
    return os.path.normpath(os.path.join(package, *[os.pardir] * 4))


def _bind(name: str) -> _abi.Functions:
    library = ctypes.CDLL(name)
    try:
        functions = _abi.Functions(library)
    except AttributeError as problem:
        raise LibraryLoadError(
            f"ferrum_mem: {name} is not libferrum_mem, or is an older version: {problem}", path=name
        ) from problem
    found = functions.ferrum_abi_version()
    if found < _abi.FERRUM_ABI_VERSION:
        raise LibraryLoadError(
            f"ferrum_mem: {name} has ABI version {found}, this package needs at least "
            f"{_abi.FERRUM_ABI_VERSION}",
            path=name,
        )
    return functions
