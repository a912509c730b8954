/* C functions that replace the kernels of the product. */
#include "internal.h"

/* drivers/cuda/kernels/first_other.cu */
static void first_other(const simcuda_launch *launch) {
    uint64_t at = *(const uint64_t *)launch->arguments[0],
             size = *(const uint64_t *)launch->arguments[1],
             result = *(const uint64_t *)launch->arguments[3];
    unsigned value = *(const unsigned *)launch->arguments[2];
    const unsigned char *bytes = simcuda_kernel_memory(at, size, 0);
    uint64_t *first = simcuda_kernel_memory(result, sizeof *first, 1);
    if (bytes == NULL || first == NULL)
        return;
    for (uint64_t i = 0; i < size && i < *first; i++)
        if (bytes[i] != (value & 0xff))
            *first = i;
}

__attribute__((constructor)) static void register_kernels(void) {
    simcuda_register_kernel("ferrum_first_other", first_other,
                            (const size_t[]){8, 8, 4, 8}, 4);
}
