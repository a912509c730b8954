/* What ONNX Runtime calls for memory. */
#ifndef FERRUM_ORT_ALLOCATE_H
#define FERRUM_ORT_ALLOCATE_H

#include <stddef.h>
#include <stdint.h>

/* The first members of struct OrtAllocator, which are all in version 17. */
struct fo_allocator {
    uint32_t version;
    void *(*alloc)(struct fo_allocator *self, size_t size);
    void (*free)(struct fo_allocator *self, void *block);
    const void *(*info)(const struct fo_allocator *self);
    /* Later members of OrtAllocator. A library does not read them for version
     * 17; they are 0 if it does. */
    void *later[8];
    /* Our own: the functions in Go, the one that throws std::bad_alloc, and
     * OrtMemoryInfo. */
    uintptr_t (*allocate)(uintptr_t self, uintptr_t size);
    uintptr_t (*release)(uintptr_t self, uintptr_t block);
    void (*fail)(void);
    const void *memory_info;
};

/* Fills the members that ONNX Runtime calls. */
void fo_allocator_init(struct fo_allocator *allocator);

#endif
