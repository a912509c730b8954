/*
 * The structs of DLPack, as https://dmlc.github.io/dlpack documents them. A
 * program may include dlpack.h itself, so the names differ from its names.
 */
#ifndef FERRUM_CAPI_DLPACK_H
#define FERRUM_CAPI_DLPACK_H

#include <stdint.h>

/** The content of a struct of DLPack, whatever its form. */
struct fm_dlpack {
    /** The address of the element whose indices are all 0. */
    uint64_t data;
    int32_t device_type, device_index;
    int32_t rank;
    uint8_t code, bits;
    uint16_t lanes;
    uint32_t has_strides, is_read_only, is_padded;
    int64_t shape[8], strides[8];
};

/** What fm_dlpack_read found. */
enum fm_dlpack_fault {
    FM_DLPACK_OK = 0,
    FM_DLPACK_VERSION = 1,
    FM_DLPACK_RANK = 2,
    FM_DLPACK_SHAPE = 3,
    FM_DLPACK_OFFSET = 4
};

/** Makes a struct whose deleter ends the tensor with that handle. Returns 0 if
 *  there is no memory. */
uintptr_t fm_dlpack_make(uint64_t handle, struct fm_dlpack *content,
                         int32_t is_versioned);
/** Reads a struct. */
enum fm_dlpack_fault fm_dlpack_read(uintptr_t managed, int32_t is_versioned,
                                    struct fm_dlpack *content);
/** The major version of a struct in the new form. */
uint32_t fm_dlpack_major(uintptr_t managed);
/** Calls the deleter of a struct, if it has one. */
void fm_dlpack_release(uintptr_t managed, int32_t is_versioned);

#endif
