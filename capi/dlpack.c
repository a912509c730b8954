/* Makes, reads and ends the structs of DLPack. */
#include "dlpack.h"

#include <stdlib.h>

#include "_cgo_export.h"
#include "guard.h"

/* The version whose numbers of types this file uses. A receiver refuses only
 * another major version. */
enum { DL_MAJOR = 1, DL_MINOR = 1 };

enum { DL_READ_ONLY = 1, DL_PADDED = 4 };

struct dl_tensor {
    void *data;
    int32_t device_type, device_index;
    int32_t rank;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape;
    int64_t *strides;
    uint64_t byte_offset;
};

/* DLManagedTensor. */
struct dl_plain {
    struct dl_tensor tensor;
    void *context;
    void (*deleter)(struct dl_plain *);
};

/* DLManagedTensorVersioned. */
struct dl_versioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct dl_versioned *);
    uint64_t flags;
    struct dl_tensor tensor;
};

/* A struct that this library has made. managed is its first member, so both
 * have one address. */
struct dl_export {
    union {
        struct dl_plain plain;
        struct dl_versioned versioned;
    } managed;
    uint64_t handle;
    int64_t numbers[16];
};

/* Other libraries call it on any thread, also after ferrum_shutdown, while a
 * program exits, and in a forked child. There it only frees the struct. */
static void end_export(struct dl_export *export) {
    uint64_t handle = export->handle;
    free(export);
    if (atomic_load_explicit(&fm_gate, memory_order_relaxed) >= 0)
        fmgo_tensor_export_end(handle);
}

static void delete_plain(struct dl_plain *managed) {
    end_export((struct dl_export *)managed);
}

static void delete_versioned(struct dl_versioned *managed) {
    end_export((struct dl_export *)managed);
}

uintptr_t fm_dlpack_make(uint64_t handle, struct fm_dlpack *content,
                         int32_t is_versioned) {
    struct dl_export *export = calloc(1, sizeof *export);
    if (export == NULL)
        return 0;
    struct dl_tensor *tensor = &export->managed.plain.tensor;
    if (is_versioned) {
        struct dl_versioned *managed = &export->managed.versioned;
        managed->major = DL_MAJOR;
        managed->minor = DL_MINOR;
        managed->deleter = delete_versioned;
        managed->flags = content->is_read_only ? DL_READ_ONLY : 0;
        tensor = &managed->tensor;
    } else {
        export->managed.plain.deleter = delete_plain;
    }
    export->handle = handle;
    /* Some receivers ignore byte_offset, so data has the offset. */
    tensor->data = (void *)content->data;
    tensor->device_type = content->device_type;
    tensor->device_index = content->device_index;
    tensor->rank = content->rank;
    tensor->code = content->code;
    tensor->bits = content->bits;
    tensor->lanes = content->lanes;
    tensor->shape = export->numbers;
    tensor->strides = export->numbers + 8;
    memcpy(tensor->shape, content->shape, sizeof content->shape);
    memcpy(tensor->strides, content->strides, sizeof content->strides);
    return (uintptr_t)export;
}

uint32_t fm_dlpack_major(uintptr_t managed) {
    return ((struct dl_versioned *)managed)->major;
}

enum fm_dlpack_fault fm_dlpack_read(uintptr_t managed, int32_t is_versioned,
                                    struct fm_dlpack *content) {
    const struct dl_tensor *tensor = &((struct dl_plain *)managed)->tensor;
    memset(content, 0, sizeof *content);
    if (is_versioned) {
        /* Every version begins with the same fields up to the flags. */
        if (fm_dlpack_major(managed) != DL_MAJOR)
            return FM_DLPACK_VERSION;
        const struct dl_versioned *versioned = (struct dl_versioned *)managed;
        tensor = &versioned->tensor;
        content->is_read_only = (versioned->flags & DL_READ_ONLY) != 0;
        content->is_padded = (versioned->flags & DL_PADDED) != 0;
    }
    content->rank = tensor->rank;
    if (tensor->rank < 0 || tensor->rank > 8)
        return FM_DLPACK_RANK;
    if (tensor->rank > 0 && tensor->shape == NULL)
        return FM_DLPACK_SHAPE;
    if (__builtin_add_overflow((uint64_t)(uintptr_t)tensor->data,
                               tensor->byte_offset, &content->data))
        return FM_DLPACK_OFFSET;
    content->device_type = tensor->device_type;
    content->device_index = tensor->device_index;
    content->code = tensor->code;
    content->bits = tensor->bits;
    content->lanes = tensor->lanes;
    content->has_strides = tensor->strides != NULL;
    for (int32_t i = 0; i < tensor->rank; i++) {
        content->shape[i] = tensor->shape[i];
        if (tensor->strides != NULL)
            content->strides[i] = tensor->strides[i];
    }
    return FM_DLPACK_OK;
}

/* The deleter may run on the thread of a stream, like fm_call_release. */
void fm_dlpack_release(uintptr_t managed, int32_t is_versioned) {
    struct fm_mark mark;
    fm_mark_set(&mark, FM_INSIDE_HOST_FUNCTION, NULL, 0);
    struct dl_plain *plain = (struct dl_plain *)managed;
    struct dl_versioned *versioned = (struct dl_versioned *)managed;
    if (is_versioned && versioned->deleter != NULL)
        versioned->deleter(versioned);
    if (!is_versioned && plain->deleter != NULL)
        plain->deleter(plain);
    fm_mark_restore(&mark);
}

void fm_call_release(ferrum_release_fn release, uintptr_t user_data) {
    struct fm_mark mark;
    fm_mark_set(&mark, FM_INSIDE_HOST_FUNCTION, NULL, 0);
    release((void *)user_data);
    fm_mark_restore(&mark);
}
