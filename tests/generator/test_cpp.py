"""The C++ layer calls every function of the C headers."""

import re
import shutil
from pathlib import Path

from genabi.header import read_header

from .header import ROOT

# Code that programs must not name.
DETAIL = re.compile(r"^namespace detail \{$.*?^\} // namespace detail$", re.M | re.S)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)


def unreached(folder: Path) -> list[str]:
    """Returns the C functions that a C++ program can reach by no public name."""
    declared = {function.name for function in read_header(folder / "ferrum_mem.h").functions}
    for path in folder.rglob("*.hpp"):
        text = COMMENT.sub("", DETAIL.sub("", path.read_text()))
        declared -= set(re.findall(r"\bferrum_\w+(?=[(),])", text))
    return sorted(declared)


def test_every_function_is_reached() -> None:
    assert unreached(ROOT / "include") == []


def test_a_new_function_is_missed(tmp_path: Path) -> None:
    folder = shutil.copytree(ROOT / "include", tmp_path / "include")
    header = folder / "ferrum_mem" / "streams.h"
    place = "#ifdef __cplusplus\n}\n"
    new = "/** New. */\nFERRUM_API ferrum_status ferrum_stream_begin(ferrum_stream stream);\n"
    assert place in header.read_text()
    header.write_text(header.read_text().replace(place, new + place))
    layer = folder / "ferrum_mem" / "stream.hpp"
    end = "} // namespace detail\n"
    inner = "inline void begin(ferrum_stream s) { ferrum_stream_begin(s); }\n"
    assert end in layer.read_text()
    for hidden in (f"{inner}{end}", f"{end}/* ferrum_stream_begin(s) */\n"):
        text = layer.read_text()
        layer.write_text(text.replace(end, hidden))
        assert unreached(folder) == ["ferrum_stream_begin"]
        layer.write_text(text)
    layer.write_text(layer.read_text().replace(end, end + inner))
    assert unreached(folder) == []
