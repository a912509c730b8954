/*
 * Blocks of pools. The thread caches (threadcache/) serve a call first. For
 * larger blocks the tables that the pool has lent (largeblocks/) serve it. If
 * both pass the call on, it goes to Go.
 */
#include <inttypes.h>
#include <stdio.h>

#include "_cgo_export.h"
#include "guard.h"
#include "largeblocks/large.h"
#include "threadcache/hit.h"

/* Returns the result of the caches, unless they pass the call on. */
#define FM_CACHED_IN(function, call)                          \
    do {                                                      \
        int32_t fm_result_ = (call);                          \
        if (__builtin_expect(fm_result_ == FM_CACHE_DONE, 1)) \
            return FERRUM_OK;                                 \
        if (fm_result_ < 0)                                   \
            return fm_failed_in((function), fm_result_);      \
    } while (0)
#define FM_CACHED(call) FM_CACHED_IN(__func__, call)

/* The two most frequent functions consist of a hit, which calls nothing,
 * and a rest, to which they jump. So a hit saves no registers. */
#define FM_REST static __attribute__((noinline)) ferrum_status
#define FM_OPEN() \
    FM_LIKELY(atomic_load_explicit(&fm_gate, memory_order_relaxed) == 0)

FM_REST fm_pool_alloc_rest(ferrum_pool pool, uint64_t size_bytes,
                           ferrum_stream stream, ferrum_address *address_out) {
    static const char function[] = "ferrum_pool_alloc";
    FM_ENTER_FOR(ferrum_pool_alloc);
    if (address_out == NULL)
        return fm_null(function, "address_out");
    *address_out = 0;
    if (stream.id == 0 &&
        fm_large_alloc(pool.id, size_bytes, 0, 0, address_out))
        return FERRUM_OK;
    FM_CACHED_IN(function, fm_cache_alloc(pool.id, stream.id, size_bytes, 0, 0,
                                          address_out));
    FM_RETURN_IN(function,
                 fmgo_pool_alloc(pool.id, size_bytes, stream.id, address_out));
}

ferrum_status ferrum_pool_alloc(ferrum_pool pool, uint64_t size_bytes,
                                ferrum_stream stream,
                                ferrum_address *address_out) {
    if (FM_OPEN() && FM_LIKELY(address_out != NULL) &&
        FM_LIKELY(size_bytes <= FM_LARGE_ABOVE) &&
        FM_LIKELY(fm_cache_alloc_hit(pool.id, stream.id, size_bytes, 0, 0,
                                     address_out)))
        return FERRUM_OK;
    return fm_pool_alloc_rest(pool, size_bytes, stream, address_out);
}

FM_REST fm_pool_alloc_with_rest(ferrum_pool pool,
                                const ferrum_pool_request *request,
                                ferrum_address *address_out) {
    static const char function[] = "ferrum_pool_alloc_with";
    FM_ENTER_FOR(ferrum_pool_alloc_with);
    if (address_out == NULL)
        return fm_null(function, "address_out");
    *address_out = 0;
    if (request == NULL)
        return fm_null(function, "request");
    ferrum_pool_request full = FERRUM_POOL_REQUEST_INIT;
    ferrum_status status =
        fm_struct_in(function, "request", request, &full, sizeof full);
    if (status != FERRUM_OK)
        return status;
    /* A block with hints has its own placement. */
    if (full.expected_lifetime_ns == 0 && full.group == 0) {
        if (full.stream.id == 0 &&
            fm_large_alloc(pool.id, full.size_bytes, full.alignment_bytes,
                           full.tag, address_out))
            return FERRUM_OK;
        FM_CACHED_IN(function,
                     fm_cache_alloc(pool.id, full.stream.id, full.size_bytes,
                                    full.tag, full.alignment_bytes,
                                    address_out));
    }
    FM_RETURN_IN(function, fmgo_pool_alloc_with(pool.id, &full, address_out));
}

/* Allocates a block for a request struct of this version, if the caches have one.
 * It reads the fields one by one. The caller has just written the fields one by
 * one, and a load of two fields at once would wait for both writes. */
static inline bool fm_request_hit(ferrum_pool pool,
                                  const ferrum_pool_request *request,
                                  ferrum_address *address_out) {
    uint64_t bytes, alignment, stream, lifetime, group;
    uint32_t size, tag;
    memcpy(&size, request, sizeof size);
    if (FM_UNLIKELY(size != sizeof *request))
        return false;
    memcpy(&lifetime, &request->expected_lifetime_ns, sizeof lifetime);
    memcpy(&group, &request->group, sizeof group);
    memcpy(&bytes, &request->size_bytes, sizeof bytes);
    memcpy(&stream, &request->stream.id, sizeof stream);
    memcpy(&tag, &request->tag, sizeof tag);
    memcpy(&alignment, &request->alignment_bytes, sizeof alignment);
    return FM_LIKELY((lifetime | group) == 0) &&
           FM_LIKELY(bytes <= FM_LARGE_ABOVE) &&
           fm_cache_alloc_hit(pool.id, stream, bytes, tag, alignment,
                              address_out);
}

ferrum_status ferrum_pool_alloc_with(ferrum_pool pool,
                                     const ferrum_pool_request *request,
                                     ferrum_address *address_out) {
    if (FM_OPEN() && FM_LIKELY(address_out != NULL) &&
        FM_LIKELY(request != NULL) &&
        FM_LIKELY(fm_request_hit(pool, request, address_out)))
        return FERRUM_OK;
    return fm_pool_alloc_with_rest(pool, request, address_out);
}

/* Rejects an invalid length of a batch before the array is read. */
static ferrum_status fm_batch_count(const char *function, uint64_t count) {
    if (count >= 1 && count <= FERRUM_BATCH_MAX)
        return FERRUM_OK;
    char message[96];
    snprintf(message, sizeof message,
             "count is %" PRIu64 ": want 1 to %" PRIu64, count,
             FERRUM_BATCH_MAX);
    return fm_fail(function, FERRUM_ERROR_INVALID_ARGUMENT, message);
}

#define FM_BATCH(count)                                             \
    do {                                                            \
        ferrum_status fm_status_ = fm_batch_count(__func__, count); \
        if (fm_status_ != FERRUM_OK)                                \
            return fm_status_;                                      \
    } while (0)

ferrum_status ferrum_pool_alloc_batch(ferrum_pool pool, uint64_t size_bytes,
                                      uint64_t count, ferrum_stream stream,
                                      ferrum_address *addresses_out) {
    FM_ENTER();
    FM_REQUIRE(addresses_out);
    FM_BATCH(count);
    memset(addresses_out, 0, count * sizeof *addresses_out);
    FM_CACHED(fm_cache_alloc_batch(pool.id, stream.id, size_bytes, count,
                                   addresses_out));
    FM_RETURN(fmgo_pool_alloc_batch(pool.id, size_bytes, count, stream.id,
                                    addresses_out));
}

FM_REST fm_pool_free_rest(ferrum_pool pool, ferrum_address address,
                          ferrum_stream stream) {
    static const char function[] = "ferrum_pool_free";
    FM_ENTER_FOR(ferrum_pool_free);
    if (stream.id == 0 && fm_large_free(pool.id, address, 0))
        return FERRUM_OK;
    FM_CACHED_IN(function, fm_cache_free(pool.id, stream.id, address, 0));
    FM_RETURN_IN(function, fmgo_pool_free(pool.id, address, stream.id));
}

ferrum_status ferrum_pool_free(ferrum_pool pool, ferrum_address address,
                               ferrum_stream stream) {
    if (FM_OPEN() &&
        FM_LIKELY(fm_cache_free_hit(pool.id, stream.id, address, 0)))
        return FERRUM_OK;
    return fm_pool_free_rest(pool, address, stream);
}

FM_REST fm_pool_free_sized_rest(ferrum_pool pool, ferrum_address address,
                                uint64_t size_bytes, ferrum_stream stream) {
    static const char function[] = "ferrum_pool_free_sized";
    FM_ENTER_FOR(ferrum_pool_free_sized);
    /* For the caches, 0 means that the size is not given. */
    if (size_bytes != 0) {
        if (size_bytes > FM_LARGE_ABOVE && stream.id == 0 &&
            fm_large_free(pool.id, address, size_bytes))
            return FERRUM_OK;
        FM_CACHED_IN(function,
                     fm_cache_free(pool.id, stream.id, address, size_bytes));
    }
    FM_RETURN_IN(function,
                 fmgo_pool_free_sized(pool.id, address, size_bytes, stream.id));
}

ferrum_status ferrum_pool_free_sized(ferrum_pool pool, ferrum_address address,
                                     uint64_t size_bytes,
                                     ferrum_stream stream) {
    if (FM_OPEN() && FM_LIKELY(size_bytes - 1 < FM_LARGE_ABOVE) &&
        FM_LIKELY(fm_cache_free_hit(pool.id, stream.id, address, size_bytes)))
        return FERRUM_OK;
    return fm_pool_free_sized_rest(pool, address, size_bytes, stream);
}

ferrum_status ferrum_pool_free_batch(ferrum_pool pool,
                                     const ferrum_address *addresses,
                                     uint64_t count, ferrum_stream stream) {
    FM_ENTER();
    FM_REQUIRE(addresses);
    FM_BATCH(count);
    FM_CACHED(fm_cache_free_batch(pool.id, stream.id, addresses, count));
    FM_RETURN(fmgo_pool_free_batch(pool.id, (ferrum_address *)addresses, count,
                                   stream.id));
}

FM_REST fm_pool_usable_size_rest(ferrum_pool pool, ferrum_address address,
                                 uint64_t *size_bytes_out) {
    static const char function[] = "ferrum_pool_usable_size";
    FM_ENTER_FOR(ferrum_pool_usable_size);
    if (size_bytes_out == NULL)
        return fm_null(function, "size_bytes_out");
    *size_bytes_out = 0;
    if (fm_large_usable_size(pool.id, address, size_bytes_out))
        return FERRUM_OK;
    FM_CACHED_IN(function,
                 fm_cache_usable_size(pool.id, address, size_bytes_out));
    FM_RETURN_IN(function,
                 fmgo_pool_usable_size(pool.id, address, size_bytes_out));
}

ferrum_status ferrum_pool_usable_size(ferrum_pool pool, ferrum_address address,
                                      uint64_t *size_bytes_out) {
    if (FM_OPEN() && FM_LIKELY(size_bytes_out != NULL) &&
        FM_LIKELY(fm_cache_size_hit(pool.id, address, size_bytes_out)))
        return FERRUM_OK;
    return fm_pool_usable_size_rest(pool, address, size_bytes_out);
}
