#!/usr/bin/env python3
"""Compiles the sources of the kernels to the PTX files that are checked in.

    scripts/kernels.py            write the PTX files
    scripts/kernels.py --check    exit 1 and name the PTX files that are stale

Each drivers/cuda/kernels/NAME.cu gives a NAME.ptx. The compiler is NVRTC and the assembler is
nvJitLink. Both come from the vendor's wheels (scripts/requirements-kernels.txt), so neither a
toolkit nor a GPU is needed. The text is the output of NVRTC without comments. The script sets its
PTX version to the one that the oldest supported driver accepts. The assembler then checks, for
each generation of devices, that the text is valid at this version. If the wheels are not
installed, the script prints that, writes nothing and exits with 77.
"""

from __future__ import annotations

import argparse
import ctypes
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
KERNELS = ROOT / "drivers" / "cuda" / "kernels"
PACKAGES = "lib/python3*/site-packages/nvidia"

# PTX_VERSION is the newest version that the CUDA 11.2 driver accepts. OLDEST is the oldest
# compute capability that NVRTC 12.9 compiles for.
PTX_VERSION = "7.2"
OLDEST = "50"
# Compute capabilities for which the text is assembled, at least one of each generation.
ASSEMBLED = ["50", "60", "70", "75", "80", "86", "89", "90", "100", "120"]
PTX_INPUT = 2
SKIPPED = 77


class KernelError(Exception):
    """A kernel does not compile or assemble. The text is the vendor's log."""


def main() -> int:
    """Writes or checks the PTX files and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="exit 1 if a kernel is stale, write nothing"
    )
    arguments = parser.parse_args()
    compiler, assembler = (
        find("cuda_nvrtc/lib/libnvrtc.so.12"),
        find("nvjitlink/lib/libnvJitLink.so.12"),
    )
    if compiler is None or assembler is None:
        print("NVRTC or nvJitLink (scripts/requirements-kernels.txt) is not there")
        return SKIPPED
    try:
        texts = {
            source.with_suffix(".ptx"): ptx(compiler, source) for source in KERNELS.glob("*.cu")
        }
        for path, text in texts.items():
            assemble(assembler, path.name, text)
    except KernelError as problem:
        print(f"kernels: {problem}", file=sys.stderr)
        return 2
    stale = [path for path, text in texts.items() if not path.exists() or path.read_text() != text]
    orphans = [path for path in KERNELS.glob("*.ptx") if path not in texts]
    for path in stale:
        if arguments.check:
            print(f"kernels: {path.relative_to(ROOT)} is stale: make generate", file=sys.stderr)
        else:
            path.write_text(texts[path], encoding="utf-8")
            print(f"kernels: wrote {path.relative_to(ROOT)}")
    for path in orphans:
        print(f"kernels: {path.relative_to(ROOT)} has no source", file=sys.stderr)
    return 1 if orphans or (stale and arguments.check) else 0


def find(library: str) -> ctypes.CDLL | None:
    """Loads a library of the wheels. Returns None if the wheel is not installed."""
    for path in (ROOT / "build" / "venv").glob(f"{PACKAGES}/{library}"):
        return ctypes.CDLL(str(path))
    return None


def options(*texts: str) -> Any:
    """Builds a C array of strings."""
    return (ctypes.c_char_p * len(texts))(*(text.encode() for text in texts))


def ptx(nvrtc: ctypes.CDLL, source: Path) -> str:
    """Compiles a kernel and returns the text that is checked in."""
    program = ctypes.c_void_p()
    refused(
        nvrtc.nvrtcCreateProgram(
            ctypes.byref(program), source.read_bytes(), source.name.encode(), 0, None, None
        ),
        f"nvrtcCreateProgram of {source.name}",
    )
    flags = options(f"--gpu-architecture=compute_{OLDEST}", "--std=c++11")
    status = nvrtc.nvrtcCompileProgram(program, len(flags), flags)
    if status != 0:
        raise KernelError(f"{source.name}: {read(nvrtc, 'nvrtcGetProgramLog', program)}")
    text = read(nvrtc, "nvrtcGetPTX", program)
    refused(nvrtc.nvrtcDestroyProgram(ctypes.byref(program)), "nvrtcDestroyProgram")
    return normal(source.name, text)


def normal(source: str, text: str) -> str:
    """Removes comments and blank lines from NVRTC's text and sets its PTX version."""
    text = re.sub(r"//[^\n]*", "", text)
    text, versions = re.subn(r"(?m)^\.version .*$", f".version {PTX_VERSION}", text)
    if versions != 1:
        raise KernelError(f"{source}: NVRTC's text has {versions} versions")
    lines = [line.rstrip() for line in text.splitlines()]
    head = f"// Code generated from {source} by scripts/kernels.py; DO NOT EDIT."
    return "\n".join([head, *(line for line in lines if line)]) + "\n"


def read(nvrtc: ctypes.CDLL, function: str, program: ctypes.c_void_p) -> str:
    """Reads a string from NVRTC: first its size, then its contents."""
    size = ctypes.c_size_t()
    refused(getattr(nvrtc, f"{function}Size")(program, ctypes.byref(size)), f"{function}Size")
    buffer = ctypes.create_string_buffer(size.value)
    refused(getattr(nvrtc, function)(program, buffer), function)
    return buffer.value.decode()


def assemble(linker: ctypes.CDLL, name: str, text: str) -> None:
    """Raises KernelError if the assembler rejects the text for one of the compute capabilities."""
    image = text.encode()
    for capability in ASSEMBLED:
        handle = ctypes.c_void_p()
        flags = options(f"-arch=sm_{capability}")
        refused(
            linker.__nvJitLinkCreate_12_9(ctypes.byref(handle), ctypes.c_uint32(len(flags)), flags),
            f"nvJitLinkCreate for sm_{capability}",
        )
        status = linker.__nvJitLinkAddData_12_9(
            handle, PTX_INPUT, image, ctypes.c_size_t(len(image)), name.encode()
        )
        if status != 0:
            size = ctypes.c_size_t()
            linker.__nvJitLinkGetErrorLogSize_12_9(handle, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value + 1)
            linker.__nvJitLinkGetErrorLog_12_9(handle, log)
            raise KernelError(f"{name} for sm_{capability}: {log.value.decode()}")
        linker.__nvJitLinkDestroy_12_9(ctypes.byref(handle))


def refused(status: int, what: str) -> None:
    """Raises KernelError if a call returned a status other than success."""
    if status != 0:
        raise KernelError(f"{what} gave {status}")


if __name__ == "__main__":
    sys.exit(main())
