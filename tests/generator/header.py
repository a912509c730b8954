"""A small header for tests, and the result of reading it."""

from pathlib import Path

from genabi.header import read_header
from genabi.model import Header

ROOT = Path(__file__).resolve().parents[2]

HEADER = """\
/* A header for tests. */
#ifndef FERRUM_MEM_H
#define FERRUM_MEM_H
#define FERRUM_API
#define FERRUM_STATUS_TABLE(X) X(FERRUM_OK, 0, "success")
typedef int32_t ferrum_status;
typedef int32_t ferrum_side;
/** One side. */
#define FERRUM_SIDE_LEFT 0
typedef uint64_t ferrum_address;
typedef void (*ferrum_hear_fn)(void *user_data);
typedef void (*ferrum_release_fn)(void *user_data);
/** A box. */
typedef struct ferrum_box {
    uint64_t id;
} ferrum_box;
/** A box of boxes. */
typedef struct ferrum_box_stack {
    uint64_t id;
} ferrum_box_stack;
/** Settings. */
typedef struct ferrum_box_config {
    uint32_t struct_size;
    uint32_t reserved;
} ferrum_box_config;
#define FERRUM_BOX_CONFIG_INIT { FERRUM_SIZE_OF(ferrum_box_config), 0 }
/** A plain record. */
typedef struct ferrum_item {
    uint64_t bytes;
} ferrum_item;
/** One way to pack.
 *  @go boxes.Packing */
typedef int32_t ferrum_packing;
/** Loosely. */
#define FERRUM_PACKING_LOOSE 0
/** It may break. */
#define FERRUM_PARCEL_FRAGILE UINT32_C(1)
/** It has to stand. */
#define FERRUM_PARCEL_UPRIGHT UINT32_C(2)
/** A weight.
 *  @go boxes.Weight */
typedef struct ferrum_weight {
    uint64_t grams;
} ferrum_weight;
/** What is in a box.
 *  @go *boxes.Parcel */
typedef struct ferrum_parcel {
    uint32_t struct_size;
    /** @flags FERRUM_PARCEL */
    uint32_t flags;
    /** @go Kind */
    ferrum_packing packing;
    /** @bool */
    uint32_t is_sealed;
    uint64_t age_ns;
    uint64_t timeout_ns;
    float fill_ratio;
    uint32_t reserved;
    const char *label;
    /** @path */
    const char *folder;
    /** @list count 16 OVERFLOW */
    const uint64_t *sizes;
    uint64_t count;
    ferrum_box box;
    ferrum_weight weight;
    char tag[64];
    uint8_t seal[16];
    /** @go Spot.Addr
     *  @read spot */
    uint64_t spot;
} ferrum_parcel;
#define FERRUM_PARCEL_INIT { FERRUM_SIZE_OF(ferrum_parcel), 0, 0, 0, 0, 0, 0, 0, NULL, NULL, \\
    NULL, 0, {0}, {0}, {0}, {0}, 0 }
/** What a box says of itself.
 *  @go boxes.Report */
typedef struct ferrum_report {
    uint32_t struct_size;
    /** @flags FERRUM_PARCEL */
    uint32_t flags;
    /** @go ID.String() */
    char id[32];
    void *host_pointer;
} ferrum_report;
#define FERRUM_REPORT_INIT { FERRUM_SIZE_OF(ferrum_report), 0, {0}, NULL }
"""


def header_with(folder: Path, declaration: str, tags: str = "") -> Header:
    """Reads the header with one more function, which has these tags."""
    path = folder / "ferrum_mem.h"
    comment = (
        "/**\n * Does it.\n *\n" + "".join(f" * {tag}\n" for tag in tags.splitlines()) + " */\n"
    )
    path.write_text(f"{HEADER}{comment}FERRUM_API {declaration};\n#endif\n", encoding="utf-8")
    return read_header(path)
