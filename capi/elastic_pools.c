/* The allocation from an elastic pool that is a short form of another. */
#include "_cgo_export.h"
#include "guard.h"

ferrum_status ferrum_elastic_pool_alloc(ferrum_elastic_pool pool,
                                        const char *model, uint64_t size_bytes,
                                        ferrum_address *address_out,
                                        uint64_t *offset_bytes_out) {
    FM_ENTER();
    FM_REQUIRE(address_out);
    *address_out = 0;
    if (offset_bytes_out != NULL)
        *offset_bytes_out = 0;
    FM_REQUIRE(model);
    ferrum_model_request request = FERRUM_MODEL_REQUEST_INIT;
    request.size_bytes = size_bytes;
    uint64_t offset_bytes = 0;
    ferrum_status status = fmgo_elastic_pool_alloc_with(
        pool.id, (char *)model, &request, address_out, &offset_bytes);
    if (status != FERRUM_OK)
        return fm_failed_in(__func__, status);
    if (offset_bytes_out != NULL)
        *offset_bytes_out = offset_bytes;
    return FERRUM_OK;
}
