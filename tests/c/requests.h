/* Plain requests of many tests: a size and one more value. */
#ifndef FERRUM_TESTS_REQUESTS_H
#define FERRUM_TESTS_REQUESTS_H

#include "ferrum_mem.h"

static inline ferrum_status pool_alloc_aligned(ferrum_pool pool, uint64_t size,
                                               uint64_t alignment,
                                               ferrum_stream stream,
                                               ferrum_address *address_out) {
    ferrum_pool_request request = FERRUM_POOL_REQUEST_INIT;
    request.size_bytes = size;
    request.alignment_bytes = alignment;
    request.stream = stream;
    return ferrum_pool_alloc_with(pool, &request, address_out);
}

static inline ferrum_status manager_alloc_aligned(ferrum_manager manager,
                                                  uint64_t size,
                                                  uint64_t alignment,
                                                  ferrum_memory *memory_out) {
    ferrum_allocation_request request = FERRUM_ALLOCATION_REQUEST_INIT;
    request.size_bytes = size;
    request.alignment_bytes = alignment;
    return ferrum_manager_alloc_with(manager, &request, memory_out);
}

static inline ferrum_status vpool_alloc_tagged(ferrum_vpool vpool,
                                               uint64_t offset, uint64_t size,
                                               const char *tag,
                                               ferrum_address *address_out) {
    ferrum_vpool_request request = FERRUM_VPOOL_REQUEST_INIT;
    request.offset_bytes = offset;
    request.size_bytes = size;
    request.tag = tag;
    return ferrum_vpool_alloc_with(vpool, &request, address_out);
}

static inline ferrum_status elastic_pool_alloc_at(ferrum_elastic_pool pool,
                                                  const char *model,
                                                  uint64_t offset,
                                                  uint64_t size,
                                                  ferrum_address *address_out) {
    ferrum_model_request request = FERRUM_MODEL_REQUEST_INIT;
    request.at_offset = 1;
    request.offset_bytes = offset;
    request.size_bytes = size;
    return ferrum_elastic_pool_alloc_with(pool, model, &request, address_out,
                                          NULL);
}

#endif
