"""No function of the header is missing in the bindings without a decision."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from genabi import python_calls, rust_calls
from genabi.header import read_header
from genabi.model import Header
from genabi.shapes import ShapeError

from .header import ROOT, header_with

BINDINGS = ROOT / "bindings"
EMITTERS = {"python": python_calls.emit, "rust": rust_calls.emit}
# The code that calls the library, and declarations that do not call it.
SOURCES = {
    "python": (BINDINGS / "python" / "src" / "ferrum_mem", "*.py", {"_abi.py"}),
    "rust": (BINDINGS / "rust" / "ferrum-mem" / "src", "*.rs", {"enums.rs", "records.rs"}),
}
# Functions that a binding does not call.
UNUSED = {
    # Frames of an interpreter.
    "rust": {"ferrum_call_site_set_callback", "ferrum_backend_name"},
    "python": set(),
}


@pytest.mark.parametrize("layer", EMITTERS)
@pytest.mark.parametrize(
    "declaration",
    [
        "const ferrum_item *items, uint64_t count, ferrum_item *items_out, size_t capacity, "
        "size_t *count_out, uint64_t *left_out",
        "void *bytes_out, uint64_t size_bytes",
    ],
)
def test_a_method_without_a_form_needs_a_tag(tmp_path: Path, layer: str, declaration: str) -> None:
    emit: Callable[[Header], str] = EMITTERS[layer]
    method = f"ferrum_status ferrum_box_mix(ferrum_box box, {declaration})"
    with pytest.raises(ShapeError, match=f"ferrum_box_mix: .*tag it @by-hand {layer}"):
        emit(header_with(tmp_path, method))
    assert "ferrum_box_mix" not in emit(
        header_with(tmp_path, method, "@by-hand python,rust it mixes")
    )


@pytest.mark.parametrize("layer", SOURCES)
def test_a_binding_calls_every_function(layer: str) -> None:
    folder, kind, declarations = SOURCES[layer]
    files = [file for file in folder.rglob(kind) if file.name not in declarations]
    used = set(re.findall(r"\bferrum_\w+", "".join(file.read_text("utf-8") for file in files)))
    functions = {f.name for f in read_header(ROOT / "include" / "ferrum_mem.h").functions}
    assert functions - used == UNUSED[layer]
