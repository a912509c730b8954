"""The tables of parameters from which the tests derive invalid arguments for a function."""

from pathlib import Path

from genabi import c_arguments

from .header import header_with

OPEN = """ferrum_status ferrum_box_open(
    ferrum_box box, const char *name, const ferrum_box_config *config, ferrum_side side,
    ferrum_hear_fn hear, void *user_data, uint64_t count, ferrum_address *addresses_out,
    ferrum_box_stack *stack_out, ferrum_item *item_out,
    char *buffer, size_t capacity, size_t *length_out)"""


def table(text: str, name: str) -> list[str]:
    """Returns the rows of a table."""
    start = text.index("{", text.index(f"{name}[]")) + 1
    rows = " ".join(text[start : text.index("};", start)].split())
    return rows.replace("PARAMETER(", "\n").replace("FIELD(", "\n").split("\n")[1:]


def test_a_parameter_is_what_its_argument_is(tmp_path: Path) -> None:
    tags = "@optional config\n@batch addresses_out\n@waits"
    text = c_arguments.emit(header_with(tmp_path, OPEN, tags), "")
    rows = [row.rstrip(", ").removesuffix(")") for row in table(text, "parameters_box_open")]
    assert rows == [
        "box, HANDLE, .kind = BOX",
        "name, TEXT",
        "config, STRUCT_IN, .type = &type_ferrum_box_config, .is_optional = 1",
        "side, ENUMERATION, .unknown = {-1, 1}",
        "hear, CALLBACK, .nothing = (any_function)nothing_ferrum_hear_fn",
        "user_data, DATA",
        "count, VALUE",
        "addresses_out, OUT, .size = sizeof(ferrum_address)",
        "stack_out, OUT, .size = sizeof(ferrum_box_stack)",
        "item_out, OUT, .size = sizeof(ferrum_item)",
        "buffer, BUFFER",
        "capacity, CAPACITY",
        "length_out, OUT, .size = sizeof(size_t)",
    ]
    assert "FUNCTION(box_open, .parameters = parameters_box_open, .count = 13, .waits = 1)" in (
        " ".join(text.split())
    )


def test_the_arguments_are_handed_as_the_function_takes_them(tmp_path: Path) -> None:
    text = " ".join(
        c_arguments.emit(header_with(tmp_path, OPEN, "@batch addresses_out"), "").split()
    )
    assert (
        "return ferrum_box_open( (ferrum_box){a[0].number}, a[1].pointer, a[2].pointer,"
        " (ferrum_side)a[3].number, (ferrum_hear_fn)a[4].function, a[5].pointer,"
        " (uint64_t)a[6].number, a[7].pointer, a[8].pointer, a[9].pointer, a[10].pointer,"
        " (size_t)a[11].number, a[12].pointer);" in text
    )


def test_a_struct_that_is_read_has_its_fields(tmp_path: Path) -> None:
    declaration = """ferrum_status ferrum_box_open(
        const ferrum_box_config *config, ferrum_box *box_out)"""
    text = c_arguments.emit(header_with(tmp_path, declaration), "")
    assert table(text, "fields_ferrum_box_config") == ["ferrum_box_config, reserved, RESERVED)"]
    declaration = """ferrum_status ferrum_box_describe(
        ferrum_box box, ferrum_box_config *config_out)"""
    text = c_arguments.emit(header_with(tmp_path, declaration), "")
    assert "fields_ferrum_box_config" not in text
    assert "&init_ferrum_box_config" in text


def test_tags_say_where_a_function_works(tmp_path: Path) -> None:
    declaration = "ferrum_status ferrum_round_up(uint64_t n, uint64_t *result_out)"
    text = c_arguments.emit(header_with(tmp_path, declaration, "@stateless"), "")
    assert ".is_stateless = 1)" in text
    text = c_arguments.emit(header_with(tmp_path, declaration, "@always"), "")
    assert ".is_always = 1)" in text


def test_what_cannot_fail_has_no_row(tmp_path: Path) -> None:
    header = header_with(tmp_path, "uint32_t ferrum_box_version(void)")
    assert c_arguments.emit(header, "") == ""


def test_every_family_is_in_the_list(tmp_path: Path) -> None:
    declaration = "ferrum_status ferrum_box_empty(ferrum_box box)"
    text = c_arguments.emit_families(header_with(tmp_path, declaration))
    assert "#define ARGUMENTS_FAMILIES(X) \\\n    X()\n" in text
