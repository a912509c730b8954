"""Writes core/device/codes_gen.go: the status codes as Go constants."""

from __future__ import annotations

from .model import Header

# Words that Go's naming rules keep in capitals.
INITIALISMS = {"OK", "IO"}

HEAD = """\
// Code generated from include/ferrum_mem.h; DO NOT EDIT.

package device

// Code is the kind of an error: a status of the C ABI.
type Code int32

// The codes of the status table in include/ferrum_mem.h.
const (
"""


def emit(header: Header) -> str:
    """Returns the text of codes_gen.go."""
    names = {status.name: _go_name(status.name) for status in header.statuses}
    name_width = max(len(name) for name in names.values())
    value_width = max(len(str(status.value)) for status in header.statuses)
    lines = [
        f"\t{names[s.name]:<{name_width}} Code = {s.value!s:<{value_width}} // {s.text}\n"
        for s in header.statuses
    ]
    cases = [f'\tcase {names[s.name]}:\n\t\treturn "{s.name}"\n' for s in header.statuses]
    return (
        HEAD
        + "".join(lines)
        + ")\n\n// String is the public name of the status, such as FERRUM_ERROR_BUSY.\n"
        + "func (c Code) String() string {\n\tswitch c {\n"
        + "".join(cases)
        + '\t}\n\treturn "FERRUM_ERROR_UNKNOWN"\n}\n'
    )


def _go_name(name: str) -> str:
    words = name.removeprefix("FERRUM_").removeprefix("ERROR_").split("_")
    return "Code" + "".join(w if w in INITIALISMS else w.capitalize() for w in words)
