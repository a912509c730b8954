#include "kernel.h"

#include <stdlib.h>
#include <string.h>

/* The functions of struct OrtApi that a call needs, by their places. All
 * return NULL or an OrtStatus. */
enum {
    CREATE_STATUS = 0,
    TENSOR_DATA = 51,
    DIMENSION_COUNT = 61,
    DIMENSIONS = 62,
    TENSOR_SHAPE = 65,
    INPUT = 90,
    OUTPUT = 91,
    RELEASE_SHAPE = 99,
};

static void *failure(const struct fo_kernel *kernel, const char *text) {
    const int failed = 1; /* ORT_FAIL */
    void *(*create)(int, const char *) = kernel->api[CREATE_STATUS];
    return create(failed, text);
}

/* Reads the shape and the address of an input. */
static void *read_input(const struct fo_kernel *kernel, void *context,
                        size_t at, uint64_t *address, struct fo_shape *shape) {
    void *const *api = kernel->api;
    void *(*input)(void *, size_t, void **) = api[INPUT];
    void *(*data)(void *, void **) = api[TENSOR_DATA];
    void *(*shape_of)(void *, void **) = api[TENSOR_SHAPE];
    void *(*count)(void *, size_t *) = api[DIMENSION_COUNT];
    void *(*lengths)(void *, int64_t *, size_t) = api[DIMENSIONS];
    void (*release)(void *) = api[RELEASE_SHAPE];
    void *value = NULL, *info = NULL, *elements = NULL;
    size_t rank = 0;
    void *status = input(context, at, &value);
    if (status != NULL)
        return status;
    if (value == NULL)
        return failure(kernel, "an input is absent");
    if ((status = data(value, &elements)) != NULL ||
        (status = shape_of(value, &info)) != NULL)
        return status;
    if ((status = count(info, &rank)) == NULL && rank > FO_RANK_MAX)
        status = failure(kernel, "an input has more than 8 dimensions");
    if (status == NULL)
        status = lengths(info, shape->lengths, rank);
    release(info);
    *address = (uintptr_t)elements;
    shape->rank = rank;
    return status;
}

int fo_kernel_outputs(const struct fo_kernel *kernel, struct fo_call *call) {
    void *(*output)(void *, size_t, const int64_t *, size_t, void **) =
        kernel->api[OUTPUT];
    void *(*data)(void *, void **) = kernel->api[TENSOR_DATA];
    for (size_t i = 0; i < kernel->outputs; i++) {
        size_t at = kernel->inputs + i;
        if (kernel->types[at] == 0)
            continue;
        void *value = NULL, *elements = NULL;
        const struct fo_shape *shape = &call->shapes[at];
        call->status =
            output(call->context, i, shape->lengths, shape->rank, &value);
        if (call->status == NULL && value == NULL)
            call->status = failure(kernel, "an output is absent");
        if (call->status == NULL)
            call->status = data(value, &elements);
        if (call->status != NULL)
            return 0;
        call->addresses[at] = (uintptr_t)elements;
    }
    return 1;
}

/* Most layers have fewer operands. */
#define FEW_OPERANDS 8

static void *kernel_compute(void *self, void *context) {
    const struct fo_kernel *kernel = self;
    size_t count = kernel->inputs + kernel->outputs;
    struct {
        uint64_t address[FEW_OPERANDS];
        struct fo_shape shape[FEW_OPERANDS];
    } few;
    struct fo_call call = {context, few.address, few.shape, NULL};
    void *many = NULL;
    if (count > FEW_OPERANDS) {
        many = malloc(count * (sizeof(uint64_t) + sizeof(struct fo_shape)));
        if (many == NULL)
            return failure(kernel, "the process has no memory");
        call.addresses = many;
        call.shapes = (struct fo_shape *)(call.addresses + count);
    }
    memset(call.addresses, 0, count * sizeof *call.addresses);
    for (size_t i = 0; i < kernel->inputs && call.status == NULL; i++)
        if (kernel->types[i] != 0)
            call.status = read_input(kernel, context, i, &call.addresses[i],
                                     &call.shapes[i]);
    /* The session has the error of the function in Go. */
    if (call.status == NULL &&
        kernel->call((uintptr_t)kernel, (uintptr_t)&call) == 0 &&
        call.status == NULL)
        call.status = failure(kernel, "a layer of the program has failed");
    free(many);
    return call.status;
}

static void *kernel_create(const struct fo_kernel *self, const void *api,
                           const void *info, void **kernel_out) {
    (void)api;
    (void)info;
    *kernel_out = (void *)self;
    return NULL;
}

static void *kernel_create_old(const struct fo_kernel *self, const void *api,
                               const void *info) {
    (void)api;
    (void)info;
    return (void *)self;
}

static void kernel_compute_old(void *kernel, void *context) {
    (void)kernel_compute(kernel, context); /* version 17 calls compute */
}

static void kernel_destroy(void *kernel) { (void)kernel; }

static const char *kernel_name(const struct fo_kernel *self) {
    return self->text;
}

/* NULL is the provider of the processor. */
static const char *kernel_provider(const struct fo_kernel *self) {
    (void)self;
    return NULL;
}

static size_t kernel_inputs(const struct fo_kernel *self) {
    return self->inputs;
}

static size_t kernel_outputs(const struct fo_kernel *self) {
    return self->outputs;
}

/* An operand that the node does not have is optional, and needs a type. */
static int32_t type_at(const struct fo_kernel *self, size_t at) {
    const int32_t f32 = 1;
    return self->types[at] == 0 ? f32 : self->types[at];
}

static int32_t kind_at(const struct fo_kernel *self, size_t at) {
    return self->types[at] == 0;
}

static int32_t kernel_input_type(const struct fo_kernel *self, size_t at) {
    return type_at(self, at);
}

static int32_t kernel_output_type(const struct fo_kernel *self, size_t at) {
    return type_at(self, self->inputs + at);
}

static int32_t kernel_input_kind(const struct fo_kernel *self, size_t at) {
    return kind_at(self, at);
}

static int32_t kernel_output_kind(const struct fo_kernel *self, size_t at) {
    return kind_at(self, self->inputs + at);
}

static int32_t kernel_input_memory(const struct fo_kernel *self, size_t at) {
    (void)self;
    (void)at;
    return 0; /* OrtMemTypeDefault */
}

struct fo_kernel *fo_kernel_new(const char *name, const int32_t *types,
                                size_t inputs, size_t outputs) {
    size_t before =
        sizeof(struct fo_kernel) + (inputs + outputs) * sizeof *types;
    size_t length = strlen(name) + 1;
    struct fo_kernel *made = calloc(1, before + length);
    if (made == NULL)
        return NULL;
    made->version = 17;
    made->create_old = kernel_create_old;
    made->name = kernel_name;
    made->provider = kernel_provider;
    made->input_type = kernel_input_type;
    made->input_count = kernel_inputs;
    made->output_type = kernel_output_type;
    made->output_count = kernel_outputs;
    made->compute_old = kernel_compute_old;
    made->destroy = kernel_destroy;
    made->input_kind = kernel_input_kind;
    made->output_kind = kernel_output_kind;
    made->input_memory = kernel_input_memory;
    made->create = kernel_create;
    made->compute = kernel_compute;
    made->text = (char *)made + before;
    made->inputs = inputs;
    made->outputs = outputs;
    memcpy(made->types, types, (inputs + outputs) * sizeof *types);
    memcpy(made->text, name, length);
    return made;
}
