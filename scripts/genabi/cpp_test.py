"""Writes tests/c/test_cpp_calls.cpp: every generated C++ call, in both of its forms."""

from __future__ import annotations

from .clang_format import formatted
from .cpp_calls import Argument, Call, calls_of
from .model import Header

# Classes that are templates.
CLASSES = {"generic_pool": "generic_pool<int>"}

HEAD = """\
// Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
//
// The tests make every generated call in both of its forms. One form returns a failure, and
// the other form throws the same failure. The object has no handle, so each call on the
// object fails.
#include <gtest/gtest.h>

#include <type_traits>

#include "ferrum_mem.hpp"

namespace {

template <class Returned, class Thrown>
ferrum_status both(const char *call, Returned returned, Thrown thrown) {
    const ferrum_status status = returned().status();
    ferrum_status caught = FERRUM_OK;
    try {
        thrown();
    } catch (const ferrum::error &why) {
        caught = why.status();
    }
    EXPECT_EQ(status, caught) << call;
    return status;
}

#define BOTH(scope, ...) \\
    both(#__VA_ARGS__, [&] { return scope try_##__VA_ARGS__; }, \\
         [&] { (void)(scope __VA_ARGS__); })
#define REFUSED(...) EXPECT_NE(BOTH(object., __VA_ARGS__), FERRUM_OK) << #__VA_ARGS__

template <class Class, template <class> class Calls>
constexpr bool has = std::is_base_of_v<Calls<Class>, Class>;

"""


def emit(header: Header) -> str:
    """Returns the text of test_cpp_calls.cpp."""
    calls = calls_of(header)
    kinds = sorted({call.kind for call in calls if call.kind})
    parts = [HEAD]
    for kind in kinds:
        parts.append(_kind(kind, [call for call in calls if call.kind == kind]))
    lines = "".join(f"BOTH(ferrum::, {_use(call)});\n" for call in calls if not call.kind)
    parts.append(f"TEST(CppCalls, test_functions) {{\n    ferrum::library started;\n{lines}}}\n\n")
    parts.append("} // namespace\n")
    return formatted("".join(parts), "generated.cpp")


def _kind(kind: str, calls: list[Call]) -> str:
    name = f"ferrum::{CLASSES.get(kind, kind)}"
    text = f"static_assert(has<{name}, ferrum::{kind}_calls>);\n"
    text += f"TEST(CppCalls, test_{kind}) {{\n    ferrum::library started;\n    {name} object;\n"
    for call in calls:
        if call.is_static:
            text += f"BOTH(object., {_use(call)});\n"
        else:
            text += f"REFUSED({_use(call)});\n"
            if any(argument.element for argument in call.arguments):
                text += f"REFUSED({_use(call, as_vector=True)});\n"
    return text + "}\n\n"


def _use(call: Call, as_vector: bool = False) -> str:
    """Returns the call with some value for every argument."""
    values: list[str] = []
    arguments = list(call.arguments)
    while arguments:
        argument = arguments.pop(0)
        if argument.element and as_vector:
            arguments.pop(0)
            values.append(f"std::vector<{argument.element}>(1)")
        else:
            values.append(_value(argument))
    return f"{call.name}({', '.join(values)})"


def _value(argument: Argument) -> str:
    type_ = argument.declared.removesuffix(argument.name).strip()
    if type_.endswith("*"):
        return "nullptr"
    if type_ in ("detail::c_text", "std::string_view"):
        return '"none"'
    if type_.endswith("&"):
        return f"{type_.removeprefix('const ').removesuffix('&').strip()}{{}}"
    return f"{type_}{{}}"
