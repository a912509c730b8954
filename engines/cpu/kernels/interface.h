/*
 * The calls of the kernels: requests, and the table of one instruction set.
 *
 * A request is a plain struct of numbers. Addresses are those of memory that the
 * process can read and write. Strides count elements, and may be 0 or negative
 * unless a field states otherwise. A kernel never allocates, and writes only the
 * output and the workspace that the caller gives.
 *
 * A kernel runs in parts. run(request, part, parts, workspace) computes part
 * `part` of `parts`; the parts write different elements and may run at the same
 * time. The division depends only on the request and the number of parts, so the
 * same number of parts gives the same bits.
 */
#ifndef FK_INTERFACE_H
#define FK_INTERFACE_H

#include <stdint.h>

/*
 * Types of elements, with the numbers of ferrum_dtype. The kernels of a set
 * compute in F32, and read and write F32, F16, BF16 and I8. The general kernels
 * take all types: they compute floating point in F64 and integers in 64 bits.
 */
enum {
    FK_F32 = 0,
    FK_F16 = 1,
    FK_BF16 = 2,
    FK_F64 = 3,
    FK_F8_E4M3 = 4,
    FK_I8 = 5,
    FK_U8 = 6,
    FK_I16 = 7,
    FK_I32 = 8,
    FK_I64 = 9,
    FK_U16 = 10,
    FK_U32 = 11,
    FK_U64 = 12,
    FK_BOOL = 13,
    FK_F8_E5M2 = 14,
    FK_F8_E8M0 = 15,
    FK_F4_E2M1 = 16,
    FK_I4 = 17,
    FK_U4 = 18,
    FK_Q4_0 = 258,
    FK_Q8_0 = 264
};

#define FK_RANK 8
/* The number of elements of a column that share a scale, for weights of a block
 * type. */
#define FK_BLOCK 32

/*
 * y = activation(alpha * a b + beta * add) + residual, for each matrix of a batch.
 * a has m rows and k columns, b k rows and n columns. Without add (0), beta is not
 * read. y may be add, or residual without an activation, at the same strides. It
 * overlaps nothing else. Integers have no activation and no residual.
 */
struct fk_matmul {
    int64_t m, n, k;
    uint64_t a;
    int64_t a_type, a_row, a_column; /* F32, F16, BF16, I8 */
    /* Packed (fk_pack), or F32, F16, BF16, I8 with strides. For a packed b,
     * b_type is the type inside, and batch strides count bytes. */
    uint64_t b;
    int64_t b_type, b_row, b_column, b_packed;
    uint64_t y;
    int64_t y_type, y_row; /* F32, F16, BF16; columns are adjacent */
    uint64_t add;
    int64_t add_type, add_row, add_column;
    double alpha, beta;
    /* FK_MAP_COPY (none), RELU, GELU, GELU_TANH, or SWISH with a factor of 1. */
    int64_t activation;
    uint64_t residual;
    int64_t residual_type, residual_row, residual_column;
    int64_t rank; /* of the batch */
    int64_t batch[FK_RANK], a_batch[FK_RANK], b_batch[FK_RANK];
    int64_t y_batch[FK_RANK], add_batch[FK_RANK], residual_batch[FK_RANK];
};

/*
 * Packs a matrix b of k rows and n columns. F32, F16, BF16 and I8 keep their
 * type. Q8_0 and Q4_0 are blocks as in a GGUF file: each column of b is a row of
 * k / 32 blocks, and columns follow each other (b_row and b_column are not
 * read).
 */
struct fk_pack {
    int64_t n, k;
    uint64_t b;
    int64_t b_type, b_row, b_column;
    uint64_t packed; /* aligned to 64 bytes */
};

enum {
    FK_MAP_COPY,
    FK_MAP_ADD,
    FK_MAP_SUB,
    FK_MAP_MUL,
    FK_MAP_DIV,
    FK_MAP_POW,
    FK_MAP_SILU_MUL,
    FK_MAP_SQRT,
    FK_MAP_RELU,
    FK_MAP_TANH,
    FK_MAP_ERF,
    FK_MAP_GELU,
    FK_MAP_GELU_TANH,
    FK_MAP_SWISH,
    FK_MAP_EXP,
    FK_MAPS
};

/* How a conversion to F8_E8M0 rounds. */
enum { FK_ROUND_UP, FK_ROUND_DOWN, FK_ROUND_NEAREST };

/*
 * y = op(x) or op(x, z), for each element. z is 0 for an operation with one input.
 * factor is the factor of Swish. saturates and rounding are for a copy to 8-bit
 * floating point. Types: F32, F16, BF16; I8 for x and z; general: all. y may be x
 * or z, at the same strides and with the same size of elements.
 */
struct fk_map {
    int64_t op, rank, dims[FK_RANK];
    uint64_t x;
    int64_t x_type, x_strides[FK_RANK];
    uint64_t z;
    int64_t z_type, z_strides[FK_RANK];
    uint64_t y;
    int64_t y_type, y_strides[FK_RANK];
    double factor;
    int64_t saturates, rounding;
};

enum { FK_ROWS_SOFTMAX, FK_ROWS_LAYER_NORM, FK_ROWS_RMS_NORM };

/*
 * y = op(x + residual), for each row of n elements. The rows have dimensions and
 * strides, and the elements of a row a step. Addresses of absent operands are 0.
 * sum receives x + residual. Normalizations multiply by scale and add bias, which
 * have n elements; general: others for each row, with strides. mean and deviation
 * (the inverse standard deviation) receive an F32 for each row, and are adjacent.
 * y may be x or residual, and sum may be residual or x, at the same strides; y and
 * sum do not overlap.
 */
struct fk_rows {
    int64_t op, n, rank, dims[FK_RANK];
    uint64_t x;
    int64_t x_type, x_step, x_strides[FK_RANK];
    uint64_t residual;
    int64_t residual_type, residual_step, residual_strides[FK_RANK];
    uint64_t y;
    int64_t y_type, y_step, y_strides[FK_RANK];
    uint64_t sum;
    int64_t sum_type, sum_step, sum_strides[FK_RANK];
    uint64_t scale;
    int64_t scale_type, scale_step;
    uint64_t bias;
    int64_t bias_type, bias_step;
    uint64_t mean, deviation;
    double epsilon;
    int64_t scale_strides[FK_RANK], bias_strides[FK_RANK];
};

/*
 * y = softmax(scale q k^T + mask) v, for each head of each batch. heads is a
 * multiple of key_heads: query head h reads the keys of head h * key_heads /
 * heads. softcap above 0 replaces a score s by softcap * tanh(s / softcap).
 *
 * Query i sees the keys up to i + last if has_last is not 0, and those from
 * i + first on if has_first is not 0. lengths (or 0) has an I64 for each batch:
 * how many of the keys are valid. If follows_length is not 0, the length minus the
 * number of queries is added to last and first. The mask (or 0) is added to the
 * scores; in a mask of BOOL, 0 hides a key, and -infinity does in any other. Keys
 * from mask_keys on are hidden. The elements of a hidden key do not matter. A query
 * that sees no key has the result 0.
 *
 * With tables (or 0) the keys and values are in pages of page_tokens tokens, and
 * k_batch and v_batch are the distances of pages. Key j of a batch is row j %
 * page_tokens of the page tables[batch * table_row + j / page_tokens]. tables and
 * lengths have elements of I32, and keys is page_tokens * table_row. check finds
 * the first length that is not in [0, keys], or the first number that is not in
 * [0, pages], of the pages of which a query sees a key.
 *
 * depth is at most 512; general: any. The kernel for few (FK_KERNEL_FEW) takes 1 to
 * 16 keys, depth and value_depth that are multiples of 4, F32 with a step of 1, no
 * mask, no lengths, no softcap, and has_first 0. y overlaps no input. scores (or 0;
 * general) receives q k^T of stage 0, or its form after softcap (1), after the mask
 * (2) or after softmax (3).
 */
struct fk_attention {
    int64_t batch, heads, key_heads, queries, keys, depth, value_depth;
    uint64_t q;
    int64_t q_type, q_batch, q_head, q_row, q_step;
    uint64_t k;
    int64_t k_type, k_batch, k_head, k_row, k_step;
    uint64_t v;
    int64_t v_type, v_batch, v_head, v_row, v_step;
    uint64_t y; /* general: may be 0 */
    int64_t y_type, y_batch, y_head, y_row, y_step;
    uint64_t mask;
    int64_t mask_type, mask_batch, mask_head, mask_row, mask_key, mask_keys;
    uint64_t lengths;
    uint64_t tables;
    int64_t table_row, page_tokens, pages;
    int64_t has_last, last, has_first, first, follows_length;
    double scale, softcap;
    uint64_t scores;
    int64_t scores_type, scores_batch, scores_head, scores_row, scores_key;
    int64_t stage;
};

/* Copies elements of 1, 2, 4, 8 or 16 bytes. The arrays do not overlap. */
struct fk_copy {
    int64_t bytes, rank, dims[FK_RANK];
    uint64_t x;
    int64_t x_strides[FK_RANK];
    uint64_t y;
    int64_t y_strides[FK_RANK];
};

/*
 * y[d, i] = x[d, indices[i]], for runs of bytes, where d is an index of the other
 * dimensions. A negative index counts from the end. Strides count bytes. The
 * indices are adjacent, of I32 if is_short is not 0, else of I64. check finds the
 * first index out of range.
 */
struct fk_gather {
    int64_t rank, dims[FK_RANK], count, length, run_bytes;
    uint64_t x;
    int64_t x_strides[FK_RANK], x_index;
    uint64_t indices;
    int64_t is_short;
    uint64_t y;
    int64_t y_strides[FK_RANK], y_index;
};

/* y = condition ? x : z, for elements of 1, 2, 4 or 8 bytes. condition: BOOL. y may
 * be x or z, at the same strides. */
struct fk_where {
    int64_t bytes, rank, dims[FK_RANK];
    uint64_t condition;
    int64_t condition_strides[FK_RANK];
    uint64_t x;
    int64_t x_strides[FK_RANK];
    uint64_t z;
    int64_t z_strides[FK_RANK];
    uint64_t y;
    int64_t y_strides[FK_RANK];
};

/*
 * The k largest elements of each line of n elements, in descending order, or the
 * smallest in ascending order. NaN is the largest. Of equal elements the one with
 * the lower index comes first; if prefers_last is not 0, the one with the higher
 * index. values (or 0) have the type of x, indices (or 0) are I64. Types: F32, F16,
 * BF16, I8; general: all. The outputs overlap no input.
 */
struct fk_top {
    int64_t n, k, is_smallest, prefers_last, rank, dims[FK_RANK];
    uint64_t x;
    int64_t x_type, x_step, x_strides[FK_RANK];
    uint64_t values;
    int64_t values_step, values_strides[FK_RANK];
    uint64_t indices;
    int64_t indices_step, indices_strides[FK_RANK];
};

enum { FK_REDUCE_SUM, FK_REDUCE_MEAN, FK_REDUCE_MAX, FK_REDUCES };

/*
 * Reduces some dimensions of x. dims are those of y. Without elements the sum is
 * 0, the mean NaN, and the maximum -infinity. y overlaps no input.
 */
struct fk_reduce {
    int64_t op, rank, dims[FK_RANK], reduced_rank, reduced[FK_RANK];
    uint64_t x;
    int64_t x_type, x_strides[FK_RANK], reduced_strides[FK_RANK];
    uint64_t y;
    int64_t y_type, y_strides[FK_RANK];
};

/*
 * Rotates pairs of the first `rotated` elements of each row of depth elements, and
 * copies the others. The angles have rotated / 2 cosines and sines for each
 * position, which are adjacent. With positions (I64, batch x rows, adjacent) a row
 * has the angles at position * angle_row, and check finds the first position that
 * is not in [0, most). Without (0), it has those at batch * angle_batch +
 * row * angle_row. Elements of a row are adjacent. y may be x at the same strides,
 * with elements of the same size.
 */
struct fk_rotary {
    int64_t batch, heads, rows, depth, rotated, is_interleaved;
    uint64_t x;
    int64_t x_type, x_batch, x_head, x_row;
    uint64_t y;
    int64_t y_type, y_batch, y_head, y_row;
    uint64_t cosines, sines;
    int64_t angle_type, angle_batch, angle_row;
    uint64_t positions;
    int64_t most;
};

enum {
    FK_KERNEL_MATMUL,
    FK_KERNEL_PACK,
    FK_KERNEL_MAP,
    FK_KERNEL_ROWS,
    FK_KERNEL_ATTENTION,
    FK_KERNEL_FEW,
    FK_KERNEL_COPY,
    FK_KERNEL_GATHER,
    FK_KERNEL_REDUCE,
    FK_KERNEL_ROTARY,
    FK_KERNEL_WHERE,
    FK_KERNEL_TOP,
    FK_KERNELS
};

/* The general kernels take the requests of kernels of the sets. */
enum {
    FK_GENERAL_MATMUL,
    FK_GENERAL_MAP,
    FK_GENERAL_ROWS,
    FK_GENERAL_ATTENTION,
    FK_GENERAL_REDUCE,
    FK_GENERAL_TOP,
    FK_GENERALS
};

/* The parts of a request for each thread. A thread that has completed a part takes
 * another one, so one that others disturb does less. */
#define FK_PARTS_OF_THREAD 2

typedef void fk_run_part(const void *request, int64_t part, int64_t parts,
                         char *workspace);

struct fk_kernel {
    /* The largest useful number of parts, at least 1. */
    int64_t (*parts)(const void *request);
    /* Bytes of workspace of a part, a multiple of 64. Parts that run one after the
     * other may have the same one. */
    int64_t (*workspace)(const void *request);
    fk_run_part *run;
    /* NULL, or the place of the first index in memory that is out of range, or
     * -1. The caller checks before it runs the kernel. */
    int64_t (*check)(const void *request);
};

/* The kernels of one instruction set. */
struct fk_table {
    struct fk_kernel kernels[FK_KERNELS];
    /* Bytes of a packed matrix, a multiple of 64; -1 if it is too large. */
    int64_t (*packed_bytes)(int64_t type, int64_t n, int64_t k);
};

#endif
