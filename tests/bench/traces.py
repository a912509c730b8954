"""The recorded workloads, and where their files are."""

from __future__ import annotations

import os
import pathlib
from dataclasses import dataclass

from harness import ROOT, NotHereError


@dataclass(frozen=True)
class Trace:
    """A recorded workload."""

    name: str
    title: str
    file: str


AZURE = Trace("azure", "Azure code 2023", "azure_llm_code_2023.csv")
MOONCAKE = Trace("mooncake", "Mooncake synthetic", "mooncake_synthetic_fast25.jsonl")
MINIMALLOC = tuple(
    Trace(f"minimalloc_{letter}", f"minimalloc {letter}", f"minimalloc_{letter}.csv")
    for letter in "ABCDEF"
)


def trace_file(trace: Trace) -> pathlib.Path:
    """The file of a trace. One is part of the project; the others are in a folder beside it."""
    elsewhere = os.environ.get("FERRUM_TRACES_DIR") or ROOT.parent / "shared" / "traces"
    for folder in (ROOT / "examples" / "traces", pathlib.Path(elsewhere)):
        if (folder / trace.file).is_file():
            return folder / trace.file
    raise NotHereError(
        f"{trace.file} is not there; FERRUM_TRACES_DIR names the folder with further traces"
    )
