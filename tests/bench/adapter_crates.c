/*
 * Allocators that are Rust crates, or that a crate contains, from the library
 * of peers/, and a pool under C++'s memory resource, from the library of pmr/.
 * Their functions are called directly, through the same pointers as every
 * other allocator's.
 */
#include "bench.h"

#include <stdio.h>

/* The layout of peers/src/lib.rs and pmr/pmr.cpp. */
struct peer {
    void *context;
    uint64_t (*allocate)(void *context, uint64_t size_bytes);
    bool (*release)(void *context, uint64_t block);
    void (*place)(void *context, uint64_t block, uint64_t size_bytes,
                  struct place *place_out);
    void (*close)(void *context);
    const char *version;
    bool single_threaded;
};

static bool crate_open(const struct adapter_settings *settings,
                       struct allocator *allocator_out) {
    bool (*open)(const char *name, uint64_t granule_bytes, struct peer *);
    if (settings->library == NULL)
        return missing("%s needs --library FILE", settings->name);
    void *library = library_open(settings->library);
    if (library == NULL)
        return false;
    if (!library_symbol(library, "bench_peer_open", &open))
        return missing("%s has no bench_peer_open", settings->library);
    struct peer peer = {0};
    if (!open(settings->name, settings->granule_bytes, &peer))
        return missing("the peers' library has no %s", settings->name);
    *allocator_out =
        (struct allocator){.context = peer.context,
                           .allocate = peer.allocate,
                           .release = peer.release,
                           .place = peer.place,
                           .close = peer.close,
                           .single_threaded = peer.single_threaded};
    snprintf(allocator_out->version, sizeof allocator_out->version, "%s",
             peer.version);
    return true;
}

const struct adapter crate_adapters[] = {
    {"offset_allocator", crate_open},
    {"offset_allocator_mutex", crate_open},
    {"gpu_allocator", crate_open},
    {"gpu_allocator_mutex", crate_open},
    {"vma", crate_open},
    {"vma_mutex", crate_open},
    {"vma_min_memory", crate_open},
    {"vma_min_offset", crate_open},
    {"ferrum_pool_pmr", crate_open},
    {NULL, NULL},
};
