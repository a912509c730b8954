"""Files beside the Python code: headers, the library and the command.

A wheel has them inside the package. In a checkout they are in its own folders.
"""

from __future__ import annotations

import os

from . import _loader

_PACKAGE = os.path.dirname(os.path.realpath(__file__))


def get_include() -> str:
    """The folder of the C and C++ headers, for the option -I of a compiler."""
    folders = [os.path.join(_PACKAGE, "include"), os.path.join(_loader.checkout(), "include")]
    for folder in folders:
        if os.path.exists(os.path.join(folder, "ferrum_mem.h")):
            return folder
    raise FileNotFoundError(f"ferrum_mem: ferrum_mem.h is not in {' or '.join(folders)}")


def get_library() -> str:
    """The file of the C library that this package loads, for linking a program."""
    files = [path for _, path in _loader.candidates()]
    for file in files:
        if os.path.exists(file):
            return file
    raise FileNotFoundError(f"ferrum_mem: none of these files exists: {', '.join(files)}")


def command() -> str:
    """The file of the command ferrum-mem."""
    files = [
        os.path.join(_PACKAGE, "bin", "ferrum-mem"),
        os.path.join(_loader.checkout(), "build", "bin", "ferrum-mem"),
    ]
    for file in files:
        if os.path.exists(file):
            return file
    raise FileNotFoundError(f"the command was not found: neither {files[0]} nor {files[1]} exists")
