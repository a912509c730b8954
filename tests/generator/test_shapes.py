"""The declaration and the tags of a function define its shape."""

from pathlib import Path

import pytest
from genabi.header import read_header
from genabi.shapes import Role, Shape, ShapeError, handle_kinds, shapes_of

from .header import ROOT, header_with

Pairs = list[tuple[str, Role]]


def shape_of(tmp_path: Path, declaration: str, tags: str = "") -> Shape:
    """Returns the shape of the function that is added to the test header."""
    (shape,) = shapes_of(header_with(tmp_path, declaration, tags))
    return shape


def roles(shape: Shape) -> tuple[list[tuple[str, Role]], list[tuple[str, Role]]]:
    """Returns the names and roles of the inputs, and those of the outputs."""
    return [(a.name, a.role) for a in shape.inputs], [(a.name, a.role) for a in shape.outputs]


def test_a_function_is_a_method_of_the_longest_kind_that_begins_its_name(tmp_path: Path) -> None:
    shape = shape_of(
        tmp_path, "ferrum_status ferrum_box_stack_trim(ferrum_box_stack stack, uint64_t keep_bytes)"
    )
    assert (shape.kind, shape.name, shape.receiver and shape.receiver.name) == (
        "box_stack",
        "trim",
        "stack",
    )
    assert roles(shape) == ([("keep_bytes", Role.NUMBER)], [])


def test_a_function_that_makes_a_handle_has_no_receiver(tmp_path: Path) -> None:
    shape = shape_of(
        tmp_path,
        "ferrum_status ferrum_box_create(const ferrum_box_config *config, ferrum_box *box_out)",
        "@opens\n@optional config",
    )
    assert (shape.kind, shape.name, shape.receiver) == ("box", "create", None)
    assert roles(shape) == ([("config", Role.STRUCT)], [("box", Role.HANDLE)])
    assert shape.opens
    assert not shape.waits
    assert [a.is_optional for a in shape.arguments] == [True, False]


def test_a_function_of_a_struct_is_of_no_kind(tmp_path: Path) -> None:
    shape = shape_of(
        tmp_path, "ferrum_status ferrum_box_config_check(const ferrum_box_config *config)"
    )
    assert (shape.kind, shape.name) == ("", "box_config_check")


@pytest.mark.parametrize(
    ("parameters", "tags", "inputs", "outputs"),
    [
        ("uint32_t flags", "@waits", [("flags", Role.FORCE)], []),
        ("uint32_t flags", "@flags flags FERRUM_SIDE", [("flags", Role.FLAGS)], []),
        ("uint32_t on", "@bool on", [("on", Role.TRUTH)], []),
        ("uint32_t *on_out", "@bool on_out", [], [("on", Role.TRUTH)]),
        ("uint64_t timeout_ns", "", [("timeout_ns", Role.WAIT)], []),
        ("uint64_t max_age_ns", "", [("max_age_ns", Role.DURATION)], []),
        ("ferrum_side side", "", [("side", Role.ENUMERATION)], []),
        ("ferrum_address address", "", [("address", Role.NUMBER)], []),
        ("const char *name", "", [("name", Role.TEXT)], []),
        ("const ferrum_item *item", "", [("item", Role.RECORD)], []),
        (
            "const ferrum_item *items, uint64_t count, double *ratio_out",
            "",
            [("items", Role.ARRAY)],
            [("ratio", Role.NUMBER)],
        ),
        (
            "uint64_t count, ferrum_address *addresses_out",
            "@batch addresses_out",
            [("count", Role.NUMBER)],
            [("addresses", Role.BATCH)],
        ),
        (
            "ferrum_item *items_out, size_t capacity, size_t *count_out",
            "",
            [],
            [("items", Role.ARRAY)],
        ),
        ("char *buffer, size_t capacity, size_t *length_out", "", [], [("text", Role.TEXT)]),
        ("const void *source, uint64_t size_bytes", "", [("source", Role.BYTES)], []),
        ("void *destination_out, uint64_t size_bytes", "", [], [("destination", Role.BYTES)]),
        ("const char *config_text, size_t config_bytes", "", [("config_text", Role.BYTES)], []),
        ("ferrum_hear_fn hear, void *user_data", "", [("hear", Role.CALLBACK)], []),
        ("ferrum_release_fn release, void *user_data", "", [("release", Role.RELEASE)], []),
        ("const char *const *names, uint64_t count", "", [("names", Role.TEXTS)], []),
        ("ferrum_box_config *config_out", "", [], [("config", Role.STRUCT)]),
    ],
)
def test_parameters_have_roles(
    tmp_path: Path, parameters: str, tags: str, inputs: Pairs, outputs: Pairs
) -> None:
    shape = shape_of(tmp_path, f"ferrum_status ferrum_box_do(ferrum_box box, {parameters})", tags)
    assert roles(shape) == (inputs, outputs)


@pytest.mark.parametrize(
    ("parameters", "tags", "why"),
    [
        ("uint64_t *size", "", "ends with _out"),
        ("ferrum_hear_fn hear", "", "user_data"),
        ("const uint64_t *sizes", "", "not a text, struct or array"),
        ("const char *const *names", "", "not a text, struct or array"),
        ("const char **names, uint64_t count", "", "ends with _out"),
        ("ferrum_release_fn release", "", "user_data"),
        ("uint64_t size", "@optional other", "@optional names no parameter"),
        ("uint64_t size", "@bool", "@bool names no parameter"),
        ("void *thing_out", "", "without a role"),
    ],
)
def test_what_has_no_shape_is_refused(tmp_path: Path, parameters: str, tags: str, why: str) -> None:
    with pytest.raises(ShapeError, match=why):
        shape_of(tmp_path, f"ferrum_status ferrum_box_do(ferrum_box box, {parameters})", tags)


def test_every_function_of_the_header_has_a_shape() -> None:
    header = read_header(ROOT / "include" / "ferrum_mem.h")
    shapes = {shape.function.name: shape for shape in shapes_of(header)}
    assert len(shapes) == len(header.functions)
    assert "elastic_pool" in handle_kinds(header)
    trim = shapes["ferrum_pool_trim"]
    assert (trim.kind, trim.name) == ("pool", "trim")
    assert roles(trim) == ([("keep_bytes", Role.NUMBER)], [("released_bytes", Role.NUMBER)])
    # Every parameter belongs to exactly one argument.
    for shape in shapes.values():
        parameters = [p for a in shape.arguments for p in a.parameters]
        assert tuple(parameters) == shape.function.parameters
