#include "allocate.h"

/* ONNX Runtime does not check whether an allocator returns NULL: it writes to
 * the address. Its own allocator throws std::bad_alloc, which its interface
 * turns into a status. So this one does the same. The exception passes no frame
 * of Go: allocate has returned before. */
static void *fo_alloc(struct fo_allocator *self, size_t size) {
    if (size == 0)
        return NULL;
    uintptr_t block = self->allocate((uintptr_t)self, size);
    if (block == 0)
        self->fail();
    return (void *)block;
}

static void fo_free(struct fo_allocator *self, void *block) {
    if (block != NULL)
        self->release((uintptr_t)self, (uintptr_t)block);
}

static const void *fo_info(const struct fo_allocator *self) {
    return self->memory_info;
}

void fo_allocator_init(struct fo_allocator *allocator) {
    allocator->version = 17;
    allocator->alloc = fo_alloc;
    allocator->free = fo_free;
    allocator->info = fo_info;
}
