/*
 * Pools of the Unified Memory Framework over its OS memory provider:
 *
 *   umf_disjoint        with all defaults,
 *   umf_disjoint_tuned  with the fastest settings for these workloads of all
 *                       combinations tried (slabs of 64 KiB to 64 MiB, 4 to
 *                       100,000 free slabs kept for each size class, classes
 *                       from 64 or 256 B, up to 2 MiB or 1 GiB),
 *   umf_scalable        with all defaults (TBB's allocator).
 *
 * Without UMF's headers the adapters report that UMF is missing.
 */
#include "bench.h"

#include <stdio.h>
#include <string.h>

#if __has_include(<umf.h>)

#include <umf.h>
#include <umf/pools/pool_disjoint.h>
#include <umf/pools/pool_scalable.h>
#include <umf/providers/provider_os_memory.h>

static const struct {
    size_t capacity, slab_min_bytes, max_poolable_bytes, min_bucket_bytes;
} tuned_settings = {1024, 64 << 20, 1 << 30, 256};

static struct umf {
    umf_memory_provider_handle_t provider;
    umf_memory_pool_handle_t pool;
    __typeof__(&umfGetCurrentVersion) current_version;
    __typeof__(&umfOsMemoryProviderParamsCreate) os_params_create;
    __typeof__(&umfOsMemoryProviderParamsDestroy) os_params_destroy;
    __typeof__(&umfOsMemoryProviderOps) os_ops;
    __typeof__(&umfMemoryProviderCreate) provider_create;
    __typeof__(&umfMemoryProviderDestroy) provider_destroy;
    __typeof__(&umfDisjointPoolParamsCreate) disjoint_params_create;
    __typeof__(&umfDisjointPoolParamsDestroy) disjoint_params_destroy;
    __typeof__(&umfDisjointPoolParamsSetCapacity) disjoint_set_capacity;
    __typeof__(&umfDisjointPoolParamsSetSlabMinSize) disjoint_set_slab_min;
    __typeof__(&umfDisjointPoolParamsSetMaxPoolableSize) disjoint_set_max;
    __typeof__(&umfDisjointPoolParamsSetMinBucketSize) disjoint_set_min_bucket;
    __typeof__(&umfDisjointPoolOps) disjoint_ops;
    __typeof__(&umfScalablePoolParamsCreate) scalable_params_create;
    __typeof__(&umfScalablePoolParamsDestroy) scalable_params_destroy;
    __typeof__(&umfScalablePoolOps) scalable_ops;
    __typeof__(&umfPoolCreate) pool_create;
    __typeof__(&umfPoolDestroy) pool_destroy;
    __typeof__(&umfPoolMalloc) pool_malloc;
    __typeof__(&umfPoolFree) pool_free;
    __typeof__(&umfPoolTrimMemory) pool_trim;
} umf;

static bool resolve(void *library) {
    const struct {
        const char *name;
        void *function;
    } symbols[] = {
        {"umfGetCurrentVersion", &umf.current_version},
        {"umfOsMemoryProviderParamsCreate", &umf.os_params_create},
        {"umfOsMemoryProviderParamsDestroy", &umf.os_params_destroy},
        {"umfOsMemoryProviderOps", &umf.os_ops},
        {"umfMemoryProviderCreate", &umf.provider_create},
        {"umfMemoryProviderDestroy", &umf.provider_destroy},
        {"umfDisjointPoolParamsCreate", &umf.disjoint_params_create},
        {"umfDisjointPoolParamsDestroy", &umf.disjoint_params_destroy},
        {"umfDisjointPoolParamsSetCapacity", &umf.disjoint_set_capacity},
        {"umfDisjointPoolParamsSetSlabMinSize", &umf.disjoint_set_slab_min},
        {"umfDisjointPoolParamsSetMaxPoolableSize", &umf.disjoint_set_max},
        {"umfDisjointPoolParamsSetMinBucketSize", &umf.disjoint_set_min_bucket},
        {"umfDisjointPoolOps", &umf.disjoint_ops},
        {"umfScalablePoolParamsCreate", &umf.scalable_params_create},
        {"umfScalablePoolParamsDestroy", &umf.scalable_params_destroy},
        {"umfScalablePoolOps", &umf.scalable_ops},
        {"umfPoolCreate", &umf.pool_create},
        {"umfPoolDestroy", &umf.pool_destroy},
        {"umfPoolMalloc", &umf.pool_malloc},
        {"umfPoolFree", &umf.pool_free},
        {"umfPoolTrimMemory", &umf.pool_trim},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++)
        if (!library_symbol(library, symbols[i].name, symbols[i].function))
            return missing("libumf has no %s", symbols[i].name);
    return true;
}

static void must(umf_result_t result, const char *what) {
    if (result != UMF_RESULT_SUCCESS)
        die("%s: result %d", what, (int)result);
}

static uint64_t pool_allocate(void *context, uint64_t size_bytes) {
    (void)context;
    return (uint64_t)(uintptr_t)umf.pool_malloc(umf.pool, size_bytes);
}

static bool pool_release(void *context, uint64_t address) {
    (void)context;
    return umf.pool_free(umf.pool, (void *)(uintptr_t)address) ==
           UMF_RESULT_SUCCESS;
}

/* A pool that does not support trimming returns an error and stays as it is. */
static void pool_trim(void *context) {
    (void)context;
    umf_result_t result = umf.pool_trim(umf.pool, 0);
    if (result != UMF_RESULT_ERROR_NOT_SUPPORTED)
        must(result, "umfPoolTrimMemory");
}

static void pool_close(void *context) {
    (void)context;
    must(umf.pool_destroy(umf.pool), "umfPoolDestroy");
    must(umf.provider_destroy(umf.provider), "umfMemoryProviderDestroy");
}

static void open_provider(void) {
    umf_os_memory_provider_params_handle_t params;
    must(umf.os_params_create(&params), "umfOsMemoryProviderParamsCreate");
    must(umf.provider_create(umf.os_ops(), params, &umf.provider),
         "umfMemoryProviderCreate");
    must(umf.os_params_destroy(params), "umfOsMemoryProviderParamsDestroy");
}

static void open_disjoint(bool tuned) {
    umf_disjoint_pool_params_handle_t params;
    must(umf.disjoint_params_create(&params), "umfDisjointPoolParamsCreate");
    if (tuned) {
        must(umf.disjoint_set_capacity(params, tuned_settings.capacity),
             "umfDisjointPoolParamsSetCapacity");
        must(umf.disjoint_set_slab_min(params, tuned_settings.slab_min_bytes),
             "umfDisjointPoolParamsSetSlabMinSize");
        must(umf.disjoint_set_max(params, tuned_settings.max_poolable_bytes),
             "umfDisjointPoolParamsSetMaxPoolableSize");
        must(umf.disjoint_set_min_bucket(params,
                                         tuned_settings.min_bucket_bytes),
             "umfDisjointPoolParamsSetMinBucketSize");
    }
    must(
        umf.pool_create(umf.disjoint_ops(), umf.provider, params, 0, &umf.pool),
        "umfPoolCreate");
    must(umf.disjoint_params_destroy(params), "umfDisjointPoolParamsDestroy");
}

/* The pool's own library, TBB, may be missing. Then the pool cannot be
 * created. */
static bool open_scalable(void) {
    umf_scalable_pool_params_handle_t params;
    must(umf.scalable_params_create(&params), "umfScalablePoolParamsCreate");
    umf_result_t result =
        umf.pool_create(umf.scalable_ops(), umf.provider, params, 0, &umf.pool);
    must(umf.scalable_params_destroy(params), "umfScalablePoolParamsDestroy");
    if (result == UMF_RESULT_SUCCESS)
        return true;
    must(umf.provider_destroy(umf.provider), "umfMemoryProviderDestroy");
    return missing("UMF's scalable pool cannot be made (result %d); it needs "
                   "libtbbmalloc.so.2",
                   (int)result);
}

static bool umf_open(const struct adapter_settings *settings,
                     struct allocator *allocator_out) {
    if (settings->library == NULL)
        return missing("%s needs --library FILE", settings->name);
    void *library = library_open(settings->library);
    if (library == NULL || !resolve(library))
        return false;
    open_provider();
    if (strcmp(settings->name, "umf_scalable") != 0)
        open_disjoint(strcmp(settings->name, "umf_disjoint_tuned") == 0);
    else if (!open_scalable())
        return false;
    int version = umf.current_version();
    snprintf(allocator_out->version, sizeof allocator_out->version, "%d.%d",
             UMF_MAJOR_VERSION(version), UMF_MINOR_VERSION(version));
    allocator_out->allocate = pool_allocate;
    allocator_out->release = pool_release;
    allocator_out->trim = pool_trim;
    allocator_out->close = pool_close;
    allocator_out->writable = true;
    return true;
}

#else

static bool umf_open(const struct adapter_settings *settings,
                     struct allocator *allocator_out) {
    (void)allocator_out;
    return missing("%s: the bench was built without UMF's headers",
                   settings->name);
}

#endif

const struct adapter umf_adapters[] = {
    {"umf_disjoint", umf_open},
    {"umf_disjoint_tuned", umf_open},
    {"umf_scalable", umf_open},
    {NULL, NULL},
};
