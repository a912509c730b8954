/* What ONNX Runtime calls for an operator that Go computes. */
#ifndef FERRUM_ORT_KERNEL_H
#define FERRUM_ORT_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#define FO_RANK_MAX 8

struct fo_shape {
    uint64_t rank;
    int64_t lengths[FO_RANK_MAX];
};

/* A call. The inputs come before the outputs in both lists. */
struct fo_call {
    void *context;
    uint64_t *addresses;
    struct fo_shape *shapes;
    /* OrtStatus of a failure of ONNX Runtime, or NULL. */
    void *status;
};

/* The members of struct OrtCustomOp of version 17. */
struct fo_kernel {
    uint32_t version;
    void *(*create_old)(const struct fo_kernel *self, const void *api,
                        const void *info);
    const char *(*name)(const struct fo_kernel *self);
    const char *(*provider)(const struct fo_kernel *self);
    int32_t (*input_type)(const struct fo_kernel *self, size_t at);
    size_t (*input_count)(const struct fo_kernel *self);
    int32_t (*output_type)(const struct fo_kernel *self, size_t at);
    size_t (*output_count)(const struct fo_kernel *self);
    void (*compute_old)(void *kernel, void *context);
    void (*destroy)(void *kernel);
    int32_t (*input_kind)(const struct fo_kernel *self, size_t at);
    int32_t (*output_kind)(const struct fo_kernel *self, size_t at);
    int32_t (*input_memory)(const struct fo_kernel *self, size_t at);
    int (*input_arity)(const struct fo_kernel *self);
    int (*input_likeness)(const struct fo_kernel *self);
    int (*output_arity)(const struct fo_kernel *self);
    int (*output_likeness)(const struct fo_kernel *self);
    void *(*create)(const struct fo_kernel *self, const void *api,
                    const void *info, void **kernel_out);
    void *(*compute)(void *kernel, void *context);
    void *(*infer)(const struct fo_kernel *self, void *context);
    int (*first_version)(const struct fo_kernel *self);
    int (*last_version)(const struct fo_kernel *self);
    /* Later members of OrtCustomOp, as in allocate.h. */
    void *later[8];
    /* Our own: the function in Go, struct OrtApi, and the operator. The types
     * are those of ONNX, of the inputs and then of the outputs; 0: the node
     * does not have it. */
    uintptr_t (*call)(uintptr_t self, uintptr_t call);
    void *const *api;
    char *text;
    size_t inputs, outputs;
    int32_t types[];
};

/* Makes an operator; NULL: the process has no memory. free frees it. */
struct fo_kernel *fo_kernel_new(const char *name, const int32_t *types,
                                size_t inputs, size_t outputs);

/* Makes the outputs of a call, whose shapes are set. 0: it has failed, and
 * its status is set. */
int fo_kernel_outputs(const struct fo_kernel *kernel, struct fo_call *call);

#endif
