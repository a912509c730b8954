"""Writes capi/*_gen.c: the public functions, as checks before and after a call into Go.

The checks are in capi/guard.h and guest.h. Their order is fixed: the gate, outputs that are NULL
(outputs are zeroed at once), inputs that are NULL, structs of the caller, whether the call may
wait here, and whether the runtime could get its memory. A function that needs more is tagged
`@by-hand c` and is hand-written in a file beside these.
"""

from __future__ import annotations

from .clang_format import formatted
from .model import CType, Header, Named, Parameter, Pointer
from .shapes import Argument, Role, Shape, ShapeError, shapes_of

CALLBACKS = {Role.CALLBACK, Role.RELEASE}

HEAD = """\
/* Generated from include/ferrum_mem/{family}.h by scripts/genabi.py; do not edit. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"

"""


def emit(header: Header, family: str) -> str:
    """Returns the text of the file with the functions of one family, or "" if it has none."""
    found = [
        shape
        for shape in shapes_of(header)
        if shape.function.family == family and not shape.function.by_hand("c")
    ]
    if not found:
        return ""
    return formatted(HEAD.format(family=family) + "\n".join(_function(shape) for shape in found))


def _function(shape: Shape) -> str:
    function = shape.function
    if not shape.can_fail:
        raise ShapeError(f"{function.name}: returns no status, and is not tagged @by-hand c")
    parameters = ", ".join(_declared(p) for p in function.parameters) or "void"
    lines = ["FM_ENTER();"]
    plain = [a for a in shape.outputs if a.role is not Role.STRUCT]
    structs = [a for a in shape.outputs if a.role is Role.STRUCT]
    # An output that may be the same struct as an input is zeroed after the input was read.
    read = {a.type_name for a in shape.inputs if a.role is Role.STRUCT}
    shared = [a for a in structs if a.type_name in read and not a.is_optional]
    for argument in plain + structs:
        lines += _output(argument)[:1] if argument in shared else _output(argument)
    lines += [f"FM_REQUIRE({p.name});" for a in shape.inputs for p in _required(a)]
    for argument in shape.inputs:
        lines += _read(argument)
    lines += [_zeroed(argument, argument.parameters[0].name) for argument in shared]
    if shape.waits:
        lines.append("FM_NOT_IN_HOST_FUNCTION();")
    if shape.opens:
        lines.append("FM_LOOK();")
    lines += _call(shape)
    return f"ferrum_status {function.name}({parameters}) {{\n" + "\n".join(lines) + "\n}\n"


# Before the call


def _output(argument: Argument) -> list[str]:
    """Returns the checks of an output, and its zeroing."""
    first = argument.parameters[0].name
    if argument.role is Role.TEXT:
        return [f"FM_TEXT_OUT({', '.join(p.name for p in argument.parameters)});"]
    if argument.role is Role.ARRAY:
        count = argument.parameters[2].name
        capacity = argument.parameters[1].name
        return [
            f"FM_REQUIRE({count});",
            f"*{count} = 0;",
            f"if ({capacity} > 0)",
            f"FM_REQUIRE({first});",
        ]
    if argument.role is Role.BYTES:
        return [f"FM_REQUIRE({first});"]
    if argument.role is Role.BATCH:
        # The core rejects any other count.
        return [
            f"FM_REQUIRE({first});",
            "if (count <= FERRUM_BATCH_MAX)",
            f"memset({first}, 0, count * sizeof(*{first}));",
        ]
    zeroed = _zeroed(argument, first)
    if argument.is_optional:
        return [f"if ({first} != NULL)", zeroed]
    return [f"FM_REQUIRE({first});", zeroed]


def _zeroed(argument: Argument, name: str) -> str:
    if argument.role is Role.STRUCT:
        return f"FM_STRUCT_OUT({name});"
    if argument.role is Role.RECORD:
        return f"memset({name}, 0, sizeof(*{name}));"
    return f"{name}->id = 0;" if argument.role is Role.HANDLE else f"*{name} = 0;"


def _required(argument: Argument) -> list[Parameter]:
    """Returns the parameter of an input that must not be NULL, if there is one."""
    first = argument.parameters[0]
    is_pointer = isinstance(first.type, Pointer) or argument.role in CALLBACKS
    return [first] if is_pointer and not argument.is_optional else []


def _read(argument: Argument) -> list[str]:
    """Returns the code that reads a struct of the caller into a local one."""
    name = argument.name
    if argument.role is Role.RECORD:
        if argument.is_optional:
            raise ShapeError(f"{name}: a record that may be NULL has no default")
        return [f"{argument.type_name} {name}_full = *{name};"]
    if argument.role is not Role.STRUCT:
        return []
    lines = [f"{_initialised(argument)};"]
    if argument.is_optional:
        lines.append(f"if ({name} != NULL)")
    return [*lines, f"FM_STRUCT_IN({name}, {name}_full);"]


def _initialised(argument: Argument) -> str:
    init = argument.type_name.upper() + "_INIT"
    return f"{argument.type_name} {argument.name}_full = {init}"


# The call and the code after it


def _call(shape: Shape) -> list[str]:
    handed = [_handed(argument) for argument in shape.arguments]
    call = f"fmgo_{shape.function.name.removeprefix('ferrum_')}({', '.join(handed)})"
    structs = [a for a in shape.outputs if a.role is Role.STRUCT]
    lines = [f"{_initialised(a)};" for a in structs]
    optional = [a for a in shape.outputs if a.is_optional]
    for argument in optional:
        if argument.role is Role.RECORD:
            lines += [
                f"{argument.type_name} {argument.name}_full;",
                f"memset(&{argument.name}_full, 0, sizeof({argument.name}_full));",
            ]
        elif argument.role is Role.HANDLE:
            lines.append(f"{argument.type_name} {argument.name}_full = {{0}};")
        elif argument.role is not Role.STRUCT:
            lines.append(f"{argument.type_name} {argument.name}_full = 0;")
    if not structs and not optional:
        return [*lines, f"FM_RETURN({call});"]
    if len(structs) == 1 and not optional:
        (only,) = structs
        return [*lines, f"FM_RETURN_STRUCT({call}, {only.parameters[0].name}, {only.name}_full);"]
    lines += [
        f"ferrum_status status = {call};",
        "if (status != FERRUM_OK)",
        "return fm_failed_in(__func__, status);",
    ]
    for argument in dict.fromkeys([*structs, *optional]):
        lines += _given(argument)
    return [*lines, "return FERRUM_OK;"]


def _given(argument: Argument) -> list[str]:
    """Returns the code that copies what Go has filled to the caller."""
    to, full = argument.parameters[0].name, f"{argument.name}_full"
    given = f"*{to} = {full};"
    if argument.role is Role.STRUCT:
        given = f"fm_struct_give({to}, &{full}, sizeof {full});"
    return [f"if ({to} != NULL)", given] if argument.is_optional else [given]


def _handed(argument: Argument) -> str:
    """Returns the argument in the form that Go takes."""
    names = [p.name for p in argument.parameters]
    if argument.role in CALLBACKS:
        return f"{names[0]}, (uintptr_t){names[1]}"
    if argument.role is Role.TEXTS:
        return f"(char **){names[0]}, {names[1]}"
    if argument.role is Role.BYTES:
        is_text = argument.type_name == "char"
        return f"({'char *' if is_text else 'uintptr_t'}){names[0]}, {names[1]}"
    if len(names) > 1:
        return (
            ", ".join([f"({_spelled(argument.type)} *){names[0]}", *names[1:]])
            if (not argument.is_output)
            else ", ".join(names)
        )
    (name,) = names
    if argument.role is Role.STRUCT or argument.role is Role.RECORD:
        is_direct = argument.is_output and argument.role is Role.RECORD
        return name if is_direct and not argument.is_optional else f"&{argument.name}_full"
    if argument.is_output:
        if argument.is_optional:
            return f"&{argument.name}_full" + (".id" if argument.role is Role.HANDLE else "")
        return f"&{name}->id" if argument.role is Role.HANDLE else name
    if argument.role is Role.TEXT:
        return f"(char *){name}"
    return f"{name}.id" if argument.role is Role.HANDLE else name


def _declared(parameter: Parameter) -> str:
    return f"{_spelled(parameter.type)} {parameter.name}"


def _spelled(written: CType) -> str:
    if isinstance(written, Pointer):
        if isinstance(written.target, Pointer):
            return f"{_spelled(written.target)}{'const ' if written.is_const else ''}*"
        return f"{'const ' if written.is_const else ''}{_spelled(written.target)} *"
    if isinstance(written, Named) or hasattr(written, "name"):
        return written.name
    raise ShapeError(f"{written} is not a type of a parameter")
