/* Section 8 of the header: pools. */
#include "_cgo_export.h"
#include "guard.h"

ferrum_status ferrum_pool_create(ferrum_device device,
                                 const ferrum_pool_config *config,
                                 ferrum_pool *pool_out) {
    FM_ENTER();
    FM_REQUIRE(pool_out);
    pool_out->id = 0;
    ferrum_pool_config full = FERRUM_POOL_CONFIG_INIT;
    if (config != NULL)
        FM_STRUCT_IN(config, full);
    FM_RETURN(fmgo_pool_create(device.id, &full, &pool_out->id));
}

ferrum_status ferrum_pool_destroy(ferrum_pool pool, uint32_t flags) {
    FM_ENTER();
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_pool_destroy(pool.id, flags));
}

ferrum_status ferrum_pool_alloc(ferrum_pool pool, uint64_t size_bytes,
                                ferrum_stream stream,
                                ferrum_address *address_out) {
    FM_ENTER();
    FM_REQUIRE(address_out);
    *address_out = 0;
    FM_RETURN(fmgo_pool_alloc(pool.id, size_bytes, stream.id, address_out));
}

ferrum_status ferrum_pool_alloc_aligned(ferrum_pool pool, uint64_t size_bytes,
                                        uint64_t alignment_bytes,
                                        ferrum_stream stream,
                                        ferrum_address *address_out) {
    FM_ENTER();
    FM_REQUIRE(address_out);
    *address_out = 0;
    FM_RETURN(fmgo_pool_alloc_aligned(pool.id, size_bytes, alignment_bytes,
                                      stream.id, address_out));
}

ferrum_status ferrum_pool_free(ferrum_pool pool, ferrum_address address,
                               ferrum_stream stream) {
    FM_ENTER();
    FM_RETURN(fmgo_pool_free(pool.id, address, stream.id));
}

ferrum_status ferrum_pool_trim(ferrum_pool pool, uint64_t keep_bytes,
                               uint64_t *released_bytes_out) {
    FM_ENTER();
    FM_REQUIRE(released_bytes_out);
    *released_bytes_out = 0;
    FM_RETURN(fmgo_pool_trim(pool.id, keep_bytes, released_bytes_out));
}

ferrum_status ferrum_pool_set_limit(ferrum_pool pool, uint64_t max_size_bytes) {
    FM_ENTER();
    FM_RETURN(fmgo_pool_set_limit(pool.id, max_size_bytes));
}

ferrum_status ferrum_pool_get_statistics(ferrum_pool pool,
                                         ferrum_statistics *statistics_out) {
    FM_ENTER();
    FM_REQUIRE(statistics_out);
    FM_STRUCT_OUT(statistics_out);
    ferrum_statistics full = FERRUM_STATISTICS_INIT;
    FM_RETURN_STRUCT(fmgo_pool_get_statistics(pool.id, &full), statistics_out,
                     full);
}
