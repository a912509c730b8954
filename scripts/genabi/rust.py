"""Writes ferrum-mem-sys's bindings.rs: the C ABI as Rust declarations.

The text has the form of rustfmt, so that no rustfmt is needed here.
"""

from __future__ import annotations

from .model import (
    Array,
    Callback,
    Constant,
    CType,
    Function,
    Header,
    Initial,
    Named,
    Parameter,
    Pointer,
    Scalar,
    Sizeof,
    Struct,
)

WIDTH = 100
# rustfmt breaks a struct literal with longer contents.
SHORT_LITERAL = 18

# Names of the header that are Rust keywords.
KEYWORDS = {"fn", "impl", "in", "loop", "match", "move", "mut", "ref", "type", "use", "where"}
# Arrays have a default up to this length.
DEFAULT_ARRAY = 32

SCALARS = {
    "int8_t": "i8",
    "uint8_t": "u8",
    "int16_t": "i16",
    "uint16_t": "u16",
    "int32_t": "i32",
    "uint32_t": "u32",
    "int64_t": "i64",
    "uint64_t": "u64",
    "size_t": "usize",
    "float": "f32",
    "double": "f64",
    "char": "c_char",
    "void": "c_void",
}

HEAD = """\
// Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.

#![allow(non_camel_case_types)]

use core::ffi::{c_char, c_void};
use core::mem::{align_of, offset_of, size_of};
"""


def emit(header: Header) -> str:
    """Returns the text of bindings.rs."""
    parts = [HEAD]
    for alias in header.aliases:
        parts.append("\n" + _doc(alias.doc, "") + f"pub type {alias.name} = {_type(alias.type)};\n")
    parts.append("\n")
    for status in header.statuses:
        parts.append(f"/// {_escape(status.text)}\n")
        parts.append(f"pub const {status.name}: ferrum_status = {status.value};\n")
    parts.append("\n")
    parts += [_constant(constant) for constant in header.constants]
    parts += [_callback(callback) for callback in header.callbacks]
    structs = {struct.name: struct for struct in header.structs}
    parts += [_struct(struct, structs) for struct in header.structs]
    parts.append("\n// The layouts are those of the header's compiler.\nconst _: () = {\n")
    parts += [_layout(struct) for struct in header.structs]
    parts.append('};\n\nextern "C" {\n')
    parts.append("\n".join(_function(function) for function in header.functions))
    parts.append("}\n")
    return "".join(parts)


def _constant(constant: Constant) -> str:
    if constant.alias:
        type_ = constant.alias
    else:
        # A plain C int that is not negative is a count or a version.
        type_ = "u32" if constant.type.name == "int32_t" else SCALARS[constant.type.name]
    value = "u64::MAX" if constant.value == 2**64 - 1 else _grouped(constant.value)
    return _doc(constant.doc, "") + f"pub const {constant.name}: {type_} = {value};\n"


def _grouped(value: int) -> str:
    return f"{value:_}" if value > 99_999 else str(value)


def _callback(callback: Callback) -> str:
    head = f"pub type {callback.name} ="
    parameters = [_parameter(p) for p in callback.parameters]
    result = _result(callback.result)
    text = "\n" + _doc(callback.doc, "")
    body = f'Option<unsafe extern "C" fn({", ".join(parameters)}){result}>;'
    if len(head) + 1 + len(body) <= WIDTH:
        return f"{text}{head} {body}\n"
    if 4 + len(body) <= WIDTH:
        return f"{text}{head}\n    {body}\n"
    inner = f'    unsafe extern "C" fn({", ".join(parameters)}){result},\n'
    if len(inner) > WIDTH + 1:
        lines = "".join(f"        {parameter},\n" for parameter in parameters)
        inner = f'    unsafe extern "C" fn(\n{lines}    ){result},\n'
    return f"{text}{head} Option<\n{inner}>;\n"


def _struct(struct: Struct, structs: dict[str, Struct]) -> str:
    is_handle = [field.name for field in struct.fields] == ["id"]
    derives = ["Clone", "Copy", "Debug"]
    if is_handle:
        derives += ["Default", "PartialEq", "Eq", "Hash"]
    elif not struct.initial:
        derives += ["PartialEq"] if _long(struct) else ["Default", "PartialEq"]
        # Equality of floating-point numbers is not reflexive.
        if not any(_type(field.type) in ("f32", "f64") for field in struct.fields):
            derives.append("Eq")
    text = "\n" + _doc(struct.doc, "")
    text += f"#[repr(C)]\n#[derive({', '.join(derives)})]\npub struct {struct.name} {{\n"
    for field in struct.fields:
        text += _doc(field.doc, "    ") + f"    pub {_name(field.name)}: {_type(field.type)},\n"
    text += "}\n"
    if not struct.initial and _long(struct):
        text += f"\nimpl Default for {struct.name} {{\n    fn default() -> Self {{\n"
        text += "        // SAFETY: all of it is numbers, for which zeros are values.\n"
        text += "        unsafe { core::mem::zeroed() }\n    }\n}\n"
    if struct.initial:
        macro = f"{struct.name.upper()}_INIT"
        text += f"\nimpl {struct.name} {{\n    /// The values of `{macro}`.\n"
        text += "    pub const INIT: Self = Self {\n"
        for field, value in zip(struct.fields, struct.initial, strict=True):
            text += f"        {_name(field.name)}: {_initial(field.type, value, structs)},\n"
        text += "    };\n}\n"
        text += f"\nimpl Default for {struct.name} {{\n    fn default() -> Self {{\n"
        text += "        Self::INIT\n    }\n}\n"
    return text


def _long(struct: Struct) -> bool:
    """Returns whether the struct has an array that is too long for a default."""
    arrays = [field.type for field in struct.fields if isinstance(field.type, Array)]
    return any(array.length > DEFAULT_ARRAY for array in arrays)


def _initial(type_: CType, value: Initial, structs: dict[str, Struct]) -> str:
    if isinstance(value, Sizeof):
        return f"size_of::<{value.struct}>() as u32"
    if value is None:
        return _null(type_)
    if isinstance(type_, Array):
        if not isinstance(value, tuple) or any(value):
            raise ValueError("only zeros can fill an array")
        zero = _null(type_.element) if isinstance(type_.element, Pointer) else "0"
        return f"[{zero}; {type_.length}]"
    if isinstance(value, tuple):
        if any(value) or not isinstance(type_, Named):
            raise ValueError("a struct inside a struct starts as zeros")
        zeros = [f"{field.name}: 0" for field in structs[type_.name].fields]
        if len(", ".join(zeros)) <= SHORT_LITERAL:
            return f"{type_.name} {{ {', '.join(zeros)} }}"
        lines = "".join(f"            {zero},\n" for zero in zeros)
        return f"{type_.name} {{\n{lines}        }}"
    if isinstance(type_, Scalar) and type_.name in {"float", "double"}:
        return repr(float(value))
    return _grouped(int(value))


def _null(type_: CType) -> str:
    if isinstance(type_, Named) and type_.kind == "callback":
        return "None"
    if not isinstance(type_, Pointer):
        raise ValueError(f"NULL for {type_}")
    return "core::ptr::null()" if type_.is_const else "core::ptr::null_mut()"


def _layout(struct: Struct) -> str:
    lines = [
        f"    assert!(size_of::<{struct.name}>() == {struct.size_bytes});\n",
        f"    assert!(align_of::<{struct.name}>() == {struct.alignment_bytes});\n",
    ]
    lines += [
        f"    assert!(offset_of!({struct.name}, {_name(field.name)}) == {field.offset_bytes});\n"
        for field in struct.fields
    ]
    return "".join(lines)


def _function(function: Function) -> str:
    parameters = [_parameter(p) for p in function.parameters]
    result = _result(function.result)
    line = f"    pub fn {function.name}({', '.join(parameters)}){result};\n"
    if len(line) > WIDTH + 1:
        lines = "".join(f"        {parameter},\n" for parameter in parameters)
        line = f"    pub fn {function.name}(\n{lines}    ){result};\n"
    return _doc(function.doc, "    ") + line


def _parameter(parameter: Parameter) -> str:
    return f"{_name(parameter.name)}: {_type(parameter.type)}"


def _name(name: str) -> str:
    return f"r#{name}" if name in KEYWORDS else name


def _result(type_: CType) -> str:
    return "" if type_ == Scalar("void") else f" -> {_type(type_)}"


def _type(type_: CType) -> str:
    if isinstance(type_, Scalar):
        return SCALARS[type_.name]
    if isinstance(type_, Named):
        return type_.name
    if isinstance(type_, Array):
        return f"[{_type(type_.element)}; {type_.length}]"
    return f"*{'const' if type_.is_const else 'mut'} {_type(type_.target)}"


def _escape(line: str) -> str:
    """Escapes brackets and stars of the text, so that rustdoc does not read them as markup."""
    for mark in ("[", "]", "<", ">", "*"):
        line = line.replace(mark, f"\\{mark}")
    return line


def _doc(doc: str, indent: str) -> str:
    """Returns the comment as rustdoc: parameters as a list, JSON as a block of text."""
    lines: list[str] = []
    is_code = is_item = False
    for line in doc.splitlines():
        if line.startswith("  {") and not is_code and not is_item:
            is_code = True
            lines.append("```text")
        elif is_code and not line:
            is_code = False
            lines.append("```")
        if is_code:
            lines.append(line)
        elif line.startswith("@param"):
            names, _, rest = line.removeprefix("@param").strip().partition(" ")
            lines.append(f"- `{names}`: {_escape(rest.strip())}")
            is_item = True
        elif line.startswith("@return"):
            if lines and lines[-1]:
                lines.append("")
            lines.append(_escape("Returns" + line.removeprefix("@return")))
            is_item = False
        else:
            lines.append(f"{'  ' if is_item else ''}{_escape(line.strip())}")
    if is_code:
        lines.append("```")
    return "".join(f"{indent}/// {line}".rstrip() + "\n" for line in lines)
