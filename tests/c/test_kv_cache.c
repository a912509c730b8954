/*
 * The header's promises about KV caches: sequences of a cache without memory,
 * the copies that it reports, caches in pools, virtual pools and models, sleep,
 * forced ends, pressure, threads, and wrong arguments. Each test starts with
 * one live object of every kind and ends with a clean stop of the library,
 * which fails if anything is left.
 */
#include "asserts.h"
#include "fixture.h"

#include <pthread.h>

static fixture f;

static int set_up(void **state) {
    (void)state;
    fixture_make(&f);
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    fixture_end(&f);
    return 0;
}

static const uint32_t none32[1];
static const uint64_t none64[1];

/* A layout in which a block of 4 tokens has 1 KiB in each of 4 planes. */
static ferrum_kv_cache_config settings(void) {
    ferrum_kv_cache_config config = FERRUM_KV_CACHE_CONFIG_INIT;
    config.dtype = FERRUM_DTYPE_F16;
    config.block_tokens = 4;
    config.blocks = 128;
    config.sequences = 8;
    config.sequence_tokens = 512;
    config.layers = 2;
    config.kv_heads = 2;
    config.head_dim = 64;
    return config;
}

static ferrum_kv_cache make(ferrum_kv_cache_config config,
                            ferrum_weights_memory memory,
                            ferrum_pool host_pool) {
    ferrum_kv_cache cache;
    assert_ok(
        ferrum_kv_cache_create(&config, &memory, host_pool, f.stream, &cache));
    return cache;
}

static ferrum_weights_memory in_model(void) {
    return (ferrum_weights_memory){
        .elastic_pool = f.shared, .model = "chat", .tag = "kv"};
}

static ferrum_status allocate(ferrum_kv_cache cache, uint32_t length,
                              uint64_t *sequence_out) {
    ferrum_kv_sequence made = {0};
    size_t count;
    ferrum_status status = ferrum_kv_cache_allocate(
        cache, &length, 1, none32, 0, none64, 0, &made, 1, &count);
    *sequence_out = made.sequence;
    return status;
}

static uint64_t sequence_of(ferrum_kv_cache cache, uint32_t length) {
    uint64_t sequence;
    assert_ok(allocate(cache, length, &sequence));
    return sequence;
}

static ferrum_status append(ferrum_kv_cache cache, uint64_t sequence,
                            uint32_t length) {
    ferrum_kv_copy copy;
    size_t count;
    return ferrum_kv_cache_append(cache, &sequence, 1, &length, 1, &copy, 1,
                                  &count);
}

static ferrum_kv_cache_stats stats_of(ferrum_kv_cache cache) {
    ferrum_kv_cache_stats stats = FERRUM_KV_CACHE_STATS_INIT;
    assert_ok(ferrum_kv_cache_get_stats(cache, &stats));
    return stats;
}

static void free_one(ferrum_kv_cache cache, uint64_t sequence) {
    assert_ok(ferrum_kv_cache_free(cache, &sequence, 1));
}

/* The block manager of an inference engine. */
static void test_a_program_makes_the_copies(void **state) {
    (void)state;
    uint64_t parent = sequence_of(f.kv_cache, 6), all[3], children[2];
    size_t count;
    const uint64_t twice[] = {parent, parent};
    assert_status(
        ferrum_kv_cache_fork(f.kv_cache, twice, 2, children, 1, &count),
        FERRUM_ERROR_BUFFER_TOO_SMALL);
    assert_int_equal(count, 2);
    assert_ok(ferrum_kv_cache_fork(f.kv_cache, twice, 2, children, 2, &count));
    all[0] = parent, all[1] = children[0], all[2] = children[1];
    ferrum_kv_copy copies[3] = {{9, 9}, {9, 9}, {9, 9}};
    assert_status(ferrum_kv_cache_append(f.kv_cache, all, 3, none32, 0, copies,
                                         1, &count),
                  FERRUM_ERROR_BUFFER_TOO_SMALL);
    assert_int_equal(count, 2);
    assert_int_equal(copies[0].source, 9);
    assert_ok(ferrum_kv_cache_append(f.kv_cache, all, 3, none32, 0, copies, 3,
                                     &count));
    assert_int_equal(count, 2);
    int32_t tables[9];
    assert_ok(
        ferrum_kv_cache_block_tables(f.kv_cache, all, 3, 3, tables, 9, &count));
    assert_int_equal(count, 9);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(copies[i].source, tables[7]);
        assert_int_equal(copies[i].target, tables[3 * i + 1]);
        assert_int_equal(tables[3 * i], tables[6]);
        assert_int_equal(tables[3 * i + 2], -1);
    }
    uint32_t lengths[3];
    assert_ok(ferrum_kv_cache_lengths(f.kv_cache, all, 3, lengths, 3, &count));
    assert_int_equal(lengths[2], 7);
    lengths[0] = 4, lengths[1] = 0, lengths[2] = 7;
    assert_ok(ferrum_kv_cache_truncate(f.kv_cache, all, 3, lengths, 3));
    ferrum_kv_cache_stats stats = stats_of(f.kv_cache);
    assert_int_equal(stats.copies, 2);
    assert_int_equal(stats.tokens, 11);
    assert_int_equal(stats.used_blocks, 2);
    assert_int_equal(stats.references, 3);
    assert_int_equal(stats.block_bytes, 0);
    ferrum_kv_copy swapped[2];
    assert_ok(ferrum_kv_cache_swap_out(f.kv_cache, all, 3, swapped, 2, &count));
    assert_int_equal(count, 2);
    assert_ok(ferrum_kv_cache_swap_in(f.kv_cache, all, 3, swapped, 2, &count));
    assert_int_equal(count, 2);
    assert_ok(ferrum_kv_cache_free(f.kv_cache, all, 3));
}

/* Prefixes are found by the hashes of the library, and by those of a program. */
static void test_prefixes_are_shared(void **state) {
    (void)state;
    int32_t tokens[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    uint64_t hashes[2], again[2], found;
    size_t count;
    assert_ok(ferrum_kv_cache_hash_tokens(f.kv_cache, 0, tokens, 10, hashes, 2,
                                          &count));
    assert_int_equal(count, 2);
    assert_ok(ferrum_kv_cache_hash_tokens(f.kv_cache, hashes[0], tokens + 4, 4,
                                          again, 2, &count));
    assert_int_equal(count, 1);
    assert_int_equal(again[0], hashes[1]);
    uint64_t first = sequence_of(f.kv_cache, 10);
    const uint32_t two = 2, length = 10;
    assert_ok(
        ferrum_kv_cache_publish(f.kv_cache, &first, 1, &two, 1, hashes, 2));
    assert_status(
        ferrum_kv_cache_publish(f.kv_cache, &first, 1, &two, 1, hashes, 2),
        FERRUM_ERROR_INVALID_ARGUMENT);
    free_one(f.kv_cache, first);
    assert_ok(ferrum_kv_cache_find(f.kv_cache, hashes, 2, &found));
    assert_int_equal(found, 2);
    ferrum_kv_sequence made;
    assert_ok(ferrum_kv_cache_allocate(f.kv_cache, &length, 1, &two, 1, hashes,
                                       2, &made, 1, &count));
    assert_int_equal(made.cached_tokens, 8);
    ferrum_kv_cache_stats stats = stats_of(f.kv_cache);
    assert_int_equal(stats.hits, 2);
    assert_int_equal(stats.published_blocks, 2);
    free_one(f.kv_cache, made.sequence);
    uint64_t unmapped;
    assert_ok(ferrum_kv_cache_trim(f.kv_cache, 0, &unmapped));
    assert_int_equal(stats_of(f.kv_cache).evictions, 2);
    assert_ok(ferrum_kv_cache_find(f.kv_cache, hashes, 2, &found));
    assert_int_equal(found, 0);
}

/* The address of the keys of a token in layer 0, head 0. */
static char *keys_of(ferrum_kv_cache cache, uint64_t sequence, uint32_t token) {
    int32_t table[128];
    size_t count;
    ferrum_address address;
    uint64_t size;
    assert_ok(ferrum_kv_cache_block_tables(cache, &sequence, 1, 128, table, 128,
                                           &count));
    assert_ok(ferrum_kv_cache_plane(cache, 0, 0, &address, &size));
    assert_int_equal(size, 128 << 10);
    return (char *)(uintptr_t)address + (table[token / 4] << 10) +
           (token % 4) * 128;
}

/* Copies and swaps keep the bytes, and the model has the memory and the tag. */
static void test_a_cache_in_a_model(void **state) {
    (void)state;
    ferrum_kv_cache_config config = settings();
    config.host_blocks = 16;
    ferrum_kv_cache cache = make(config, in_model(), f.pool);
    assert_int_equal(stats_of(cache).mapped_bytes, 0);
    uint64_t parent = sequence_of(cache, 6), child;
    size_t count;
    memset(keys_of(cache, parent, 5), 7, 128);
    assert_ok(ferrum_kv_cache_fork(cache, &parent, 1, &child, 1, &count));
    assert_ok(append(cache, child, 1));
    assert_ok(ferrum_stream_synchronize(f.stream, FERRUM_WAIT_FOREVER));
    assert_ptr_not_equal(keys_of(cache, parent, 5), keys_of(cache, child, 5));
    assert_memory_equal(keys_of(cache, parent, 5), keys_of(cache, child, 5),
                        128);
    assert_int_equal(stats_of(cache).mapped_bytes, 4 * FIXTURE_PAGE);
    assert_int_equal(stats_of(cache).block_bytes, 4096);

    ferrum_kv_copy copy;
    assert_ok(ferrum_kv_cache_swap_out(cache, &child, 1, &copy, 0, &count));
    assert_int_equal(count, 0);
    assert_status(append(cache, child, 1), FERRUM_ERROR_INVALID_STATE);
    assert_ok(ferrum_kv_cache_swap_in(cache, &child, 1, &copy, 0, &count));
    assert_ok(ferrum_stream_synchronize(f.stream, FERRUM_WAIT_FOREVER));
    assert_memory_equal(keys_of(cache, parent, 5), keys_of(cache, child, 5),
                        128);

    ferrum_sleep_config sleep = FERRUM_SLEEP_CONFIG_INIT;
    sleep.tag = "kv";
    assert_ok(ferrum_elastic_pool_sleep_model(f.shared, "chat", &sleep, NULL));
    assert_status(append(cache, child, 1), FERRUM_ERROR_BUSY);
    uint64_t other;
    assert_status(allocate(cache, 1, &other), FERRUM_ERROR_BUSY);
    assert_ok(ferrum_elastic_pool_wake_model(f.shared, "chat", NULL, NULL));
    assert_int_equal(*keys_of(cache, child, 5), 7);
    assert_ok(append(cache, child, 1));

    assert_status(ferrum_kv_cache_destroy(cache, 0), FERRUM_ERROR_BUSY);
    assert_status(ferrum_elastic_pool_unregister_model(f.shared, "chat", 0),
                  FERRUM_ERROR_BUSY);
    free_one(cache, parent);
    free_one(cache, child);
    assert_ok(ferrum_kv_cache_destroy(cache, 0));
    assert_status(append(cache, child, 1), FERRUM_ERROR_INVALID_HANDLE);
}

/* Two caches of a model are at different addresses. Another model gets the
 * chunks that hold only cached blocks. */
static void test_caches_give_pages_to_other_models(void **state) {
    (void)state;
    ferrum_kv_cache_config config = settings();
    config.blocks = 2048, config.sequence_tokens = 8192;
    ferrum_kv_cache first = make(config, in_model(), (ferrum_pool){0});
    ferrum_kv_cache second = make(config, in_model(), (ferrum_pool){0});
    uint64_t sequence = sequence_of(first, 7000), hashes[1750], size;
    ferrum_address addresses[2];
    assert_ok(ferrum_kv_cache_plane(first, 0, 0, &addresses[0], &size));
    assert_ok(ferrum_kv_cache_plane(second, 0, 0, &addresses[1], &size));
    assert_int_equal(addresses[0] - addresses[1], 4 * size);
    for (int i = 0; i < 1750; i++)
        hashes[i] = (uint64_t)i;
    const uint32_t whole = 1750;
    assert_ok(
        ferrum_kv_cache_publish(first, &sequence, 1, &whole, 1, hashes, 1750));
    free_one(first, sequence);
    assert_int_equal(stats_of(first).cached_blocks, 1750);
    ferrum_model_config model = FERRUM_MODEL_CONFIG_INIT;
    model.virtual_bytes = UINT64_C(16) << 20;
    assert_ok(ferrum_elastic_pool_register_model(f.shared, "other", &model));
    ferrum_address got;
    assert_ok(ferrum_elastic_pool_alloc(f.shared, "other", UINT64_C(12) << 20,
                                        &got, NULL));
    assert_true(stats_of(first).unmapped_blocks > 1024);
    /* The rest is too small for the step, which fails whole. */
    uint64_t small = sequence_of(first, 4);
    assert_status(append(first, small, 8000), FERRUM_ERROR_OUT_OF_MEMORY);
    assert_ok(append(first, small, 4));
    free_one(first, small);
    assert_ok(
        ferrum_elastic_pool_unregister_model(f.shared, "other", FERRUM_FORCE));
    assert_ok(ferrum_kv_cache_destroy(first, 0));
    assert_ok(ferrum_kv_cache_destroy(second, 0));
}

static void test_tensors_over_planes(void **state) {
    (void)state;
    ferrum_kv_cache_config config = settings();
    ferrum_weights_memory memory = {.pool = f.pool, .tag = "kv"};
    ferrum_kv_cache cache = make(config, memory, (ferrum_pool){0});
    ferrum_tensor tensor;
    assert_ok(ferrum_kv_cache_plane_tensor(cache, 1, 1, &tensor));
    ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
    assert_ok(ferrum_tensor_describe(tensor, &desc));
    const int64_t shape[] = {128, 2, 4, 64};
    assert_memory_equal(desc.shape, shape, sizeof shape);
    assert_int_equal(desc.dtype, FERRUM_DTYPE_F16);
    ferrum_address address;
    uint64_t size;
    assert_ok(ferrum_kv_cache_plane(cache, 1, 1, &address, &size));
    assert_int_equal(desc.address, address);
    assert_status(ferrum_kv_cache_plane(cache, 2, 0, &address, &size),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_status(ferrum_kv_cache_destroy(cache, 0), FERRUM_ERROR_BUSY);
    assert_ok(ferrum_kv_cache_destroy(cache, FERRUM_FORCE));
    ferrum_tensor view;
    assert_status(ferrum_tensor_narrow(tensor, 0, 0, 1, &view),
                  FERRUM_ERROR_INVALID_STATE);
    assert_ok(ferrum_tensor_destroy(tensor));

    memory = (ferrum_weights_memory){.vpool = f.vpool,
                                     .offset_bytes = 4 * FIXTURE_PAGE};
    cache = make(config, memory, (ferrum_pool){0});
    assert_status(ferrum_kv_cache_plane_tensor(cache, 0, 0, &tensor),
                  FERRUM_ERROR_UNSUPPORTED);
    assert_ok(ferrum_kv_cache_destroy(cache, 0));
    config.always_blocks = 128;
    cache = make(config, memory, (ferrum_pool){0});
    assert_int_equal(stats_of(cache).unmapped_blocks, 0);
    assert_ok(ferrum_kv_cache_plane_tensor(cache, 0, 0, &tensor));
    assert_ok(ferrum_tensor_destroy(tensor));
    assert_ok(ferrum_kv_cache_destroy(cache, 0));
    assert_status(ferrum_kv_cache_plane(f.kv_cache, 0, 0, &address, &size),
                  FERRUM_ERROR_INVALID_STATE);
}

/* The forced end of a pool, or of a model, ends its caches first. */
static void test_forced_ends(void **state) {
    (void)state;
    ferrum_pool pool;
    assert_ok(ferrum_pool_create(f.device, NULL, &pool));
    ferrum_kv_cache_config config = settings();
    config.host_blocks = 4;
    ferrum_kv_cache cache = make(config, in_model(), pool);
    sequence_of(cache, 6);
    assert_status(ferrum_pool_destroy(pool, 0), FERRUM_ERROR_BUSY);
    assert_ok(ferrum_pool_destroy(pool, FERRUM_FORCE));
    assert_status(ferrum_kv_cache_destroy(cache, 0),
                  FERRUM_ERROR_INVALID_HANDLE);
    ferrum_model_config model = FERRUM_MODEL_CONFIG_INIT;
    model.virtual_bytes = UINT64_C(4) << 20;
    assert_ok(ferrum_elastic_pool_register_model(f.shared, "kv", &model));
    ferrum_weights_memory memory = {.elastic_pool = f.shared, .model = "kv"};
    cache = make(settings(), memory, (ferrum_pool){0});
    sequence_of(cache, 6);
    assert_ok(
        ferrum_elastic_pool_unregister_model(f.shared, "kv", FERRUM_FORCE));
    assert_status(ferrum_kv_cache_destroy(cache, FERRUM_FORCE),
                  FERRUM_ERROR_INVALID_HANDLE);
    /* Its stream may end before a cache. */
    ferrum_stream stream;
    assert_ok(ferrum_stream_create(f.device, &stream));
    config.host_blocks = 0;
    memory = in_model();
    assert_ok(ferrum_kv_cache_create(&config, &memory, (ferrum_pool){0}, stream,
                                     &cache));
    assert_ok(ferrum_stream_destroy(stream, 0));
    uint64_t sequence = sequence_of(cache, 6);
    assert_ok(append(cache, sequence, 8));
    assert_ok(ferrum_kv_cache_destroy(cache, FERRUM_FORCE));
}

typedef struct {
    int calls;
    ferrum_pressure_level last;
    uint64_t victim;
    ferrum_kv_cache cache;
    ferrum_registration registration;
    ferrum_status destroyed, removed;
} heard;

static void on_pressure(ferrum_device device, ferrum_pressure_level level,
                        void *data) {
    heard *h = data;
    h->calls++;
    h->last = level;
    if (level == FERRUM_PRESSURE_CRITICAL && device.id == 0) {
        h->destroyed = ferrum_kv_cache_destroy(h->cache, FERRUM_FORCE);
        free_one(h->cache, h->victim);
        h->removed = ferrum_registration_remove(h->registration);
    }
}

static void test_pressure(void **state) {
    (void)state;
    heard h = {.cache = f.kv_cache}, other = {0};
    assert_ok(ferrum_kv_cache_pressure_callback_add(f.kv_cache, on_pressure, &h,
                                                    &h.registration));
    uint64_t all[4];
    for (int i = 0; i < 3; i++)
        all[i] = sequence_of(f.kv_cache, 60);
    assert_int_equal(h.calls, 1);
    assert_int_equal(h.last, FERRUM_PRESSURE_MEDIUM);
    h.victim = all[0];
    all[3] = sequence_of(f.kv_cache, 64);
    assert_int_equal(h.calls, 2);
    assert_int_equal(h.last, FERRUM_PRESSURE_CRITICAL);
    assert_int_equal(h.destroyed, FERRUM_ERROR_INVALID_STATE);
    assert_int_equal(h.removed, FERRUM_OK);
    assert_int_equal(stats_of(f.kv_cache).used_blocks, 46);
    assert_ok(ferrum_kv_cache_free(f.kv_cache, all + 1, 3));
    assert_int_equal(h.calls, 2);
    /* A registration may end after its cache. */
    ferrum_kv_cache cache = make(settings(), in_model(), (ferrum_pool){0});
    assert_ok(ferrum_kv_cache_pressure_callback_add(cache, on_pressure, &other,
                                                    &other.registration));
    sequence_of(cache, 500);
    assert_int_equal(other.calls, 1);
    assert_ok(ferrum_kv_cache_destroy(cache, FERRUM_FORCE));
    assert_ok(ferrum_registration_remove(other.registration));
}

static void *use(void *cache) {
    ferrum_kv_cache kv = {*(uint64_t *)cache};
    for (int i = 0; i < 300; i++) {
        uint64_t sequence, child;
        size_t count;
        if (allocate(kv, 9, &sequence) != FERRUM_OK)
            continue;
        append(kv, sequence, 5);
        if (ferrum_kv_cache_fork(kv, &sequence, 1, &child, 1, &count) ==
            FERRUM_OK)
            ferrum_kv_cache_free(kv, &child, 1);
        ferrum_kv_cache_free(kv, &sequence, 1);
        /* Another thread may have this place by now, under another number. */
        if (append(kv, sequence, 1) != FERRUM_ERROR_INVALID_HANDLE)
            return "a freed sequence was used";
    }
    return NULL;
}

static void test_threads_share_a_cache(void **state) {
    (void)state;
    ferrum_kv_cache cache = make(settings(), in_model(), (ferrum_pool){0});
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use, &cache.id), 0);
    for (int i = 0; i < 2; i++) {
        void *wrong;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    assert_int_equal(stats_of(cache).used_blocks, 0);
    assert_ok(ferrum_kv_cache_destroy(cache, 0));
}

/* A wrong number in a list changes nothing. */
static void test_wrong_sequences(void **state) {
    (void)state;
    uint64_t live = sequence_of(f.kv_cache, 6),
             gone = sequence_of(f.kv_cache, 6);
    free_one(f.kv_cache, gone);
    const uint64_t wrong[] = {gone, 0, UINT64_MAX, live + 1, live ^ 1};
    ferrum_kv_copy copies[2];
    uint64_t made[2];
    int32_t table[4];
    uint32_t lengths[2] = {1, 1};
    size_t count;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const uint64_t list[] = {live, wrong[i]};
        assert_status(ferrum_kv_cache_append(f.kv_cache, list, 2, none32, 0,
                                             copies, 2, &count),
                      FERRUM_ERROR_INVALID_HANDLE);
        assert_status(
            ferrum_kv_cache_fork(f.kv_cache, list, 2, made, 2, &count),
            FERRUM_ERROR_INVALID_HANDLE);
        assert_status(ferrum_kv_cache_free(f.kv_cache, list, 2),
                      FERRUM_ERROR_INVALID_HANDLE);
        assert_status(ferrum_kv_cache_truncate(f.kv_cache, list, 2, lengths, 2),
                      FERRUM_ERROR_INVALID_HANDLE);
        assert_status(
            ferrum_kv_cache_publish(f.kv_cache, list, 2, lengths, 2, made, 2),
            FERRUM_ERROR_INVALID_HANDLE);
        assert_status(
            ferrum_kv_cache_swap_out(f.kv_cache, list, 2, copies, 2, &count),
            FERRUM_ERROR_INVALID_HANDLE);
        assert_status(ferrum_kv_cache_block_tables(f.kv_cache, list, 2, 2,
                                                   table, 4, &count),
                      FERRUM_ERROR_INVALID_HANDLE);
        assert_status(
            ferrum_kv_cache_lengths(f.kv_cache, list, 2, lengths, 2, &count),
            FERRUM_ERROR_INVALID_HANDLE);
        lengths[0] = lengths[1] = 1;
    }
    assert_status(
        ferrum_kv_cache_block_tables(f.kv_cache, &live, 1, 1, table, 4, &count),
        FERRUM_ERROR_BUFFER_TOO_SMALL);
    assert_status(append(f.kv_cache, live, UINT32_MAX),
                  FERRUM_ERROR_INVALID_OFFSET);
    assert_status(ferrum_kv_cache_append(f.kv_cache, &live, 1, lengths, 2,
                                         copies, 2, &count),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_status(ferrum_kv_cache_block_tables(
                      f.kv_cache, &live, 1, UINT64_MAX / 2, table, 2, &count),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_int_equal(stats_of(f.kv_cache).tokens, 6);
    free_one(f.kv_cache, live);
}

static void test_wrong_settings(void **state) {
    (void)state;
    ferrum_kv_cache_config good = settings(), config;
    const ferrum_weights_memory nothing = {0}, model = in_model();
    const ferrum_pool no_pool = {0};
    ferrum_kv_cache cache;
    config = good, config.blocks = 0;
    assert_status(ferrum_kv_cache_create(&config, &nothing, no_pool,
                                         (ferrum_stream){0}, &cache),
                  FERRUM_ERROR_INVALID_CONFIG);
    assert_status(
        ferrum_kv_cache_create(&good, &nothing, f.pool, f.stream, &cache),
        FERRUM_ERROR_INVALID_ARGUMENT);
    assert_status(
        ferrum_kv_cache_create(&good, &model, f.pool, f.stream, &cache),
        FERRUM_ERROR_INVALID_ARGUMENT);
    config = good, config.host_blocks = 1;
    assert_status(
        ferrum_kv_cache_create(&config, &model, no_pool, f.stream, &cache),
        FERRUM_ERROR_INVALID_ARGUMENT);
    config = good, config.dtype = FERRUM_DTYPE_Q8_0;
    assert_status(
        ferrum_kv_cache_create(&config, &model, no_pool, f.stream, &cache),
        FERRUM_ERROR_UNSUPPORTED);
    config = good, config.dtype = 999;
    assert_status(
        ferrum_kv_cache_create(&config, &model, no_pool, f.stream, &cache),
        FERRUM_ERROR_INVALID_CONFIG);
    config = good, config.layers = 0;
    assert_status(
        ferrum_kv_cache_create(&config, &model, no_pool, f.stream, &cache),
        FERRUM_ERROR_INVALID_CONFIG);
    const ferrum_weights_memory in_pool = {.pool = f.pool};
    const ferrum_weights_memory *const memories[] = {&model, &in_pool};
    for (int i = 0; i < 4; i++) {
        config = good;
        if (i % 2 == 0)
            config.blocks = 0;
        else
            config.block_tokens = 0;
        assert_status(ferrum_kv_cache_create(&config, memories[i / 2], no_pool,
                                             f.stream, &cache),
                      FERRUM_ERROR_INVALID_CONFIG);
    }
    config = good, config.blocks = 1 << 20;
    assert_status(
        ferrum_kv_cache_create(&config, &model, no_pool, f.stream, &cache),
        FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY);
    ferrum_weights_memory wrong = model;
    wrong.model = "nobody";
    assert_status(
        ferrum_kv_cache_create(&good, &wrong, no_pool, f.stream, &cache),
        FERRUM_ERROR_MODEL_NOT_FOUND);
    wrong = (ferrum_weights_memory){.device = f.device};
    assert_status(
        ferrum_kv_cache_create(&good, &wrong, no_pool, f.stream, &cache),
        FERRUM_ERROR_INVALID_ARGUMENT);
    assert_status(
        ferrum_kv_cache_create(&good, &model, no_pool, f.other_stream, &cache),
        FERRUM_ERROR_INVALID_ARGUMENT);
    assert_int_equal(cache.id, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_program_makes_the_copies),
        TEST(test_prefixes_are_shared),
        TEST(test_a_cache_in_a_model),
        TEST(test_caches_give_pages_to_other_models),
        TEST(test_tensors_over_planes),
        TEST(test_forced_ends),
        TEST(test_pressure),
        TEST(test_threads_share_a_cache),
        TEST(test_wrong_sequences),
        TEST(test_wrong_settings),
    };
    return cmocka_run_group_tests_name("kv_cache", tests, NULL, NULL);
}
