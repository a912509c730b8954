/* The list of leaks. A test can query it, and the driver reports it when
 * the process ends. Memory that could not be freed because of a sticky
 * error or an injected fault is no leak. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct List {
    char *text;
    size_t size, used, count;
} List;

static void add(List *list, const char *what, uint64_t value, uint64_t size,
                const char *call) {
    list->count++;
    if (list->used < list->size)
        list->used += (size_t)snprintf(
            list->text + list->used, list->size - list->used,
            "%s 0x%llx, %llu bytes, from %s\n", what, (unsigned long long)value,
            (unsigned long long)size, call);
}

static void add_object(Object *object, void *user_data) {
    if (!object->alive || object->hidden || object->kind == KIND_FUNCTION ||
        is_forgiven(object->handle))
        return;
    if (object->kind == KIND_CONTEXT) {
        if (((Context *)object)->primary)
            return;
    } else if (object->context != NULL &&
               object->context->sticky != CUDA_SUCCESS) {
        return;
    }
    add(user_data, kind_name(object->kind), object->handle, object->size,
        object->made_by);
}

static bool may_leak(const Range *range) {
    return is_forgiven(range->address) || range->graph != NULL ||
           (range->context != NULL && range->context->sticky != CUDA_SUCCESS);
}

static size_t leaks(char *text, size_t size) {
    static const char *const names[] = {
        "memory",        "reserved addresses", "memory of a pool",
        "pinned memory", "registered memory",  "managed memory",
        "opened memory"};
    List list = {text, size, 0, 0};
    if (size > 0)
        *text = 0;
    objects_each(add_object, &list);
    for (size_t i = 0; i < sim.range_count; i++) {
        const Range *range = sim.ranges[i];
        if (!may_leak(range) && !range->freeing)
            add(&list, names[range->kind], range->address, range->size,
                range->made_by);
        for (size_t j = 0; j < range->mapping_count; j++)
            if (!is_forgiven(range->mappings[j].address))
                add(&list, "mapping", range->mappings[j].address,
                    range->mappings[j].size, "cuMemMap");
    }
    for (int i = 0; i < sim.device_count; i++)
        if (sim.devices[i].primary_references != 0 &&
            !is_forgiven(REFERENCE_KEY(i)))
            add(&list, "references to a primary context", (uint64_t)i,
                sim.devices[i].primary_references, "cuDevicePrimaryCtxRetain");
    return list.count;
}

size_t simcuda_leaks(char *text, size_t size) {
    pthread_mutex_lock(&sim.lock);
    size_t count = leaks(text, size);
    pthread_mutex_unlock(&sim.lock);
    return count;
}

/* SIMCUDA_LEAKS names a file for the list. Without it, a list that is not
 * empty is written to stderr, and the process ends with status 97. An empty
 * SIMCUDA_LEAKS disables both. */
__attribute__((destructor)) static void at_exit(void) {
    static char text[1 << 16];
    const char *path = getenv("SIMCUDA_LEAKS");
    if (!sim.initialised || (path != NULL && *path == 0))
        return;
    if (pthread_mutex_trylock(&sim.lock) != 0)
        return;
    size_t count = leaks(text, sizeof text);
    FILE *file = path != NULL ? fopen(path, "w") : stderr;
    if (file != NULL && (path != NULL || count > 0)) {
        fprintf(file, "simcuda: %zu leaks\n%s", count, text);
        fflush(file);
    }
    pthread_mutex_unlock(&sim.lock);
    if (path == NULL && count > 0)
        _exit(97);
}
