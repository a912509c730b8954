"""The C function and the Go export that the generator writes for a function of the header."""

from pathlib import Path

import pytest
from genabi import c_calls, go_exports

from .header import header_with

OPEN = """ferrum_status ferrum_box_open(
    ferrum_box box, const char *name, const ferrum_box_config *config,
    ferrum_box_stack *stack_out, ferrum_box_config *found_out)"""


def statements(text: str) -> list[str]:
    """Returns the statements of the only function in a file, with white space normalised."""
    body = text[text.index("FM_ENTER") : text.rindex("}")]
    return [" ".join(line.split()) for line in body.split(";")[:-1]]


def test_checks_come_in_one_order(tmp_path: Path) -> None:
    text = c_calls.emit(header_with(tmp_path, OPEN, "@waits\n@opens\n@optional config"), "")
    assert statements(text) == [
        "FM_ENTER()",
        "FM_REQUIRE(stack_out)",
        "stack_out->id = 0",
        "FM_REQUIRE(found_out)",
        "FM_REQUIRE(name)",
        "ferrum_box_config config_full = FERRUM_BOX_CONFIG_INIT",
        "if (config != NULL) FM_STRUCT_IN(config, config_full)",
        # Checked again: the caller may have passed the same struct for config and found_out.
        "FM_STRUCT_OUT(found_out)",
        "FM_NOT_IN_HOST_FUNCTION()",
        "FM_LOOK()",
        "ferrum_box_config found_full = FERRUM_BOX_CONFIG_INIT",
        "FM_RETURN_STRUCT(fmgo_box_open(box.id, (char *)name, &config_full, &stack_out->id,"
        " &found_full), found_out, found_full)",
    ]


def test_an_output_that_may_be_null_is_given_last(tmp_path: Path) -> None:
    declaration = "ferrum_status ferrum_box_weigh(ferrum_box box, uint64_t *bytes_out)"
    text = c_calls.emit(header_with(tmp_path, declaration, "@optional bytes_out"), "")
    assert statements(text) == [
        "FM_ENTER()",
        "if (bytes_out != NULL) *bytes_out = 0",
        "uint64_t bytes_full = 0",
        "ferrum_status status = fmgo_box_weigh(box.id, &bytes_full)",
        "if (status != FERRUM_OK) return fm_failed_in(__func__, status)",
        "if (bytes_out != NULL) *bytes_out = bytes_full",
        "return FERRUM_OK",
    ]


def test_an_export_hands_on_texts_and_what_is_called_at_the_end(tmp_path: Path) -> None:
    declaration = """ferrum_status ferrum_box_keep(
        ferrum_box box, const char *const *names, uint64_t count,
        ferrum_release_fn release, void *user_data)"""
    text = go_exports.emit(header_with(tmp_path, declaration), "")
    assert text.endswith(
        """\
func fmgo_box_keep(box C.uint64_t, names **C.char, count C.uint64_t, \
release C.ferrum_release_fn, userData C.uintptr_t) (status C.int32_t) {
\tdefer guard(&status)
\tnamesGiven, err := textsOf("names", names, count)
\tif err != nil {
\t\treturn fail(err)
\t}
\tobject, err := lib.Box("box.keep", uint64(box))
\tif err != nil {
\t\treturn fail(err)
\t}
\treturn done(library.CallError(object.Keep(namesGiven, releaseOf(release, userData)), object))
}
"""
    )


def test_what_is_tagged_by_hand_is_left_out(tmp_path: Path) -> None:
    header = header_with(tmp_path, OPEN, "@by-hand c,go it is about the box")
    assert c_calls.emit(header, "") == ""
    assert go_exports.emit(header, "") == ""


def test_a_batch_is_zeroed_before_its_other_arguments_are_read(tmp_path: Path) -> None:
    declaration = """ferrum_status ferrum_box_fill(
        ferrum_box box, uint64_t count, ferrum_address *addresses_out)"""
    text = c_calls.emit(header_with(tmp_path, declaration, "@batch addresses_out"), "")
    assert statements(text) == [
        "FM_ENTER()",
        "FM_REQUIRE(addresses_out)",
        "if (count <= FERRUM_BATCH_MAX) memset(addresses_out, 0, count * sizeof(*addresses_out))",
        "FM_RETURN(fmgo_box_fill(box.id, count, addresses_out))",
    ]


def test_texts_and_a_release_callback_are_required(tmp_path: Path) -> None:
    declaration = """ferrum_status ferrum_box_keep(
        ferrum_box box, const char *const *names, uint64_t count,
        ferrum_release_fn release, void *user_data)"""
    text = c_calls.emit(header_with(tmp_path, declaration), "")
    assert "const char *const *names" in text
    assert statements(text) == [
        "FM_ENTER()",
        "FM_REQUIRE(names)",
        "FM_REQUIRE(release)",
        "FM_RETURN(fmgo_box_keep(box.id, (char **)names, count, release, (uintptr_t)user_data))",
    ]


def test_an_export_reads_its_inputs_and_calls_the_core(tmp_path: Path) -> None:
    declaration = """ferrum_status ferrum_box_stack_move(
        ferrum_box_stack stack, const char *name, uint64_t offset_bytes, uint64_t size_bytes,
        ferrum_address address, uint32_t flags, uint64_t timeout_ns, uint32_t *moved_out)"""
    text = go_exports.emit(header_with(tmp_path, declaration, "@bool moved_out"), "")
    assert text.endswith(
        """\
//export fmgo_box_stack_move
func fmgo_box_stack_move(stack C.uint64_t, name *C.char, offsetBytes C.uint64_t, \
sizeBytes C.uint64_t, address C.uint64_t, flags C.uint32_t, timeoutNs C.uint64_t, \
movedOut *C.uint32_t) (status C.int32_t) {
\tdefer guard(&status)
\tnameText, err := textOf("name", name)
\tif err != nil {
\t\treturn fail(err)
\t}
\tforce, err := forced(flags)
\tif err != nil {
\t\treturn fail(err)
\t}
\tobject, err := lib.BoxStack("box_stack.move", uint64(stack))
\tif err != nil {
\t\treturn fail(err)
\t}
\tmoved, err := object.Move(nameText, rangeOf(offsetBytes, sizeBytes), \
device.Addr(address), force, timeoutOf(timeoutNs))
\treturn giveTruth(movedOut, moved, library.CallError(err, object))
}
"""
    )


# The expected Go call for each set of tags.
CALLED = {
    "": (
        '\tobject, err := lib.Box("box.shut", uint64(box))\n'
        "\tif err != nil {\n\t\treturn fail(err)\n\t}\n"
        "\treturn done(library.CallError(object.Shut(uint64(lid)), object))\n"
    ),
    "@ends": "\treturn done(object.Shut(uint64(lid)))\n",
    "@infallible": "\tobject.Shut(uint64(lid))\n\treturn 0\n",
    "@go .Close": "\treturn done(library.CallError(object.Close(uint64(lid)), object))\n",
    "@go lib.ShutBox": "\treturn done(lib.ShutBox(uint64(box), uint64(lid)))\n",
    "@go factory.Shut": (
        '\tmade, err := lib.Factory("box.shut")\n'
        "\tif err != nil {\n\t\treturn fail(err)\n\t}\n"
        "\treturn done(made.Shut(manager.BoxHandle(box), uint64(lid)))\n"
    ),
}


@pytest.mark.parametrize("tags", CALLED)
def test_a_tag_says_whose_method_is_called(tmp_path: Path, tags: str) -> None:
    declaration = "ferrum_status ferrum_box_shut(ferrum_box box, uint64_t lid)"
    text = go_exports.emit(header_with(tmp_path, declaration, tags), "")
    assert text.endswith(CALLED[tags] + "}\n")


def test_what_makes_an_object_is_called_on_the_library(tmp_path: Path) -> None:
    declaration = "ferrum_status ferrum_box_make(uint64_t lids, ferrum_box *box_out)"
    text = go_exports.emit(header_with(tmp_path, declaration), "")
    assert "\tbox, err := lib.BoxMake(uint64(lids))\n\treturn give(boxOut, box, err)\n" in text


def test_an_export_with_a_struct_is_left_to_people(tmp_path: Path) -> None:
    assert go_exports.emit(header_with(tmp_path, OPEN), "") == ""
