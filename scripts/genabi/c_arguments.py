"""Writes tests/c/arguments_*_gen.c, from which tests/c/test_arguments.c creates bad arguments.

Each function of the header is a row with its parameters. Each struct that a caller fills is a row
with its fields. The cases and their checks are hand-written in the program, once for all rows.
"""

from __future__ import annotations

from .clang_format import formatted
from .model import CType, Field, Header, Named, Parameter, Pointer, Scalar, Struct
from .shapes import Argument, Role, Shape, ShapeError, handle_kinds, shapes_of

HEAD = "/* Generated from include/ferrum_mem{path}.h by scripts/genabi.py; do not edit. */\n"

CALLBACKS = {Role.CALLBACK, Role.RELEASE}

# The role of a parameter whose argument is an input of this kind.
INPUTS = {
    Role.NUMBER: "VALUE",
    Role.TRUTH: "TRUTH",
    Role.FORCE: "FLAGS",
    Role.FLAGS: "FLAGS",
    Role.ENUMERATION: "ENUMERATION",
    Role.WAIT: "VALUE",
    Role.DURATION: "VALUE",
    Role.HANDLE: "HANDLE",
    Role.TEXT: "TEXT",
    Role.STRUCT: "STRUCT_IN",
    Role.RECORD: "STRUCT_IN",
}


def emit_families(header: Header) -> str:
    """Returns the text of the list of families that have such a file."""
    families = sorted({s.function.family for s in shapes_of(header) if s.can_fail})
    rows = "".join(f" \\\n    X({family})" for family in families)
    # clang-format formats such a list differently each time.
    return (
        HEAD.format(path="")
        + "#ifndef FERRUM_TESTS_ARGUMENTS_GEN_H\n#define FERRUM_TESTS_ARGUMENTS_GEN_H\n\n"
        + f"/* clang-format off */\n#define ARGUMENTS_FAMILIES(X){rows}\n/* clang-format on */\n"
        + "\n#endif\n"
    )


def emit(header: Header, family: str) -> str:
    """Returns the text of the file with the functions of one family, or "" if none can fail."""
    shapes = [s for s in shapes_of(header) if s.function.family == family and s.can_fail]
    return formatted(_Writer(header, family, shapes).text(), "arguments.c") if shapes else ""


class _Writer:
    def __init__(self, header: Header, family: str, shapes: list[Shape]) -> None:
        self.header = header
        self.family = family
        self.shapes = shapes
        self.structs = {struct.name: struct for struct in header.structs}
        self.kinds = handle_kinds(header)
        self.values: dict[str, list[int]] = {}
        for constant in header.constants:
            if constant.alias:
                self.values.setdefault(constant.alias, []).append(constant.value)

    def text(self) -> str:
        arguments = [a for shape in self.shapes for a in shape.arguments]
        # Fields of a struct that is only an output are not checked.
        given = {
            a.type_name: any(b.type == a.type and not b.is_output for b in arguments)
            for a in arguments
            if a.role is Role.STRUCT or (a.role is Role.RECORD and not a.is_output)
        }
        callbacks = {a.type_name: None for a in arguments if a.role in CALLBACKS}
        parts = [
            HEAD.format(path=f"/{self.family}") + '#include "arguments.h"\n',
            *(self._callback(name) for name in callbacks),
            *(self._struct(self.structs[name], is_read) for name, is_read in given.items()),
            *(self._function(shape) for shape in self.shapes),
            self._table(),
        ]
        return "\n".join(parts)

    # Targets of pointer arguments

    def _callback(self, name: str) -> str:
        """Returns a function that does nothing, for a parameter that is a callback."""
        found = next(c for c in self.header.callbacks if c.name == name)
        result = _spelled(found.result)
        parameters = ", ".join(f"{_spelled(p.type)} {p.name}" for p in found.parameters)
        unused = "".join(f"(void){p.name};\n" for p in found.parameters)
        end = "" if result == "void" else "return 0;\n"
        return f"static {result} nothing_{name}({parameters}) {{\n{unused}{end}}}\n"

    def _struct(self, struct: Struct, is_read: bool) -> str:
        name = struct.name
        is_versioned = struct.fields[0].name == "struct_size"
        fields = struct.fields if is_read else ()
        rows = [row for field in fields if (row := self._field(struct, field))]
        lines = []
        if rows:
            lines.append(f"static const struct_field fields_{name}[] = {{{', '.join(rows)}}};")
        if is_versioned:
            lines.append(f"static const {name} init_{name} = {name.upper()}_INIT;")
        table = f"fields_{name}, {len(rows)}" if rows else "NULL, 0"
        init = f"&init_{name}" if is_versioned else "NULL"
        lines.append(
            f"static const struct_type type_{name} = {{sizeof({name}), {init}, {table}}};\n"
        )
        return "\n".join(lines)

    def _field(self, struct: Struct, field: Field) -> str:
        """Returns what can be wrong with a field, or "" if the role already says it."""
        role = self._field_role(field)
        return f"FIELD({struct.name}, {field.name}, {role})" if role else ""

    def _field_role(self, field: Field) -> str:
        if field.name == "struct_size":
            return ""
        if field.name == "reserved":
            return "RESERVED"
        if isinstance(field.type, Named) and field.type.kind == "struct":
            kind = field.type.name.removeprefix("ferrum_")
            return f"HANDLE, {self._handle(kind, field)}" if kind in self.kinds else ""
        if isinstance(field.type, Named) and field.type.name in self.values:
            return f"ENUMERATION, {self._unknown(field.type.name)}"
        if isinstance(field.type, Named) and field.type.kind == "callback":
            return ""
        if isinstance(field.type, Pointer) and field.type.is_const:
            return "TEXT" if field.type.target == Scalar("char") else "LIST"
        if not isinstance(field.type, (Scalar, Named)) or field.type.name in {"float", "double"}:
            return ""
        if field.tag("bool"):
            return "TRUTH"
        return "FLAGS" if field.tag("flags") or field.name == "flags" else "VALUE"

    def _handle(self, kind: str, field: Field) -> str:
        optional = ", .is_optional = 1" if field.tag("optional") else ""
        return f".kind = {kind.upper()}{optional}"

    def _unknown(self, alias: str) -> str:
        """Returns two invalid values of an enumeration."""
        values = self.values.get(alias) or [s.value for s in self.header.statuses]
        return f".unknown = {{{min(values) - 1}, {max(values) + 1}}}"

    # Functions

    def _function(self, shape: Shape) -> str:
        function = shape.function
        name = function.name.removeprefix("ferrum_")
        rows: list[str] = []
        handed: list[str] = []
        for argument in shape.arguments:
            roles = self._roles(argument)
            for parameter, row in zip(argument.parameters, roles, strict=True):
                handed.append(_handed(parameter, len(rows)))
                rows.append(f"PARAMETER({parameter.name}, {row})")
        unused = "" if rows else "(void)a; "
        lines = [
            f"static ferrum_status call_{name}(const argument *a) {{",
            f"{unused}return {function.name}({', '.join(handed)}); }}",
        ]
        if rows:
            lines.append(f"static const parameter parameters_{name}[] = {{{', '.join(rows)}}};")
        return "\n".join(lines) + "\n"

    def _roles(self, argument: Argument) -> list[str]:
        """Returns the role of each parameter of an argument."""
        optional = ", .is_optional = 1" if argument.is_optional else ""
        size = f".size = sizeof({_spelled(argument.type)})" if argument.type != VOID else ""
        if argument.role in CALLBACKS:
            name = argument.type_name
            return [f"CALLBACK, .nothing = (any_function)nothing_{name}{optional}", "DATA"]
        if argument.role is Role.BYTES:
            return [f"BYTES{optional}", "VALUE"]
        if argument.role is Role.BATCH:
            return [f"OUT, {size}"]
        if argument.role is Role.ARRAY and not argument.is_output:
            return [f"ARRAY, {size}", "VALUE"]
        if argument.role is Role.PLACES:
            return ["PLACES", "CAPACITY"]
        if argument.role is Role.TEXTS:
            return ["TEXTS", "VALUE"]
        if argument.role is Role.ARRAY or (argument.role is Role.TEXT and argument.is_output):
            role = "PLACES" if argument.role is Role.ARRAY else "BUFFER"
            return [role, "CAPACITY", "OUT, .size = sizeof(size_t)"]
        if argument.role is Role.STRUCT and argument.is_output:
            return [f"STRUCT_OUT, .type = &type_{argument.type_name}{optional}"]
        if argument.is_output:
            return [f"OUT, {size}{optional}"]
        return [f"{INPUTS[argument.role]}{self._detail(argument)}{optional}"]

    def _detail(self, argument: Argument) -> str:
        if argument.role is Role.HANDLE:
            return f", .kind = {argument.type_name.removeprefix('ferrum_').upper()}"
        if argument.role is Role.ENUMERATION:
            return f", {self._unknown(argument.type_name)}"
        if argument.role in {Role.STRUCT, Role.RECORD}:
            return f", .type = &type_{argument.type_name}"
        return ""

    def _table(self) -> str:
        rows = []
        for shape in self.shapes:
            name = shape.function.name.removeprefix("ferrum_")
            count = len(shape.function.parameters)
            parameters = f".parameters = parameters_{name}, .count = {count}" if count else ""
            flags = "".join(
                f", .{field} = 1"
                for field, is_set in (
                    ("waits", shape.waits),
                    ("is_stateless", shape.function.tag("stateless") is not None),
                    ("is_always", shape.function.tag("always") is not None),
                )
                if is_set
            )
            rows.append(f"FUNCTION({name}, {parameters}{flags})")
        return (
            f"const function arguments_{self.family}[] = {{{', '.join(rows)}, {{.name = NULL}}}};\n"
        )


VOID = Scalar("void")


def _handed(parameter: Parameter, index: int) -> str:
    """Returns the argument in the form that the function takes."""
    at = f"a[{index}]"
    written = parameter.type
    if isinstance(written, Pointer):
        return f"{at}.pointer"
    if isinstance(written, Named) and written.kind == "struct":
        return f"({written.name}){{{at}.number}}"
    if isinstance(written, Named) and written.kind == "callback":
        return f"({written.name}){at}.function"
    if isinstance(written, Scalar) and written.name in {"float", "double"}:
        return f"{at}.real"
    return f"({_spelled(written)}){at}.number"


def _spelled(written: CType) -> str:
    if isinstance(written, Pointer):
        return f"{'const ' if written.is_const else ''}{_spelled(written.target)} *"
    if isinstance(written, (Named, Scalar)):
        return written.name
    raise ShapeError(f"{written} is not a type of a parameter")
