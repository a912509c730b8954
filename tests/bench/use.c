/* How much memory the blocks of a workload used. */
#include "workloads.h"

#include <inttypes.h>
#include <stdio.h>

void place_add(const struct allocator *allocator, uint64_t block,
               uint64_t size_bytes, struct place *used) {
    struct place place;
    allocator->place(allocator->context, block, size_bytes, &place);
    if (place.begin_bytes < used->begin_bytes)
        used->begin_bytes = place.begin_bytes;
    if (place.end_bytes > used->end_bytes)
        used->end_bytes = place.end_bytes;
}

void print_use(const struct allocator *allocator, uint64_t peak_live_bytes,
               struct place used, uint64_t live_bytes) {
    printf("\"peak_live_bytes\": %" PRIu64 ", \"high_water_bytes\": %" PRIu64
           ", ",
           peak_live_bytes, used.end_bytes - used.begin_bytes);
    if (allocator->books == NULL)
        return;
    struct books books;
    allocator->books(allocator->context, &books);
    if (books.requested_bytes != live_bytes)
        die("the allocator's books say %" PRIu64 " bytes, %" PRIu64 " are live",
            books.requested_bytes, live_bytes);
    printf("\"requested_bytes\": %" PRIu64 ", \"allocated_bytes\": %" PRIu64
           ", \"reserved_bytes\": %" PRIu64
           ", \"reserved_peak_bytes\": %" PRIu64 ", \"segments\": %" PRIu64
           ", ",
           books.requested_bytes, books.allocated_bytes, books.reserved_bytes,
           books.reserved_peak_bytes, books.segments);
}
