#include "operations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const operation operations[] = {
    {"Add", "", "f2,3 f3", 1},
    {"ArgMax", "{\"axis\":1}", "f2,3", 1},
    {"Attention", "", "f1,2,4,8 f1,1,5,8 f1,1,5,8 f4,5", 4},
    {"Cast", "{\"to\":\"f16\"}", "f2,3", 1},
    {"Concat", "{\"axis\":0}", "f2,3 f1,3", 1},
    {"Div", "", "f2,3 f2,3", 1},
    {"Erf", "", "f2,3", 1},
    {"Expand", "", "f1,3 i2:2,3", 1},
    {"Gather", "", "f3,3 i2:2,0", 1},
    {"Gelu", "", "f2,3", 1},
    {"Gemm", "{\"alpha\":0.5}", "f2,3 f3,2 f2,2", 1},
    {"LayerNormalization", "", "f2,3 f3 f3", 3},
    {"MatMul", "", "f9,33 f33,17", 1},
    {"Mul", "", "f2,3 f2,3", 1},
    {"Pow", "", "f2,3 f2,3", 1},
    {"RMSNormalization", "", "f2,3 f3", 1},
    {"ReduceMax", "", "f2,3 i1:1", 1},
    {"ReduceMean", "", "f2,3 i1:1", 1},
    {"ReduceSum", "", "f2,3 i1:1", 1},
    {"Relu", "", "f2,3", 1},
    {"Reshape", "", "f2,3 i2:3,2", 1},
    {"RotaryEmbedding", "", "f1,1,2,4 f3,2 f3,2 i1,2:1,2", 1},
    {"Slice", "", "f4,3 i1:1 i1:3", 1},
    {"Softmax", "{\"axis\":0}", "f2,3", 1},
    {"Split", "", "f4,3 i2:1,3", 2},
    {"Sqrt", "", "f2,3", 1},
    {"Squeeze", "", "f1,3 i1:0", 1},
    {"Sub", "", "f2,3 f2,3", 1},
    {"Swish", "", "f2,3", 1},
    {"Tanh", "", "f2,3", 1},
    {"TopK", "", "f2,4 i1:2", 2},
    {"Transpose", "", "f2,3", 1},
    {"Unsqueeze", "", "f2,3 i1:0", 1},
    {"Where", "", "b3 f2,3 f2,1", 1},
    {"ferrum.layer_norm_residual", "", "f2,3 f2,3 f3 f3", 2},
    {"ferrum.linear", "{\"activation\":\"gelu\"}", "f2,3 f4,3 f4 f2,4", 1},
    {"ferrum.paged_attention", "",
     "f2,1,16 f3,1,4,8 f3,1,4,8 n2,2:2,0,1,-1 n2:5,3", 1},
    {"ferrum.quantized_linear", "", "f2,32 q4,32 f4", 1},
    {"ferrum.rms_norm_residual", "", "f2,3 f2,3 f3", 2},
    {"ferrum.self_attention", "{\"num_heads\":2}", "f1,4,48 b1,1,1,4", 1},
    {"ferrum.silu_mul", "", "f2,3 f2,3", 1},
};
const size_t operation_count = sizeof operations / sizeof *operations;

static void must(ferrum_status status, const operation *of) {
    if (status != FERRUM_OK) {
        fprintf(stderr, "the inputs of %s: %s\n", of->name,
                ferrum_status_name(status));
        abort();
    }
}

static ferrum_dtype type_of(char letter) {
    switch (letter) {
    case 'i':
        return FERRUM_DTYPE_I64;
    case 'n':
        return FERRUM_DTYPE_I32;
    case 'b':
        return FERRUM_DTYPE_BOOL;
    case 'q':
        return FERRUM_DTYPE_Q8_0;
    default:
        return FERRUM_DTYPE_F32;
    }
}

/* Reads numbers with commas between them. */
static uint64_t numbers(char **text, int64_t *list) {
    uint64_t count = 0;
    do {
        list[count++] = strtoll(*text, text, 10);
    } while (*(*text)++ == ',');
    --*text;
    return count;
}

uint64_t make_inputs(const operation *of, const ferrum_weights_memory *memory,
                     ferrum_tensor *inputs) {
    static const ferrum_stream none;
    union {
        float f[1024];
        int64_t i[512];
        int32_t n[1024];
        unsigned char bytes[4096];
    } values;
    uint64_t count = 0;
    for (char *at = (char *)of->inputs; *at != 0; at += *at == ' ') {
        char letter = *at++;
        int64_t shape[FERRUM_TENSOR_RANK_MAX];
        uint64_t rank = numbers(&at, shape);
        memset(&values, 1, sizeof values);
        for (int i = 0; letter == 'f' && i < 1024; i++)
            values.f[i] = (float)((i * 7 + (int)count) % 11) / 4 + 0.5f;
        if (*at == ':') {
            at++;
            uint64_t given = numbers(&at, values.i);
            for (uint64_t i = 0; letter == 'n' && i < given; i++)
                values.n[i] = (int32_t)values.i[i];
        }
        ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
        must(ferrum_tensor_create(memory, type_of(letter), shape, rank, none,
                                  &inputs[count]),
             of);
        must(ferrum_tensor_describe(inputs[count], &desc), of);
        must(ferrum_tensor_write(inputs[count], &values, desc.size_bytes, none),
             of);
        count++;
    }
    return count;
}
