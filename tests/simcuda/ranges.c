/* Addresses: where the next range is placed, which bytes are stored for it,
 * and who may access them. Device addresses are in a region that the host
 * cannot read. Their bytes are at a fixed distance from them. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The region is as large as the address space allows. A race detector
 * leaves little address space. */
static const size_t largest_region = (size_t)16 << 40;
static const size_t smallest_region = (size_t)64 << 30;
static size_t region_size;
static char *region;
static CUdeviceptr next_place;

static void open_region(void) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    for (size_t size = largest_region; size >= smallest_region; size /= 2) {
        void *at = mmap(NULL, 2 * size, PROT_NONE, flags, -1, 0);
        if (at == MAP_FAILED)
            continue;
        region = at;
        region_size = size;
        next_place = ROUND_UP((CUdeviceptr)(uintptr_t)region, GRANULARITY);
        return;
    }
    fprintf(stderr, "simcuda: no address space for the devices\n");
    abort();
}

bool address_is_device(CUdeviceptr address) {
    return region != NULL &&
           address - (CUdeviceptr)(uintptr_t)region < region_size;
}

/* The host address of bytes that range_forbids has allowed. */
char *range_host(CUdeviceptr address) {
    return (char *)(uintptr_t)address +
           (address_is_device(address) ? region_size : 0);
}

uint64_t simcuda_distance(void) { return region_size; }

/* The first range that ends after the address. */
static size_t position(CUdeviceptr address) {
    size_t low = 0, high = sim.range_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const Range *range = sim.ranges[middle];
        if (range->page + range->pages_size <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool range_overlaps(CUdeviceptr address, size_t size) {
    size_t at = position(address);
    return at < sim.range_count && sim.ranges[at]->page < address + size;
}

Range *range_find(CUdeviceptr address) {
    size_t at = position(address);
    if (at == sim.range_count || address < sim.ranges[at]->address ||
        address - sim.ranges[at]->address >= sim.ranges[at]->size)
        return NULL;
    return sim.ranges[at];
}

/* Returns free addresses, or 0 if there are none. Later addresses come
 * first, so that freed addresses are not reused at once. */
CUdeviceptr range_place(size_t size, size_t alignment, CUdeviceptr hint) {
    if (region == NULL)
        open_region();
    CUdeviceptr start = (CUdeviceptr)(uintptr_t)region,
                end = start + region_size;
    if (size > region_size)
        return 0;
    if (hint != 0 && hint % alignment == 0 && hint >= start &&
        hint <= end - size && !range_overlaps(hint, size))
        return hint;
    for (int turn = 0; turn < 2; turn++) {
        CUdeviceptr place = ROUND_UP(turn == 0 ? next_place : start, alignment);
        while (place <= end - size) {
            size_t at = position(place);
            if (at == sim.range_count || sim.ranges[at]->page >= place + size) {
                next_place = place + size + GRANULARITY;
                return place;
            }
            place = ROUND_UP(sim.ranges[at]->page + sim.ranges[at]->pages_size +
                                 GRANULARITY,
                             alignment);
        }
    }
    return 0;
}

Range *range_add(RangeKind kind, CUdeviceptr address, size_t size) {
    if (sim.range_count == sim.range_room) {
        sim.range_room = sim.range_room == 0 ? 64 : 2 * sim.range_room;
        sim.ranges = realloc(sim.ranges, sim.range_room * sizeof *sim.ranges);
    }
    Range *range = calloc(1, sizeof *range);
    if (sim.ranges == NULL || range == NULL)
        abort();
    range->kind = kind;
    range->address = range->page = address;
    range->size = range->pages_size = size;
    range->id = ++sim.next_id;
    range->shared_fd = -1;
    size_t at = position(address);
    memmove(&sim.ranges[at + 1], &sim.ranges[at],
            (sim.range_count++ - at) * sizeof *sim.ranges);
    sim.ranges[at] = range;
    return range;
}

void range_remove(Range *range) {
    size_t at = position(range->page);
    memmove(&sim.ranges[at], &sim.ranges[at + 1],
            (--sim.range_count - at) * sizeof *sim.ranges);
    mappings_drop(range);
    managed_forget(range);
    ipc_forget(range);
    free(range->mappings);
    free(range);
}

/* Provides memory for device addresses: from a file, or new memory. */
bool range_back(CUdeviceptr page, size_t size, int fd, uint64_t offset) {
    int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
                       : MAP_SHARED | MAP_NORESERVE;
    void *at = mmap(range_host(page), size, PROT_READ | PROT_WRITE,
                    flags | MAP_FIXED, fd, (off_t)offset);
    return at != MAP_FAILED;
}

void range_unback(CUdeviceptr page, size_t size) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    if (mmap(range_host(page), size, PROT_NONE, flags, -1, 0) == MAP_FAILED)
        abort();
}

/* New memory is not zero. A small range is filled completely, a large range
 * only at its ends. */
void range_poison(CUdeviceptr address, size_t size) {
    char *host = range_host(address);
    if (size <= (size_t)1 << 20) {
        memset(host, 0xa5, size);
        return;
    }
    memset(host, 0xa5, 4096);
    memset(host + size - 4096, 0xa5, 4096);
}

static const char *mapping_forbids(const Context *context, const Range *range,
                                   CUdeviceptr address, size_t size,
                                   Access access) {
    CUdeviceptr end = address + size;
    while (address < end) {
        const Mapping *mapping = mapping_at(range, address);
        if (mapping == NULL)
            return "part of it is reserved and not mapped";
        if ((mapping->access[context->device->ordinal] & access) != access)
            return "its device has no access to a mapping";
        address = mapping->address + mapping->size;
    }
    return NULL;
}

const char *range_forbids(Context *context, CUdeviceptr address, size_t size,
                          Access access, bool pending) {
    const Range *range = range_find(address);
    if (range == NULL)
        return "nothing is allocated at the address";
    if (size > range->size - (address - range->address))
        return "it reaches beyond the end of its allocation";
    switch (range->kind) {
    case RANGE_RESERVED:
        return mapping_forbids(context, range, address, size, access);
    case RANGE_POOL:
        if (range->freeing && pending)
            return "it was freed to its pool";
        if (!range->live && !pending)
            return "it is free memory of its pool";
        break;
    case RANGE_HOST:
    case RANGE_REGISTERED:
        if ((range->flags & CU_MEMHOSTALLOC_PORTABLE) == 0 &&
            sim.config.without_unified && range->context != context)
            return "it is pinned for another context";
        if (range->kind == RANGE_REGISTERED && access == WRITE &&
            (range->flags & CU_MEMHOSTREGISTER_READ_ONLY) != 0)
            return "it was registered to be read only";
        break;
    default:
        break;
    }
    return NULL;
}

/* All of it is pinned or managed memory of the driver. */
bool range_is_pinned(const void *host, size_t size) {
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)host;
    const Range *range = range_find(address);
    return range != NULL && !address_is_device(address) &&
           size <= range->size - (address - range->address);
}
