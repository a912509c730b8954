"""Writes include/ferrum_mem/calls/*.hpp: the calls of the C ABI for C++17.

Each function that returns a status has two forms: `name(...)` throws, and `try_name(...)` returns
a result. Functions of a handle are members of a mixin for its class, with one file for each. The
others are functions of the namespace. cpp_calls.py defines the calls; this file writes their
text.
"""

from __future__ import annotations

import textwrap

from .clang_format import formatted
from .cpp_calls import Call, Output, calls_of
from .model import Header

WIDTH = 80
FOLDER = "include/ferrum_mem/calls"

HEAD = """\
/*
 * Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
 *
 * {what}
 * Each comes in two forms: `name(...)` throws ferrum::error, `try_name(...)` returns
 * a ferrum::result. ferrum_mem.h documents the C function that each of them calls, with
 * its errors and its threads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_CALLS_{guard}_HPP
#define FERRUM_MEM_CALLS_{guard}_HPP

{includes}
namespace ferrum {{

"""

TAIL = """\

}} // namespace ferrum

#endif /* FERRUM_MEM_CALLS_{guard}_HPP */
"""


def emit(header: Header) -> dict[str, str]:
    """Returns the files with their texts: one for each kind of handle, and functions.hpp."""
    calls = calls_of(header)
    kinds = sorted({call.kind for call in calls})
    return {
        f"{FOLDER}/{kind or 'functions'}.hpp": _file(kind, [c for c in calls if c.kind == kind])
        for kind in kinds
    }


def _file(kind: str, calls: list[Call]) -> str:
    guard = (kind or "functions").upper()
    made = {
        output.type.removeprefix("ferrum_")
        for call in calls
        for output in call.outputs
        if output.form in ("owned", "view")
    }
    passed = " ".join(word for call in calls for word in call.passed)
    helpers = {"texts"} if "detail::c_texts(" in passed else set()
    helpers |= {"release" for call in calls if call.released}
    includes = [f"../{name}.hpp" for name in sorted(made - {kind})]
    includes += [f"../{name}.hpp" for name in sorted({"result", *helpers})]
    what = f"The calls of a ferrum_{kind}." if kind else "The calls that need no handle."
    head = HEAD.format(
        what=what, guard=guard, includes="".join(f'#include "{name}"\n' for name in includes)
    )
    body = _mixin(kind, calls) if kind else "\n".join(_free(call) for call in calls)
    return formatted(head + body + TAIL.format(guard=guard))


def _free(call: Call) -> str:
    return _doc(call, "") + "".join(f"inline {form}\n" for form in _forms(call))


def _mixin(kind: str, calls: list[Call]) -> str:
    members = []
    for call in calls:
        prefix = "static " if call.is_static else ""
        members.append(_doc(call, "    ") + "".join(f"{prefix}{form}\n" for form in _forms(call)))
    return (
        f"/** The calls of a ferrum_{kind}, for a class `Self` that inherits them and has\n"
        " *  `get()`. */\n"
        f"template <class Self> class {kind}_calls {{\n  public:\n"
        + "\n".join(members)
        + f"\n  private:\n    ferrum_{kind} handle() const noexcept {{\n"
        "        return static_cast<const Self &>(*this).get();\n    }\n};\n"
    )


def _forms(call: Call) -> list[str]:
    """Returns the definitions of a call, with a result and with an exception. A call with a list
    has both forms twice.
    """
    const = "" if call.is_static or not call.kind else " const"
    declared = _declared([(a.declared, a.default) for a in call.arguments])
    forms = [
        f"{_result(call)} try_{call.name}({declared}){const} {{\n{_body(call)}}}",
        _thrown(call, declared, [a.name for a in call.arguments], const),
    ]
    if any(argument.element for argument in call.arguments):
        forms += _list_forms(call, const)
    return forms


def _declared(arguments: list[tuple[str, str]]) -> str:
    """Returns the parameters. A default is possible only if all later parameters have one."""
    texts: list[str] = []
    is_open = True
    for text, default in reversed(arguments):
        is_open = is_open and default != ""
        texts.insert(0, f"{text} = {default}" if is_open else text)
    return ", ".join(texts)


def _thrown(call: Call, declared: str, names: list[str], const: str) -> str:
    type_ = _type(call) if call.outputs else "void"
    give = "return " if call.outputs else ""
    return (
        f"{type_} {call.name}({declared}){const} {{\n"
        f"{give}try_{call.name}({', '.join(names)}).value();\n}}"
    )


def _list_forms(call: Call, const: str) -> list[str]:
    """Returns the forms that take a std::vector for an address and a count."""
    declared: list[tuple[str, str]] = []
    passed: list[str] = []
    names: list[str] = []
    listed = ""
    for argument in call.arguments:
        if listed:  # the count of the list before
            passed.append(f"{listed}.size()")
            listed = ""
            continue
        names.append(argument.name)
        if argument.element:
            listed = argument.name
            declared.append((f"const std::vector<{argument.element}> &{listed}", ""))
            passed.append(f"detail::items({listed})")
        else:
            declared.append((argument.declared, argument.default))
            passed.append(argument.name)
    text = _declared(declared)
    return [
        f"{_result(call)} try_{call.name}({text}){const} {{\n"
        f"return try_{call.name}({', '.join(passed)});\n}}",
        _thrown(call, text, names, const),
    ]


def _result(call: Call) -> str:
    """Returns the result type. In a class with a call `result` that name has another meaning."""
    scope = "ferrum::" if call.hides_result else ""
    return f"{scope}result<{_type(call)}>"


def _type(call: Call) -> str:
    types = [_output_type(output, call) for output in call.outputs]
    if not types:
        return "done"
    return types[0] if len(types) == 1 else f"std::pair<{types[0]}, {types[1]}>"


def _output_type(output: Output, call: Call) -> str:
    if output.form == "text":
        return "std::string"
    if output.form == "list":
        return f"std::vector<{output.type}>"
    if output.form == "bool":
        return "bool"
    if output.form == "duration":
        return "std::chrono::nanoseconds"
    if output.form in ("owned", "view"):
        return "Self" if output.class_name == call.kind else output.class_name
    return output.type


def _body(call: Call) -> str:
    outputs = call.outputs
    if outputs and outputs[0].form in ("text", "list"):
        return _two_calls(call, outputs[0])
    invoked = f"{call.function.name}({', '.join(call.passed)})"
    if call.released:
        invoked = (
            f"detail::releasing({call.released}, [&](ferrum_release_fn call, void *data) {{\n"
            f"return {invoked};\n}})"
        )
    if not outputs:
        return f"return detail::outcome({invoked});\n"
    declared = "".join(f"{output.type} {output.name}{_start(output)};\n" for output in outputs)
    values = [_value(output) for output in outputs]
    returned = _returned(call, values)
    return f"{declared}const ferrum_status status = {invoked};\n{returned}"


def _start(output: Output) -> str:
    if output.init:
        return f" = {output.init}"
    return "{}" if output.form in ("owned", "view", "struct") else " = 0"


def _value(output: Output) -> str:
    if output.form == "bool":
        return f"{output.name} != 0"
    if output.form == "duration":
        return f"std::chrono::nanoseconds({output.name})"
    return output.name


def _returned(call: Call, values: list[str]) -> str:
    if not any(output.form in ("owned", "view") for output in call.outputs):
        value = values[0] if len(values) == 1 else f"std::make_pair({', '.join(values)})"
        return f"return detail::outcome(status, {value});\n"
    return f"return detail::made<{_type(call)}>(status, {', '.join(values)});\n"


def _two_calls(call: Call, output: Output) -> str:
    if output.form == "text":
        head, to = "detail::text(", "char *to"
    else:
        init = output.init or f"{output.type}{{}}"
        head, to = f"detail::list<{output.type}>({init}, ", f"{output.type} *to"
    passed = ", ".join(call.passed)
    if passed == "to, room, found" and output.form == "text":
        return f"return detail::text({call.function.name});\n"
    return (
        f"return {head}[&]({to}, std::size_t room, std::size_t *found) {{\n"
        f"return {call.function.name}({passed});\n}});\n"
    )


def _doc(call: Call, indent: str) -> str:
    """Returns the first paragraph of the function's description."""
    text = " ".join(call.function.doc.split("\n@")[0].split("\n\n")[0].split())
    if text.endswith(":"):
        text = f"{text[:-1]}."
    if len(call.outputs) == 2:
        names = " and ".join(output.name.removesuffix("_out") for output in call.outputs)
        text += f" The pair holds {names}."
    width = WIDTH - len(indent) - 3
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    if len(lines) == 1 and len(indent) + len(lines[0]) + 7 <= WIDTH:
        return f"{indent}/** {lines[0]} */\n"
    body = "".join(f"{indent} * {line}\n" for line in lines)
    return f"{indent}/**\n{body}{indent} */\n"
