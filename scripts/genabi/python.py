"""Writes the Python package's _abi.py: constants, and tables of structs and functions.

ctypes objects are created from the tables on first use, because a program uses few of them. Type
checkers read the stub beside it, which python_stub.py writes.
"""

from __future__ import annotations

import textwrap

from .model import Array, CType, Header, Initial, Named, Pointer, Scalar, Sizeof, Struct
from .python_names import formatted

WIDTH = 100

SCALARS = {
    "int8_t": "c_int8",
    "uint8_t": "c_uint8",
    "int16_t": "c_int16",
    "uint16_t": "c_uint16",
    "int32_t": "c_int32",
    "uint32_t": "c_uint32",
    "int64_t": "c_int64",
    "uint64_t": "c_uint64",
    "size_t": "c_size_t",
    "float": "c_float",
    "double": "c_double",
    "char": "c_char",
}

HEAD = '''\
# Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
"""The C ABI as ctypes sees it: constants, structs, callbacks and functions.

A struct and the types of a function are made when they are asked for first; _abi.pyi
shows them all. Nothing in here is for users of the package, and nothing in here loads
the library: see _loader for that.
"""

from __future__ import annotations

import ctypes
from collections import namedtuple

Status = namedtuple("Status", ("name", "value", "text"))

'''

TAIL = '''\


def __getattr__(name):
    if name in STRUCTS:
        made = _struct(name)
    elif name in CALLBACKS:
        made = ctypes.CFUNCTYPE(*map(_type, CALLBACKS[name]))
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Another thread may have made it meanwhile, and instances of that one.
    return globals().setdefault(name, made)


def _struct(name):
    """Raises ImportError if it is not laid out as the header's compiler does."""
    size, alignment, fields = STRUCTS[name]
    kinds = [(field, _type(kind)) for field, kind, _ in fields]
    body = {"__module__": __name__, "_fields_": kinds}
    if name in INITIAL:
        body["init"] = classmethod(_init)
    made = type(name, (ctypes.Structure,), body)
    is_right = all(getattr(made, field).offset == offset for field, _, offset in fields)
    if not is_right or (ctypes.sizeof(made), ctypes.alignment(made)) != (size, alignment):
        raise ImportError(f"ferrum_mem: the layout of {name} differs from the library's")
    return made


def _init(struct):
    self = struct()
    for field, value in INITIAL[struct.__name__].items():
        setattr(self, field, value)
    return self


def _type(text):
    """The type of ctypes for one of C."""
    if text in _KINDS:
        return _KINDS[text]
    if text.endswith(" *"):
        return ctypes.POINTER(_type(text.removesuffix(" *")))
    if text.endswith("]"):
        element, length = text.removesuffix("]").split("[")
        return _type(element) * int(length)
    return globals().get(text) or __getattr__(text)


class Functions:
    def __init__(self, library):
        for name in PROTOTYPES:
            getattr(library, name)
        self._library = library

    def __getattr__(self, name):
        if name not in PROTOTYPES:
            raise AttributeError(f"the library has no function {name}")
        result, *parameters = PROTOTYPES[name]
        function = self._library[name]
        function.restype = _type(result)
        function.argtypes = [_type(parameter) for parameter in parameters]
        setattr(self, name, function)
        return function

    def without_conversions(self, function):
        bare = self._library[function.__name__]
        bare.restype = function.restype
        return bare
'''


def emit(header: Header) -> str:
    """Returns the text of _abi.py."""
    parts = [HEAD, _statuses(header), constants(header), _kinds()]
    parts += [_structs(header), _initials(header), _callbacks(header), _prototypes(header)]
    return formatted("".join(parts) + TAIL)


def _statuses(header: Header) -> str:
    text = "# Status codes\n\n"
    text += "".join(f"{s.name} = {s.value}\n" for s in header.statuses)
    text += "\nSTATUSES = (\n"
    for status in header.statuses:
        text += f'    Status("{status.name}", {status.value}, "{status.text}"),\n'
    return text + ")\n\n"


def constants(header: Header) -> str:
    """Returns the names of types, and the constants with their values."""
    text = "# Types\n\n"
    for alias in header.aliases:
        assert isinstance(alias.type, Scalar)
        text += comment(alias.doc, "") + f"{alias.name} = ctypes.{SCALARS[alias.type.name]}\n"
    text += "\n# Constants\n\n"
    for constant in header.constants:
        text += comment(constant.doc, "")
        value = hex(constant.value) if constant.value > 0xFFFF else str(constant.value)
        text += f"{constant.name} = {value.upper().replace('0X', '0x')}\n"
    return text


def _kinds() -> str:
    text = "\n# A text is one of the caller; a buffer to be filled is passed as one, too.\n"
    text += '_KINDS = {"void": None, "void *": ctypes.c_void_p, "char *": ctypes.c_char_p,\n'
    return text + "".join(f'"{name}": ctypes.{kind},\n' for name, kind in SCALARS.items()) + "}\n"


def _structs(header: Header) -> str:
    text = "\n# Size and alignment of each struct, and type and offset of each field, as the\n"
    text += "# header's compiler lays them out.\nSTRUCTS = {\n"
    for struct in header.structs:
        text += f'"{struct.name}": ({struct.size_bytes}, {struct.alignment_bytes}, (\n'
        for field in struct.fields:
            text += f'("{field.name}", "{_kind(field.type)}", {field.offset_bytes}),\n'
        text += ")),\n"
    return text + "}\n"


def _initials(header: Header) -> str:
    text = "\n# The fields that are not zero in a struct with the values of its FERRUM_*_INIT.\n"
    text += "INITIAL = {\n"
    for struct in header.structs:
        if struct.initial:
            pairs = zip(struct.fields, struct.initial, strict=True)
            values = {field.name: _value(struct, value) for field, value in pairs}
            said = ", ".join(f'"{name}": {value!r}' for name, value in values.items() if value)
            text += f'"{struct.name}": {{{said}}},\n'
    return text + "}\n"


def _value(struct: Struct, value: Initial) -> int | float | None:
    """Returns a value of a struct that is not 0. ctypes zeroes a new struct."""
    if isinstance(value, Sizeof):
        if value.struct != struct.name:
            raise ValueError(f"{struct.name}: struct_size is that of {value.struct}")
        return struct.size_bytes
    if isinstance(value, tuple):
        if any(value):
            raise ValueError(f"{struct.name}: only zeros can fill an array")
        return None
    return value


def _callbacks(header: Header) -> str:
    text = "\n# Result and parameters of each callback.\nCALLBACKS = {\n"
    for callback in header.callbacks:
        text += _row(callback.name, [callback.result, *(p.type for p in callback.parameters)])
    return text + "}\n"


def _prototypes(header: Header) -> str:
    text = "\n# Result and parameters of each function.\nPROTOTYPES = {\n"
    for function in header.functions:
        text += _row(function.name, [function.result, *(p.type for p in function.parameters)])
    return text + "}\n"


def _row(name: str, types: list[CType]) -> str:
    return f'"{name}": (' + "".join(f'"{_kind(type_)}", ' for type_ in types) + "),\n"


def _kind(type_: CType) -> str:
    """Returns a type in C spelling, without const."""
    if isinstance(type_, Array):
        return f"{_kind(type_.element)}[{type_.length}]"
    if isinstance(type_, Pointer):
        return f"{_kind(type_.target)} *"
    assert isinstance(type_, Scalar | Named)
    return type_.name


def comment(doc: str, indent: str) -> str:
    """Returns a comment's text as a wrapped comment."""
    if not doc:
        return ""
    lines: list[str] = []
    for paragraph in doc.split("\n\n"):
        if lines:
            lines.append("#")
        lines += textwrap.wrap(
            " ".join(paragraph.split()),
            WIDTH - len(indent),
            initial_indent="# ",
            subsequent_indent="# ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    return "".join(f"{indent}{line}\n" for line in lines)
