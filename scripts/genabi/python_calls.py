"""Writes the Python package's _calls.py: the simple methods of each kind of handle.

Simple is a method that takes numbers, lists of texts or what is called when it lets go of
something, or a time to wait, and gives nothing, a number, a
truth, a value of an enumeration or a record. The classes of the package inherit them.
"""

from __future__ import annotations

import re

from .model import Header, Struct
from .python_names import NUMBERS, Names, camel, docstring, formatted, type_name
from .shapes import Argument, Role, Shape, shapes_of

HEAD = '''\
# Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
"""The simple methods of objects of the library, by kind; their classes inherit them."""

from __future__ import annotations

'''

CODERS = {"int32_t": "i32", "uint32_t": "u32", "uint64_t": "u64", "ferrum_address": "u64"}
# What a method that waits for nothing can take.
INPUTS = {Role.NUMBER, Role.TEXTS, Role.RELEASE}
CELLS = {"ferrum_address": "c_uint64", "float": "c_float", "double": "c_double"}
SECONDS = "seconds; None waits without an end, 0 only asks."
SLICES = "In the main thread a long wait is done in slices, so that Ctrl-C ends it."


def emit(header: Header) -> str:
    """The text of _calls.py."""
    names = Names(header)
    kinds: dict[str, list[Shape]] = {}
    for shape in shapes_of(header):
        if is_simple(names, shape):
            kinds.setdefault(shape.kind, []).append(shape)
    body = "".join(_class(names, kind, shapes) for kind, shapes in kinds.items())
    return formatted(HEAD + _imports(names, body) + body)


def is_simple(names: Names, shape: Shape) -> bool:
    """Whether a function is a method that is generated."""
    if shape.receiver is None or not shape.can_fail or shape.function.by_hand("python"):
        return False
    inputs = [a.role for a in shape.inputs]
    return (
        shape.function.tag("ends") is None
        and (inputs == [Role.WAIT] or all(role in INPUTS for role in inputs))
        and len(shape.outputs) <= 1
        and all(_is_plain(names, a) for a in shape.outputs)
    )


def _is_plain(names: Names, output: Argument) -> bool:
    if output.role is Role.STRUCT:
        return not _struct(names, output).by_hand("python")
    return output.role in {Role.NUMBER, Role.TRUTH, Role.ENUMERATION}


def _struct(names: Names, argument: Argument) -> Struct:
    return next(s for s in names.header.structs if s.name == argument.type_name)


def _imports(names: Names, body: str) -> str:
    text = "import ctypes\n\nfrom . import _abi, _native\n"
    enumerations = list(names.enumerations.values())
    for module, by_hand in (("_enums", False), ("_enums_by_hand", True)):
        used = sorted(
            e.name for e in enumerations if f"return {e.name}(" in body and e.is_by_hand is by_hand
        )
        text += f"from .{module} import {', '.join(used)}\n" if used else ""
    records = sorted(set(re.findall(r"return (\w+)\.from_abi\(", body)))
    text += "from ._owned import Resource\n"
    text += f"from ._records import {', '.join(records)}\n"
    coders = [name for name in ("i32", "u32", "u64") if f"{name}(" in body]
    text += f"from ._values import {', '.join(coders)}\n" if coders else ""
    text += "from ._release import releasing\n" if "releasing(" in body else ""
    text += "from ._texts import texts\n" if "*texts(" in body else ""
    typed = [name for name in ("Callable", "Iterable") if f": {name}[" in body]
    if typed:
        text = text.replace(
            "import ctypes\n", f"import ctypes\nfrom collections.abc import {', '.join(typed)}\n"
        )
    return text + "from ._waits import wait\n"


def _class(names: Names, kind: str, shapes: list[Shape]) -> str:
    text = f"\n\nclass {camel(kind)}Calls(Resource):\n"
    text += f'    """What {camel(kind)} inherits."""\n'
    return text + "".join(_method(names, shape) for shape in shapes)


def _method(names: Names, shape: Shape) -> str:
    name = shape.name.removeprefix("get_")
    function = shape.function.name
    doc = _doc(names, shape)
    if [a.role for a in shape.inputs] == [Role.WAIT]:
        text = f"\n    def {name}(self, timeout_s: float | None = None) -> None:\n{doc}"
        text += f"        handle, function = self._handle, _native.library().{function}\n"
        return text + "        wait(lambda timeout_ns: function(handle, timeout_ns), timeout_s)\n"
    defaults = {t.words[0]: t.words[1] for t in shape.function.tags if t.name == "default"}
    parameters, values = ["self"], ["self._handle"]
    for argument in shape.inputs:
        if argument.role is Role.TEXTS:
            parameters.append(f"{argument.name}: Iterable[str]")
            values.append(f'*texts("{argument.name}", {argument.name})')
            continue
        if argument.role is Role.RELEASE:
            parameters.append(f"{argument.name}: Callable[[], object]")
            values.append("*given")
            continue
        default = f" = {defaults[argument.name]}" if argument.name in defaults else ""
        parameters.append(f"{argument.name}: int{default}")
        values.append(f'{CODERS[argument.type_name]}("{argument.name}", {argument.name})')
    made, told, kind = "", "", "None"
    for output in shape.outputs:
        made, told, kind = _output(names, output)
        values.append("ctypes.byref(raw)")
    text = f"\n    def {name}({', '.join(parameters)}) -> {kind}:\n{doc}{made}"
    call = f"_native.library().{function}({', '.join(values)})"
    released = next((a.name for a in shape.inputs if a.role is Role.RELEASE), "")
    if released:
        call = f"releasing({released}, lambda *given: {call})"
    return text + f"        _native.check({call})\n{told}"


def _output(names: Names, output: Argument) -> tuple[str, str, str]:
    """What is made before the call, what is returned after it, and its type."""
    name = output.type_name
    if output.role is Role.STRUCT:
        kind = type_name(_struct(names, output))
        return (
            f"        raw = _abi.{name}.init()\n",
            f"        return {kind}.from_abi(raw)\n",
            kind,
        )
    cell = CELLS.get(name, f"c_{name.removesuffix('_t')}")
    if output.role is Role.ENUMERATION:
        kind = names.enumerations[name].name
        return f"        raw = _abi.{name}()\n", f"        return {kind}(raw.value)\n", kind
    made = f"        raw = ctypes.{cell}()\n"
    if output.role is Role.TRUTH:
        return made, "        return bool(raw.value)\n", "bool"
    kind = "float" if cell in {"c_float", "c_double"} else "int"
    return made, "        return raw.value\n", kind


def _doc(names: Names, shape: Shape) -> str:
    """The docstring, of the comment's text, its @param and its @return."""
    text, *parts = re.split(r"^@(?=param|return)", shape.function.doc, flags=re.MULTILINE)
    if any(a.role is Role.TRUTH for a in shape.outputs):
        text = NUMBERS.sub("", text)
    lines = {"Args": [], "Returns": [], "Raises": []}  # type: dict[str, list[str]]
    for part in parts:
        word, rest = part.split(None, 1)
        said = " ".join(rest.split())
        if word == "param":
            parameter, said = said.split(None, 1)
            if parameter.endswith("_out"):
                lines["Returns"].append(_sentence(names.text(said)))
            elif parameter == "timeout_ns":
                lines["Args"].append(f"timeout_s: {SECONDS}")
            else:
                lines["Args"].append(f"{parameter}: {names.text(said)}")
        else:
            lines["Raises"] += _raises(names, said)
    if any(a.role is Role.WAIT for a in shape.inputs):
        text = f"{text.strip()}\n\n{SLICES}"
    made = docstring(names.text(text.strip()), "        ").rstrip()
    sections = ""
    for title, entries in lines.items():
        if entries:
            filled = docstring("x", "        ", [("", entry) for entry in entries])
            body = filled.split("Attributes:\n", 1)[1].rsplit('\n        """', 1)[0]
            sections += f"\n\n        {title}:\n" + body.replace("            : ", "            ")
    if not sections:
        return made + "\n"
    return made.removesuffix('"""').rstrip() + sections + '\n        """\n'


def _raises(names: Names, said: str) -> list[str]:
    entries = []
    for chunk in re.split(r"; (?=FERRUM_ERROR_)", said):
        found = re.match(r"((?:FERRUM_ERROR_\w+(?:, | or )?)+)[:,]? ?(.*)", chunk)
        if found is None:
            return [names.text(said)]
        errors = ", ".join(names.text(e) for e in re.findall(r"FERRUM_ERROR_\w+", found.group(1)))
        entries.append(f"{errors}: {names.text(found.group(2)) or 'it is so.'}")
    return entries


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


__all__ = ["emit", "is_simple"]
