/*
 * ferrum_pool_pmr: a pool with its default settings under the standard
 * library's memory resource, as C++ programs use it. It is a separate library,
 * because the rest of the harness is C. It is opened like the peers from
 * crates.
 */
#include "ferrum_mem.hpp"
#include "ferrum_mem/pool_resource.hpp"

#include <cstring>
#include <memory>

extern "C" {
struct place;

/* The layout of adapter_crates.c. */
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

bool bench_peer_open(const char *name, uint64_t granule_bytes, peer *peer_out);
}

namespace {

/* A memory resource gets the size again when a block is freed. A pool does
 * not use it. */
constexpr std::size_t any_size = 1;

struct resource_on_pool {
    ferrum::library library;
    ferrum::device device = ferrum::device::open("cpu:0");
    ferrum::pool pool = device.create_pool();
    ferrum::pool_resource resource{device, pool};
};

uint64_t allocate(void *context, uint64_t size_bytes) {
    std::pmr::memory_resource &resource =
        static_cast<resource_on_pool *>(context)->resource;
    return reinterpret_cast<std::uintptr_t>(resource.allocate(size_bytes));
}

bool release(void *context, uint64_t block) {
    std::pmr::memory_resource &resource =
        static_cast<resource_on_pool *>(context)->resource;
    resource.deallocate(reinterpret_cast<void *>(block), any_size);
    return true;
}

void close(void *context) { delete static_cast<resource_on_pool *>(context); }

} // namespace

bool bench_peer_open(const char *name, uint64_t, peer *peer_out) {
    if (std::strcmp(name, "ferrum_pool_pmr") != 0)
        return false;
    auto made = std::make_unique<resource_on_pool>();
    *peer_out = {};
    peer_out->allocate = allocate;
    peer_out->release = release;
    peer_out->close = close;
    peer_out->version = ferrum_version_string();
    peer_out->context = made.release();
    return true;
}
