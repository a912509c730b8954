/* Generated from include/ferrum_mem/kv_cache.h by scripts/genabi.py; do not edit. */
#include "arguments.h"

static void nothing_ferrum_pressure_fn(ferrum_device device,
                                       ferrum_pressure_level level,
                                       void *user_data) {
    (void)device;
    (void)level;
    (void)user_data;
}

static const struct_field fields_ferrum_kv_cache_config[] = {
    FIELD(ferrum_kv_cache_config, dtype, ENUMERATION, .unknown = {-1, 298}),
    FIELD(ferrum_kv_cache_config, block_tokens, VALUE),
    FIELD(ferrum_kv_cache_config, blocks, VALUE),
    FIELD(ferrum_kv_cache_config, host_blocks, VALUE),
    FIELD(ferrum_kv_cache_config, sequences, VALUE),
    FIELD(ferrum_kv_cache_config, sequence_tokens, VALUE),
    FIELD(ferrum_kv_cache_config, window_tokens, VALUE),
    FIELD(ferrum_kv_cache_config, layers, VALUE),
    FIELD(ferrum_kv_cache_config, kv_heads, VALUE),
    FIELD(ferrum_kv_cache_config, head_dim, VALUE),
    FIELD(ferrum_kv_cache_config, always_blocks, VALUE),
    FIELD(ferrum_kv_cache_config, hash_seed, VALUE),
    FIELD(ferrum_kv_cache_config, reserved, RESERVED)};
static const ferrum_kv_cache_config init_ferrum_kv_cache_config =
    FERRUM_KV_CACHE_CONFIG_INIT;
static const struct_type type_ferrum_kv_cache_config = {
    sizeof(ferrum_kv_cache_config), &init_ferrum_kv_cache_config,
    fields_ferrum_kv_cache_config, 13};

static const struct_field fields_ferrum_weights_memory[] = {
    FIELD(ferrum_weights_memory, pool, HANDLE, .kind = POOL, .is_optional = 1),
    FIELD(ferrum_weights_memory, vpool, HANDLE, .kind = VPOOL,
          .is_optional = 1),
    FIELD(ferrum_weights_memory, elastic_pool, HANDLE, .kind = ELASTIC_POOL,
          .is_optional = 1),
    FIELD(ferrum_weights_memory, device, HANDLE, .kind = DEVICE,
          .is_optional = 1),
    FIELD(ferrum_weights_memory, model, TEXT),
    FIELD(ferrum_weights_memory, offset_bytes, VALUE),
    FIELD(ferrum_weights_memory, tag, TEXT),
    FIELD(ferrum_weights_memory, reserved, RESERVED)};
static const struct_type type_ferrum_weights_memory = {
    sizeof(ferrum_weights_memory), NULL, fields_ferrum_weights_memory, 8};

static const ferrum_kv_cache_stats init_ferrum_kv_cache_stats =
    FERRUM_KV_CACHE_STATS_INIT;
static const struct_type type_ferrum_kv_cache_stats = {
    sizeof(ferrum_kv_cache_stats), &init_ferrum_kv_cache_stats, NULL, 0};

static ferrum_status call_kv_cache_create(const argument *a) {
    return ferrum_kv_cache_create(a[0].pointer, a[1].pointer,
                                  (ferrum_pool){a[2].number},
                                  (ferrum_stream){a[3].number}, a[4].pointer);
}
static const parameter parameters_kv_cache_create[] = {
    PARAMETER(config, STRUCT_IN, .type = &type_ferrum_kv_cache_config),
    PARAMETER(memory, STRUCT_IN, .type = &type_ferrum_weights_memory),
    PARAMETER(host_pool, HANDLE, .kind = POOL, .is_optional = 1),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1),
    PARAMETER(cache_out, OUT, .size = sizeof(ferrum_kv_cache))};

static ferrum_status call_kv_cache_destroy(const argument *a) {
    return ferrum_kv_cache_destroy((ferrum_kv_cache){a[0].number},
                                   (uint32_t)a[1].number);
}
static const parameter parameters_kv_cache_destroy[] = {
    PARAMETER(cache, HANDLE, .kind = KV_CACHE), PARAMETER(flags, FLAGS)};

static ferrum_status call_kv_cache_hash_tokens(const argument *a) {
    return ferrum_kv_cache_hash_tokens(
        (ferrum_kv_cache){a[0].number}, (uint64_t)a[1].number, a[2].pointer,
        (uint64_t)a[3].number, a[4].pointer, (size_t)a[5].number, a[6].pointer);
}
static const parameter parameters_kv_cache_hash_tokens[] = {
    PARAMETER(cache, HANDLE, .kind = KV_CACHE),
    PARAMETER(parent, VALUE),
    PARAMETER(tokens, ARRAY, .size = sizeof(int32_t)),
    PARAMETER(count, VALUE),
    PARAMETER(hashes_out, PLACES),
    PARAMETER(capacity, CAPACITY),
    PARAMETER(count_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_kv_cache_find(const argument *a) {
    return ferrum_kv_cache_find((ferrum_kv_cache){a[0].number}, a[1].pointer,
                                (uint64_t)a[2].number, a[3].pointer);
}
static const parameter parameters_kv_cache_find[] = {
    PARAMETER(cache, HANDLE, .kind = KV_CACHE),
    PARAMETER(hashes, ARRAY, .size = sizeof(uint64_t)), PARAMETER(count, VALUE),
    PARAMETER(blocks_out, OUT, .size = sizeof(uint64_t))};

static ferrum_status call_kv_cache_allocate(const argument *a) {
    return ferrum_kv_cache_allocate(
        (ferrum_kv_cache){a[0].number}, a[1].pointer, (uint64_t)a[2].number,
        a[3].pointer, (uint64_t)a[4].number, a[5].pointer,
        (uint64_t)a[6].number, a[7].pointer, (size_t)a[8].number, a[9].pointer);
}
static const parameter parameters_kv_cache_allocate[] = {
    PARAMETER(cache, HANDLE, .kind = KV_CACHE),
    PARAMETER(lengths, ARRAY, .size = sizeof(uint32_t)),
    PARAMETER(count, VALUE),
    PARAMETER(prefix_blocks, ARRAY, .size = sizeof(uint32_t)),
    PARAMETER(prefix_block_count, VALUE),
    PARAMETER(hashes, ARRAY, .size = sizeof(uint64_t)),
    PARAMETER(hash_count, VALUE),
    PARAMETER(sequences_out, PLACES),
    PARAMETER(capacity, CAPACITY),
    PARAMETER(count_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_kv_cache_append(const argument *a) {
    return ferrum_kv_cache_append((ferrum_kv_cache){a[0].number}, a[1].pointer,
                                  (uint64_t)a[2].number, a[3].pointer,
                                  (uint64_t)a[4].number, a[5].pointer,
                                  (size_t)a[6].number, a[7].pointer);
}
static const parameter parameters_kv_cache_append[] = {
    PARAMETER(cache, HANDLE, .kind = KV_CACHE),
    PARAMETER(sequences, ARRAY, .size = sizeof(uint64_t)),
    PARAMETER(count, VALUE),
    PARAMETER(lengths, ARRAY, .size = sizeof(uint32_t)),
    PARAMETER(length_count, VALUE),
    PARAMETER(copies_out, PLACES),
    PARAMETER(capacity, CAPACITY),
    PARAMETER(count_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_kv_cache_publish(const argument *a) {
    return ferrum_kv_cache_publish((ferrum_kv_cache){a[0].number}, a[1].pointer,
                                   (uint64_t)a[2].number, a[3].pointer,
                                   (uint64_t)a[4].number, a[5].pointer,
                                   (uint64_t)a[6].number);
}
static const parameter parameters_kv_cache_publish[] = {
    PARAMETER(cache, HANDLE, .kind = KV_CACHE),
    PARAMETER(sequences, ARRAY, .size = sizeof(uint64_t)),
    PARAMETER(count, VALUE),
    PARAMETER(prefix_blocks, ARRAY, .size = sizeof(uint32_t)),
    PARAMETER(prefix_block_count, VALUE),
    PARAMETER(hashes, ARRAY, .size = sizeof(uint64_t)),
    PARAMETER(hash_count, VALUE)};

static ferrum_status call_kv_cache_fork(const argument *a) {
    return ferrum_kv_cache_fork((ferrum_kv_cache){a[0].number}, a[1].pointer,
                                (uint64_t)a[2].number, a[3].pointer,
                                (size_t)a[4].number, a[5].pointer);
}
static const parameter parameters_kv_cache_fork[] = {
    PARAMETER(cache, HANDLE, .kind = KV_CACHE),
    PARAMETER(sequences, ARRAY, .size = sizeof(uint64_t)),
    PARAMETER(count, VALUE),
    PARAMETER(children_out, PLACES),
    PARAMETER(capacity, CAPACITY),
    PARAMETER(count_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_kv_cache_truncate(const argument *a) {
    return ferrum_kv_cache_truncate((ferrum_kv_cache){a[0].number},
                                    a[1].pointer, (uint64_t)a[2].number,
                                    a[3].pointer, (uint64_t)a[4].number);
}
static const parameter parameters_kv_cache_truncate[] = {
    PARAMETER(cache, HANDLE, .kind = KV_CACHE),
    PARAMETER(sequences, ARRAY, .size = sizeof(uint64_t)),
    PARAMETER(count, VALUE),
    PARAMETER(lengths, ARRAY, .size = sizeof(uint32_t)),
    PARAMETER(length_count, VALUE)};

static ferrum_status call_kv_cache_free(const argument *a) {
    return ferrum_kv_cache_free((ferrum_kv_cache){a[0].number}, a[1].pointer,
                                (uint64_t)a[2].number);
}
static const parameter parameters_kv_cache_free[] = {
    PARAMETER(cache, HANDLE, .kind = KV_CACHE),
    PARAMETER(sequences, ARRAY, .size = sizeof(uint64_t)),
    PARAMETER(count, VALUE)};

static ferrum_status call_kv_cache_swap_out(const argument *a) {
    return ferrum_kv_cache_swap_out(
        (ferrum_kv_cache){a[0].number}, a[1].pointer, (uint64_t)a[2].number,
        a[3].pointer, (size_t)a[4].number, a[5].pointer);
}
static const parameter parameters_kv_cache_swap_out[] = {
    PARAMETER(cache, HANDLE, .kind = KV_CACHE),
    PARAMETER(sequences, ARRAY, .size = sizeof(uint64_t)),
    PARAMETER(count, VALUE),
    PARAMETER(copies_out, PLACES),
    PARAMETER(capacity, CAPACITY),
    PARAMETER(count_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_kv_cache_swap_in(const argument *a) {
    return ferrum_kv_cache_swap_in((ferrum_kv_cache){a[0].number}, a[1].pointer,
                                   (uint64_t)a[2].number, a[3].pointer,
                                   (size_t)a[4].number, a[5].pointer);
}
static const parameter parameters_kv_cache_swap_in[] = {
    PARAMETER(cache, HANDLE, .kind = KV_CACHE),
    PARAMETER(sequences, ARRAY, .size = sizeof(uint64_t)),
    PARAMETER(count, VALUE),
    PARAMETER(copies_out, PLACES),
    PARAMETER(capacity, CAPACITY),
    PARAMETER(count_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_kv_cache_block_tables(const argument *a) {
    return ferrum_kv_cache_block_tables(
        (ferrum_kv_cache){a[0].number}, a[1].pointer, (uint64_t)a[2].number,
        (uint64_t)a[3].number, a[4].pointer, (size_t)a[5].number, a[6].pointer);
}
static const parameter parameters_kv_cache_block_tables[] = {
    PARAMETER(cache, HANDLE, .kind = KV_CACHE),
    PARAMETER(sequences, ARRAY, .size = sizeof(uint64_t)),
    PARAMETER(count, VALUE),
    PARAMETER(width, VALUE),
    PARAMETER(tables_out, PLACES),
    PARAMETER(capacity, CAPACITY),
    PARAMETER(count_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_kv_cache_lengths(const argument *a) {
    return ferrum_kv_cache_lengths((ferrum_kv_cache){a[0].number}, a[1].pointer,
                                   (uint64_t)a[2].number, a[3].pointer,
                                   (size_t)a[4].number, a[5].pointer);
}
static const parameter parameters_kv_cache_lengths[] = {
    PARAMETER(cache, HANDLE, .kind = KV_CACHE),
    PARAMETER(sequences, ARRAY, .size = sizeof(uint64_t)),
    PARAMETER(count, VALUE),
    PARAMETER(lengths_out, PLACES),
    PARAMETER(capacity, CAPACITY),
    PARAMETER(count_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_kv_cache_plane(const argument *a) {
    return ferrum_kv_cache_plane((ferrum_kv_cache){a[0].number},
                                 (uint32_t)a[1].number, (uint32_t)a[2].number,
                                 a[3].pointer, a[4].pointer);
}
static const parameter parameters_kv_cache_plane[] = {
    PARAMETER(cache, HANDLE, .kind = KV_CACHE), PARAMETER(layer, VALUE),
    PARAMETER(values, TRUTH),
    PARAMETER(address_out, OUT, .size = sizeof(ferrum_address)),
    PARAMETER(size_bytes_out, OUT, .size = sizeof(uint64_t))};

static ferrum_status call_kv_cache_plane_tensor(const argument *a) {
    return ferrum_kv_cache_plane_tensor((ferrum_kv_cache){a[0].number},
                                        (uint32_t)a[1].number,
                                        (uint32_t)a[2].number, a[3].pointer);
}
static const parameter parameters_kv_cache_plane_tensor[] = {
    PARAMETER(cache, HANDLE, .kind = KV_CACHE), PARAMETER(layer, VALUE),
    PARAMETER(values, TRUTH),
    PARAMETER(tensor_out, OUT, .size = sizeof(ferrum_tensor))};

static ferrum_status call_kv_cache_trim(const argument *a) {
    return ferrum_kv_cache_trim((ferrum_kv_cache){a[0].number},
                                (uint64_t)a[1].number, a[2].pointer);
}
static const parameter parameters_kv_cache_trim[] = {
    PARAMETER(cache, HANDLE, .kind = KV_CACHE),
    PARAMETER(keep_cached_blocks, VALUE),
    PARAMETER(unmapped_blocks_out, OUT, .size = sizeof(uint64_t))};

static ferrum_status call_kv_cache_get_stats(const argument *a) {
    return ferrum_kv_cache_get_stats((ferrum_kv_cache){a[0].number},
                                     a[1].pointer);
}
static const parameter parameters_kv_cache_get_stats[] = {
    PARAMETER(cache, HANDLE, .kind = KV_CACHE),
    PARAMETER(stats_out, STRUCT_OUT, .type = &type_ferrum_kv_cache_stats)};

static ferrum_status call_kv_cache_pressure_callback_add(const argument *a) {
    return ferrum_kv_cache_pressure_callback_add(
        (ferrum_kv_cache){a[0].number}, (ferrum_pressure_fn)a[1].function,
        a[2].pointer, a[3].pointer);
}
static const parameter parameters_kv_cache_pressure_callback_add[] = {
    PARAMETER(cache, HANDLE, .kind = KV_CACHE),
    PARAMETER(callback, CALLBACK,
              .nothing = (any_function)nothing_ferrum_pressure_fn),
    PARAMETER(user_data, DATA),
    PARAMETER(registration_out, OUT, .size = sizeof(ferrum_registration))};

const function arguments_kv_cache[] = {
    FUNCTION(kv_cache_create, .parameters = parameters_kv_cache_create,
             .count = 5),
    FUNCTION(kv_cache_destroy, .parameters = parameters_kv_cache_destroy,
             .count = 2, .waits = 1),
    FUNCTION(kv_cache_hash_tokens,
             .parameters = parameters_kv_cache_hash_tokens, .count = 7),
    FUNCTION(kv_cache_find, .parameters = parameters_kv_cache_find, .count = 4),
    FUNCTION(kv_cache_allocate, .parameters = parameters_kv_cache_allocate,
             .count = 10),
    FUNCTION(kv_cache_append, .parameters = parameters_kv_cache_append,
             .count = 8),
    FUNCTION(kv_cache_publish, .parameters = parameters_kv_cache_publish,
             .count = 7),
    FUNCTION(kv_cache_fork, .parameters = parameters_kv_cache_fork, .count = 6),
    FUNCTION(kv_cache_truncate, .parameters = parameters_kv_cache_truncate,
             .count = 5),
    FUNCTION(kv_cache_free, .parameters = parameters_kv_cache_free, .count = 3),
    FUNCTION(kv_cache_swap_out, .parameters = parameters_kv_cache_swap_out,
             .count = 6),
    FUNCTION(kv_cache_swap_in, .parameters = parameters_kv_cache_swap_in,
             .count = 6),
    FUNCTION(kv_cache_block_tables,
             .parameters = parameters_kv_cache_block_tables, .count = 7),
    FUNCTION(kv_cache_lengths, .parameters = parameters_kv_cache_lengths,
             .count = 6),
    FUNCTION(kv_cache_plane, .parameters = parameters_kv_cache_plane,
             .count = 5),
    FUNCTION(kv_cache_plane_tensor,
             .parameters = parameters_kv_cache_plane_tensor, .count = 4),
    FUNCTION(kv_cache_trim, .parameters = parameters_kv_cache_trim, .count = 3),
    FUNCTION(kv_cache_get_stats, .parameters = parameters_kv_cache_get_stats,
             .count = 2),
    FUNCTION(kv_cache_pressure_callback_add,
             .parameters = parameters_kv_cache_pressure_callback_add,
             .count = 4),
    {.name = NULL}};
