/* Generated from include/ferrum_mem.h; do not edit. */
#ifndef FERRUM_MEM_BACKENDS_GEN_H
#define FERRUM_MEM_BACKENDS_GEN_H

/* X(name in device ids, name for people), from FERRUM_BACKEND_AUTO on. */
/* clang-format off */
#define FM_BACKENDS(X) \
    X("auto", "Auto") \
    X("cpu", "CPU") \
    X("cuda", "CUDA") \
    X("rocm", "ROCm") \
    X("metal", "Metal") \
    X("opencl", "OpenCL")
/* clang-format on */

#endif
