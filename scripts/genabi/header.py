"""Reads include/ferrum_mem.h with libclang into the model.

The header's own two includes come from memory, so that the result does not depend on the machine.
Values of macros come from clang too: a second parse puts each expression into an enumerator and
reads the number.
"""

from __future__ import annotations

import re
from pathlib import Path

from clang.cindex import (  # type: ignore[import-untyped]
    Cursor,
    CursorKind,
    Diagnostic,
    Index,
    TranslationUnit,
    Type,
    TypeKind,
)

from .comments import comment_above, plain_text
from .model import (
    Alias,
    Array,
    Callback,
    Constant,
    CType,
    Field,
    Function,
    Header,
    Initial,
    Named,
    Parameter,
    Pointer,
    Scalar,
    Sizeof,
    Status,
    Struct,
    Tag,
)
from .tags import TagError, split_tags
from .text import DEFINED, families, whole_header

# A 64-bit Linux target. All targets of the library have the same struct layouts.
TARGET = "x86_64-unknown-linux-gnu"

SYSTEM_HEADERS = {
    "/genabi/stddef.h": "#pragma once\ntypedef __SIZE_TYPE__ size_t;\n#define NULL ((void *)0)\n",
    "/genabi/stdint.h": "#pragma once\n"
    + "".join(
        f"typedef __{sign}INT{bits}_TYPE__ {sign.lower()}int{bits}_t;\n"
        for bits in (8, 16, 32, 64)
        for sign in ("", "U")
    )
    + "#define UINT32_C(c) c##U\n#define UINT64_C(c) c##UL\n#define UINT64_MAX (~UINT64_C(0))\n",
}

INTEGERS = {f"{sign}int{bits}_t" for bits in (8, 16, 32, 64) for sign in ("", "u")} | {"size_t"}
FLOATS = {TypeKind.FLOAT: "float", TypeKind.DOUBLE: "double"}


class HeaderError(Exception):
    """The header contains something that the generator cannot convert."""


def read_header(path: Path) -> Header:
    """Reads the header. Raises HeaderError for what cannot be converted."""
    return _Reader(path, whole_header(path)).read()


class _Reader:
    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.lines = text.splitlines()
        self.text = text
        self.unit = self._parse(text)
        self.aliases: dict[str, Alias] = {}
        self.callbacks: dict[str, Callback] = {}
        self.structs: dict[str, Struct] = {}
        self.functions: list[Function] = []
        self.families = families(path)
        self.struct_families = families(path, DEFINED)
        self.macros: dict[str, Cursor] = {}

    def _parse(self, text: str) -> TranslationUnit:
        main = "/genabi/ferrum_mem.h"
        unit = Index.create().parse(
            main,
            args=["-x", "c", "-std=c11", "-target", TARGET, "-nostdinc", "-I/genabi"],
            unsaved_files=[*SYSTEM_HEADERS.items(), (main, text)],
            options=TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD,
        )
        for diagnostic in unit.diagnostics:
            if diagnostic.severity >= Diagnostic.Error:
                raise HeaderError(f"{self.path}:{diagnostic.location.line}: {diagnostic.spelling}")
        return unit

    def read(self) -> Header:
        main = self.unit.spelling
        own = [
            cursor
            for cursor in self.unit.cursor.get_children()
            if cursor.location.file is not None and cursor.location.file.name == main
        ]
        for cursor in own:
            if cursor.kind == CursorKind.MACRO_DEFINITION:
                self.macros[cursor.spelling] = cursor
        initials = self._initials()
        for cursor in own:
            if cursor.kind == CursorKind.TYPEDEF_DECL:
                self._read_typedef(cursor)
            elif cursor.kind == CursorKind.STRUCT_DECL:
                self._read_struct(cursor, initials.pop(cursor.spelling, ()))
            elif cursor.kind == CursorKind.FUNCTION_DECL:
                self._read_function(cursor)
        if initials:
            raise HeaderError(f"an INIT macro without a struct: {', '.join(initials)}")
        return Header(
            statuses=self._statuses(),
            constants=self._constants(),
            aliases=tuple(self.aliases.values()),
            structs=tuple(self.structs.values()),
            callbacks=tuple(self.callbacks.values()),
            functions=tuple(self.functions),
        )

    # Declarations

    def _read_typedef(self, cursor: Cursor) -> None:
        name = cursor.spelling
        target = cursor.underlying_typedef_type
        doc, tags = _comment(cursor)
        if target.get_canonical().kind == TypeKind.RECORD:
            return
        pointee = target.get_pointee()
        if (
            target.kind == TypeKind.POINTER
            and pointee.get_canonical().kind == TypeKind.FUNCTIONPROTO
        ):
            function_type = pointee.get_canonical()
            names = [
                child.spelling
                for child in cursor.get_children()
                if child.kind == CursorKind.PARM_DECL
            ]
            # The types as written, because the canonical types have lost their aliases.
            types = [
                child.type for child in cursor.get_children() if child.kind == CursorKind.PARM_DECL
            ]
            self.callbacks[name] = Callback(
                name,
                doc,
                self._type(_written_result(pointee, function_type)),
                tuple(Parameter(n, self._type(t)) for n, t in zip(names, types, strict=True)),
            )
            return
        scalar = self._type(target)
        if not isinstance(scalar, Scalar):
            raise HeaderError(f"typedef {name}: only integers can have an alias")
        self.aliases[name] = Alias(name, doc, scalar, tags)

    def _read_struct(self, cursor: Cursor, initial: tuple[Initial, ...]) -> None:
        name = cursor.spelling
        fields = []
        for child in cursor.type.get_fields():
            offset_bits = cursor.type.get_offset(child.spelling)
            if child.is_bitfield() or offset_bits % 8:
                raise HeaderError(f"struct {name}: {child.spelling} is a bit field")
            doc, tags = _comment(child)
            fields.append(
                Field(child.spelling, self._type(child.type), doc, offset_bits // 8, tags)
            )
        if initial and len(initial) != len(fields):
            raise HeaderError(
                f"struct {name}: {len(fields)} fields, {len(initial)} values in its INIT macro"
            )
        if not initial and fields[0].name == "struct_size":
            raise HeaderError(f"struct {name} has struct_size and no INIT macro")
        doc, tags = _comment(cursor)
        self.structs[name] = Struct(
            name,
            doc,
            tuple(fields),
            cursor.type.get_size(),
            cursor.type.get_align(),
            initial,
            tags,
            self.struct_families.get(name, ""),
        )

    def _read_function(self, cursor: Cursor) -> None:
        doc, tags = _comment(cursor)
        self.functions.append(
            Function(
                cursor.spelling,
                doc,
                self._type(cursor.result_type),
                tuple(
                    Parameter(argument.spelling, self._type(argument.type))
                    for argument in cursor.get_arguments()
                ),
                tags,
                self.families.get(cursor.spelling, ""),
            )
        )

    def _type(self, written: Type) -> CType:
        if written.kind == TypeKind.ELABORATED:
            return self._type(written.get_named_type())
        if written.kind == TypeKind.TYPEDEF:
            name = written.get_declaration().spelling
            if name in INTEGERS:
                return Scalar(name)
            if name in self.aliases:
                return Named(name, "alias")
            if name in self.callbacks:
                return Named(name, "callback")
            return self._type(written.get_declaration().underlying_typedef_type)
        if written.kind == TypeKind.RECORD:
            return Named(written.get_declaration().spelling, "struct")
        if written.kind == TypeKind.POINTER:
            pointee = written.get_pointee()
            return Pointer(self._type(pointee), pointee.is_const_qualified())
        if written.kind == TypeKind.CONSTANTARRAY:
            return Array(self._type(written.element_type), written.element_count)
        if written.kind in FLOATS:
            return Scalar(FLOATS[written.kind])
        if written.kind == TypeKind.CHAR_S:
            return Scalar("char")
        if written.kind == TypeKind.VOID:
            return Scalar("void")
        raise HeaderError(f"the type {written.spelling} ({written.kind}) is not of the C ABI")

    # Macros

    def _macro_text(self, name: str) -> str:
        tokens = list(self.macros[name].get_tokens())[1:]
        return " ".join(token.spelling for token in tokens)

    def _statuses(self) -> tuple[Status, ...]:
        body = self._macro_text("FERRUM_STATUS_TABLE")
        rows = re.findall(r'X \( (\w+) , (-? ?\d+) , "((?:[^"\\]|\\.)*)" \)', body)
        statuses = tuple(
            Status(name, int(value.replace(" ", "")), text) for name, value, text in rows
        )
        if len(statuses) != body.count("X (") or len({s.value for s in statuses}) != len(statuses):
            raise HeaderError("FERRUM_STATUS_TABLE has a row that cannot be read, or a value twice")
        return statuses

    def _constants(self) -> tuple[Constant, ...]:
        names = [
            name
            for name, cursor in self.macros.items()
            if name.startswith("FERRUM_")
            and not name.endswith("_INIT")
            and not self._is_function_like(cursor)
            and name not in {"FERRUM_API", "FERRUM_MEM_H"}
        ]
        values = self._evaluate(names)
        found = []
        for name in names:
            value, type_name = values[name]
            scalar = Scalar(type_name)
            line = self.macros[name].location.line
            doc = comment_above(self.lines, line)
            alias = self._alias_before(line) if type_name == "int32_t" else ""
            found.append(Constant(name, doc, value, scalar, alias))
        return tuple(found)

    def _is_function_like(self, cursor: Cursor) -> bool:
        tokens = list(cursor.get_tokens())
        return (
            len(tokens) > 1
            and tokens[1].spelling == "("
            and tokens[1].extent.start.offset == tokens[0].extent.end.offset
        )

    def _alias_before(self, line: int) -> str:
        """Returns the alias whose typedef is followed only by macros down to the line."""
        for text in reversed(self.lines[: line - 1]):
            found = re.fullmatch(r"typedef int32_t (\w+);", text)
            if found:
                return found.group(1)
            if text and not text.startswith(("#define ", "/**", " *")):
                return ""
        return ""

    def _initials(self) -> dict[str, tuple[Initial, ...]]:
        trees = {}
        expressions: list[str] = []
        for name in self.macros:
            if name.startswith("FERRUM_") and name.endswith("_INIT"):
                struct = name[: -len("_INIT")].lower()
                trees[struct] = _split_braces(self._macro_text(name))
                expressions += _integer_leaves(trees[struct])
        values = self._evaluate(expressions)
        return {struct: _initial_values(tree, values) for struct, tree in trees.items()}

    def _evaluate(self, expressions: list[str]) -> dict[str, tuple[int, str]]:
        """Returns the value and the C type of each integer expression, as clang computes them."""
        unique = list(dict.fromkeys(expressions))
        lines = []
        for number, expression in enumerate(unique):
            lines.append(f"enum {{ genabi_value_{number} = ({expression}) }};")
            lines.append(f"extern __typeof__({expression}) genabi_type_{number};")
        unit = self._parse(self.text + "\n" + "\n".join(lines) + "\n")
        found: dict[str, int] = {}
        types: dict[str, str] = {}
        spellings = {"int": "int32_t", "unsigned int": "uint32_t", "unsigned long": "uint64_t"}
        for cursor in unit.cursor.walk_preorder():
            if (
                cursor.spelling.startswith("genabi_value_")
                and cursor.kind == CursorKind.ENUM_CONSTANT_DECL
            ):
                found[cursor.spelling[len("genabi_value_") :]] = cursor.enum_value
            elif cursor.spelling.startswith("genabi_type_") and cursor.kind == CursorKind.VAR_DECL:
                spelling = cursor.type.get_canonical().spelling
                if spelling not in spellings:
                    raise HeaderError(f"a constant of type {spelling} is not of the C ABI")
                types[cursor.spelling[len("genabi_type_") :]] = spellings[spelling]
        return {
            expression: (found[str(number)], types[str(number)])
            for number, expression in enumerate(unique)
        }


def _comment(cursor: Cursor) -> tuple[str, tuple[Tag, ...]]:
    """Returns the comment of a declaration: its text and its tags."""
    try:
        return split_tags(plain_text(cursor.raw_comment))
    except TagError as problem:
        raise HeaderError(f"{cursor.spelling}: {problem}") from problem


def _written_result(pointee: Type, canonical: Type) -> Type:
    # A parenthesised function type hides its result. The canonical type has it.
    result = pointee.get_result()
    return result if result.kind != TypeKind.INVALID else canonical.get_result()


Tree = str | list["Tree"]


def _split_braces(text: str) -> list[Tree]:
    """Returns `{ a , { b , c } }` as ["a", ["b", "c"]]."""
    stack: list[list[Tree]] = [[]]
    leaf: list[str] = []
    depth = 0
    for token in text.split():
        depth += {"(": 1, ")": -1}.get(token, 0)
        if token == "{":
            stack.append([])
        elif token in {",", "}"} and depth == 0:
            if leaf:
                stack[-1].append(" ".join(leaf))
                leaf = []
            if token == "}":
                done = stack.pop()
                stack[-1].append(done)
        else:
            leaf.append(token)
    (tree,) = stack[0]
    if not isinstance(tree, list):
        raise HeaderError(f"an INIT macro without braces: {text}")
    return tree


SIZEOF = re.compile(r"FERRUM_SIZE_OF \( (\w+) \)")
FLOAT = re.compile(r"(\d+\.\d*)f?")


def _integer_leaves(tree: list[Tree]) -> list[str]:
    leaves: list[str] = []
    for entry in tree:
        if isinstance(entry, list):
            leaves += _integer_leaves(entry)
        elif entry != "NULL" and not SIZEOF.fullmatch(entry) and not FLOAT.fullmatch(entry):
            leaves.append(entry)
    return leaves


def _initial_values(tree: list[Tree], values: dict[str, tuple[int, str]]) -> tuple[Initial, ...]:
    result: list[Initial] = []
    for entry in tree:
        if isinstance(entry, list):
            result.append(_initial_values(entry, values))
        elif entry == "NULL":
            result.append(None)
        elif size := SIZEOF.fullmatch(entry):
            result.append(Sizeof(size.group(1)))
        elif number := FLOAT.fullmatch(entry):
            result.append(float(number.group(1)))
        else:
            result.append(values[entry][0])
    return tuple(result)
