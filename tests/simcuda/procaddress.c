/* cuGetProcAddress in both forms. The table compiles only if the vendor has
 * a call of each name and version, and if the function here has the type of
 * that call. */
#include "internal.h"

#include <cudaTypedefs.h>
#include <string.h>

#define SYMBOL(name, version, function)                                    \
    __attribute__((                                                        \
        unused)) static const PFN_##name##_v##version type_of_##function = \
        function;
#include "symbols.def"
#undef SYMBOL

static const struct {
    const char *name;
    int version;
    void *function;
} symbols[] = {
#define SYMBOL(name, version, function) {#name, version, (void *)function},
#include "symbols.def"
#undef SYMBOL
};

static CUresult look_up(const char *name, void **out, int version,
                        cuuint64_t flags,
                        CUdriverProcAddressQueryResult *status,
                        const char *call) {
    if (name == NULL || out == NULL || flags > 2)
        return fail(call, CUDA_ERROR_INVALID_VALUE,
                    "symbol or pfn is NULL or flags is %llu",
                    (unsigned long long)flags);
    *out = NULL;
    if (version > sim.config.version && sim.initialised)
        version = sim.config.version;
    int newest = 0;
    bool known = false;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        if (strcmp(symbols[i].name, name) != 0 ||
            symbols[i].version > simcuda_generation)
            continue;
        known = true;
        if (symbols[i].version <= version && symbols[i].version > newest) {
            newest = symbols[i].version;
            *out = symbols[i].function;
        }
    }
    if (status != NULL)
        *status = *out != NULL ? CU_GET_PROC_ADDRESS_SUCCESS
                  : known      ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                               : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *out != NULL ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char *name, void **out, int version,
                          cuuint64_t flags) {
    SIM_CALL(NO_INIT);
    return look_up(name, out, version, flags, NULL, __func__);
}

CUresult cuGetProcAddress_v2(const char *name, void **out, int version,
                             cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status) {
    SIM_CALL(NO_INIT);
    return look_up(name, out, version, flags, status, __func__);
}
