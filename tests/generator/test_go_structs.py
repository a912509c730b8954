"""The converters of structs, and exports with structs, lists, flags and choices."""

from pathlib import Path

import pytest
from genabi import go_exports, go_structs
from genabi.header import read_header
from genabi.shapes import ShapeError

from .header import header_with

IN = "ferrum_status ferrum_box_send(ferrum_box box, const ferrum_parcel *parcel)"
OUT = "ferrum_status ferrum_box_get_parcel(ferrum_box box, ferrum_weight *weight_out)"


def lines(text: str) -> list[str]:
    """Returns the lines of a file after its head, without indentation and empty lines."""
    return [line.strip() for line in text[text.index('import "C"') :].splitlines()[1:] if line]


def export(text: str) -> str:
    """Returns the body of the only export of a file, from its first statement."""
    return text[text.index("\tdefer guard") :]


def test_a_struct_is_read_field_by_field(tmp_path: Path) -> None:
    assert lines(go_structs.emit(header_with(tmp_path, IN), "")) == [
        "import (",
        '"ferrum_mem/core/boxes"',
        '"ferrum_mem/core/device"',
        ")",
        "// weightOf reads a ferrum_weight.",
        "func weightOf(_ string, from *C.ferrum_weight) (to boxes.Weight, err error) {",
        "read(&to.Grams, from.grams)",
        "return to, nil",
        "}",
        "// parcelOf reads a ferrum_parcel.",
        "func parcelOf(argument string, from *C.ferrum_parcel) (to boxes.Parcel, err error) {",
        "f := fields{argument: argument}",
        "f.known(from.flags, C.FERRUM_PARCEL_FRAGILE|C.FERRUM_PARCEL_UPRIGHT,"
        ' "only FERRUM_PARCEL_FRAGILE (0x1) and FERRUM_PARCEL_UPRIGHT (0x2) are")',
        "to.Fragile = from.flags&C.FERRUM_PARCEL_FRAGILE != 0",
        "to.Upright = from.flags&C.FERRUM_PARCEL_UPRIGHT != 0",
        "read(&to.Kind, from.packing)",
        'f.truth(&to.Sealed, from.is_sealed, "is_sealed")',
        "read(&to.AgeNs, from.age_ns)",
        "readWait(&to.TimeoutNs, from.timeout_ns)",
        "set(&to.FillRatio, from.fill_ratio)",
        'f.reserved(uint64(from.reserved), "reserved")',
        'f.text(&to.Label, from.label, "label")',
        'f.path(&to.Folder, from.folder, "folder")',
        "readList(&f, &to.Sizes, from.sizes,"
        ' listLength{uint64(from.count), 16, "count", device.CodeOverflow}, "sizes")',
        "read(&to.Box, from.box.id)",
        "if f.err == nil {",
        'to.Weight, f.err = weightOf(argument+".weight", &from.weight)',
        "}",
        'f.fixedText(&to.Tag, from.tag[:], "tag")',
        "copyNumbers(to.Seal[:], from.seal[:])",
        'f.spot(&to.Spot.Addr, from.spot, "spot")',
        "return to, f.err",
        "}",
    ]


def test_a_struct_is_filled_field_by_field(tmp_path: Path) -> None:
    declaration = """ferrum_status ferrum_box_weigh(
        ferrum_box box, ferrum_weight *weight_out, ferrum_report *report_out)"""
    assert lines(go_structs.emit(header_with(tmp_path, declaration), "")) == [
        'import "ferrum_mem/core/boxes"',
        "// putWeight fills a ferrum_weight.",
        "func putWeight(to *C.ferrum_weight, from *boxes.Weight) {",
        # The record may be an element of the caller's list, whose memory is not zeroed.
        "*to = C.ferrum_weight{}",
        "set(&to.grams, from.Grams)",
        "}",
        "// putReport fills a ferrum_report.",
        "func putReport(to *C.ferrum_report, from *boxes.Report) {",
        "to.flags = 0",
        "setFlag(&to.flags, C.FERRUM_PARCEL_FRAGILE, from.Fragile)",
        "setFlag(&to.flags, C.FERRUM_PARCEL_UPRIGHT, from.Upright)",
        "putText(to.id[:], from.ID.String())",
        "setPointer(&to.host_pointer, from.HostPointer)",
        "}",
    ]


def test_a_struct_that_is_not_used_has_no_converter(tmp_path: Path) -> None:
    assert "Parcel" not in go_structs.emit(header_with(tmp_path, OUT), "")
    assert go_structs.emit(header_with(tmp_path, IN, "@by-hand go it is about the box"), "") == ""


def test_a_pointer_wants_to_be_a_list(tmp_path: Path) -> None:
    header = tmp_path / "ferrum_mem.h"
    header_with(tmp_path, IN)
    text = header.read_text(encoding="utf-8").replace("    /** @list count 16 OVERFLOW */\n", "")
    header.write_text(text, encoding="utf-8")
    with pytest.raises(ShapeError, match="sizes: a pointer without the tag @list"):
        go_structs.emit(read_header(header), "")


def test_an_export_hands_a_struct_on_as_its_tag_says(tmp_path: Path) -> None:
    text = go_exports.emit(header_with(tmp_path, IN), "")
    assert export(text) == (
        "\tdefer guard(&status)\n"
        '\tparcelGiven, err := parcelOf("parcel", parcel)\n'
        "\tif err != nil {\n\t\treturn fail(err)\n\t}\n"
        '\tobject, err := lib.Box("box.send", uint64(box))\n'
        "\tif err != nil {\n\t\treturn fail(err)\n\t}\n"
        "\treturn done(library.CallError(object.Send(&parcelGiven), object))\n}\n"
    )


def test_an_export_fills_structs_and_numbers(tmp_path: Path) -> None:
    declaration = """ferrum_status ferrum_box_weigh(
        ferrum_box box, ferrum_packing packing, ferrum_weight *weight_out, uint32_t *count_out,
        uint32_t *heavy_out)"""
    text = go_exports.emit(header_with(tmp_path, declaration, "@bool heavy_out"), "")
    assert export(text) == (
        "\tdefer guard(&status)\n"
        '\tobject, err := lib.Box("box.weigh", uint64(box))\n'
        "\tif err != nil {\n\t\treturn fail(err)\n\t}\n"
        "\tweight, count, heavy, err := object.Weigh(numberOf[boxes.Packing](packing))\n"
        "\tif err != nil {\n\t\treturn fail(library.CallError(err, object))\n\t}\n"
        "\tputWeight(weightOut, &weight)\n"
        "\tset(countOut, count)\n"
        "\tsetTruth(heavyOut, heavy)\n"
        "\treturn 0\n}\n"
    )


LISTS = """ferrum_status ferrum_box_sort(
    ferrum_box box, const ferrum_weight *weights, uint64_t count,
    ferrum_weight *sorted_out, size_t capacity, size_t *count_out)"""


def test_an_export_reads_and_gives_lists(tmp_path: Path) -> None:
    assert export(go_exports.emit(header_with(tmp_path, LISTS), "")) == (
        "\tdefer guard(&status)\n"
        '\tweightsGiven, err := recordsOf("weights", weights, count, weightOf)\n'
        "\tif err != nil {\n\t\treturn fail(err)\n\t}\n"
        '\tobject, err := lib.Box("box.sort", uint64(box))\n'
        "\tif err != nil {\n\t\treturn fail(err)\n\t}\n"
        "\tsorted, err := object.Sort(weightsGiven)\n"
        "\tif err != nil {\n\t\treturn fail(library.CallError(err, object))\n\t}\n"
        '\treturn giveArray(sortedOut, capacity, countOut, sorted, putWeight, "sorted")\n}\n'
    )


def test_a_list_that_is_filled_knows_its_room(tmp_path: Path) -> None:
    declaration = """ferrum_status ferrum_box_take(
        ferrum_box box, ferrum_box *boxes_out, size_t capacity, size_t *count_out)"""
    text = go_exports.emit(header_with(tmp_path, declaration, "@fills boxes_out"), "")
    assert export(text) == (
        "\tdefer guard(&status)\n"
        '\tobject, err := lib.Box("box.take", uint64(box))\n'
        "\tif err != nil {\n\t\treturn fail(err)\n\t}\n"
        "\tboxesFound, boxesFoundCount, err := object.Take(uint64(capacity))\n"
        "\t*countOut = C.size_t(boxesFoundCount)\n"
        "\tif err != nil {\n\t\treturn fail(library.CallError(err, object))\n\t}\n"
        "\tfillArray((*C.uint64_t)(unsafe.Pointer(boxesOut)), boxesFound, putNumber)\n"
        "\treturn 0\n}\n"
    )


def test_an_export_reads_bytes_flags_and_texts(tmp_path: Path) -> None:
    declaration = """ferrum_status ferrum_box_label(
        ferrum_box box, uint32_t traits, const char *const *names, uint64_t count,
        const void *source, uint64_t size_bytes)"""
    text = go_exports.emit(header_with(tmp_path, declaration, "@flags traits FERRUM_PARCEL"), "")
    assert export(text) == (
        "\tdefer guard(&status)\n"
        '\ttraitsGiven, err := flagsOf("traits", traits, C.FERRUM_PARCEL_FRAGILE|'
        "C.FERRUM_PARCEL_UPRIGHT,"
        ' "only FERRUM_PARCEL_FRAGILE (0x1) and FERRUM_PARCEL_UPRIGHT (0x2) are")\n'
        "\tif err != nil {\n\t\treturn fail(err)\n\t}\n"
        '\tnamesGiven, err := textsOf("names", names, count)\n'
        "\tif err != nil {\n\t\treturn fail(err)\n\t}\n"
        '\tobject, err := lib.Box("box.label", uint64(box))\n'
        "\tif err != nil {\n\t\treturn fail(err)\n\t}\n"
        "\treturn done(library.CallError(object.Label(traitsGiven, namesGiven, "
        "device.HostAddr(source), uint64(sizeBytes)), object))\n}\n"
    )


def test_a_tag_names_what_is_called(tmp_path: Path) -> None:
    declaration = "ferrum_status ferrum_box_name(uint64_t boxes, char *buffer, size_t capacity,"
    tags = "@go boxes.Number.String\n@go boxes boxes.Number\n@infallible\n@hot"
    text = go_exports.emit(header_with(tmp_path, declaration + " size_t *length_out)", tags), "")
    assert text[text.index("func ") :] == (
        # The parameter boxes is renamed, because it would hide the package boxes.
        "func fmgo_box_name(boxesID C.uint64_t, buffer *C.char, capacity C.size_t, "
        "lengthOut *C.size_t) (status C.int32_t) {\n"
        "\tstatus = unfinished\n"
        "\tdefer func() {\n"
        "\t\tif status == unfinished {\n"
        "\t\t\tcaught(&status, recover())\n"
        "\t\t}\n"
        "\t}()\n"
        "\ttext := boxes.Number.String(boxes.Number(boxesID))\n"
        "\treturn giveText(buffer, capacity, lengthOut, text, nil)\n}\n"
    )
