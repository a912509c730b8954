/*
 * The loop of a small inference engine over the block manager of the library: two requests
 * with the same system prompt, one of which is forked. The engine would run its kernels where
 * a comment says so.
 */
#include <ferrum_mem.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 4, PROMPT = 10, WIDTH = 8 };

static void must(ferrum_status status, const char *what) {
    if (status == FERRUM_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, ferrum_status_name(status));
    exit(1);
}
#define MUST(call) must((call), #call)

static void show(ferrum_kv_cache cache, const char *name, uint64_t sequence) {
    int32_t table[WIDTH];
    uint32_t length;
    size_t count;
    MUST(ferrum_kv_cache_block_tables(cache, &sequence, 1, WIDTH, table, WIDTH,
                                      &count));
    MUST(ferrum_kv_cache_lengths(cache, &sequence, 1, &length, 1, &count));
    printf("%s: %" PRIu32 " tokens in blocks", name, length);
    for (int i = 0; i < WIDTH && table[i] >= 0; i++)
        printf(" %" PRId32, table[i]);
    printf("\n");
}

int main(void) {
    MUST(ferrum_init(NULL));
    ferrum_kv_cache_config config = FERRUM_KV_CACHE_CONFIG_INIT;
    config.block_tokens = BLOCK;
    config.blocks = 16;
    config.sequences = 8;
    config.sequence_tokens = BLOCK * WIDTH;
    ferrum_weights_memory memory = {0}; /* the engine owns the memory */
    ferrum_kv_cache cache;
    MUST(ferrum_kv_cache_create(&config, &memory, (ferrum_pool){0},
                                (ferrum_stream){0}, &cache));

    /* The first request computes the prompt and publishes its whole blocks. */
    int32_t tokens[PROMPT] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    uint64_t hashes[PROMPT / BLOCK];
    size_t count;
    MUST(ferrum_kv_cache_hash_tokens(cache, 0, tokens, PROMPT, hashes,
                                     PROMPT / BLOCK, &count));
    const uint32_t length = PROMPT, blocks = PROMPT / BLOCK, one[1] = {1};
    ferrum_kv_sequence first, second;
    MUST(ferrum_kv_cache_allocate(cache, &length, 1, &blocks, 1, hashes, blocks,
                                  &first, 1, &count));
    /* Here the engine computes the keys and values of the prompt. */
    MUST(ferrum_kv_cache_publish(cache, &first.sequence, 1, &blocks, 1, hashes,
                                 blocks));

    /* The second request has the same prompt and computes only its last tokens. */
    MUST(ferrum_kv_cache_allocate(cache, &length, 1, &blocks, 1, hashes, blocks,
                                  &second, 1, &count));
    printf("cached tokens: %" PRIu32 "\n", second.cached_tokens);

    /* A fork shares all blocks. The first token after it needs a copy. */
    uint64_t step[3] = {first.sequence, second.sequence};
    MUST(ferrum_kv_cache_fork(cache, &second.sequence, 1, &step[2], 1, &count));
    ferrum_kv_copy copies[3];
    MUST(ferrum_kv_cache_append(cache, step, 3, one, 0, copies, 3, &count));
    for (size_t i = 0; i < count; i++)
        printf("copy block %" PRId32 " to %" PRId32 "\n", copies[i].source,
               copies[i].target);
    /* Here the engine copies these blocks, and then computes the step. */
    show(cache, "first", step[0]);
    show(cache, "second", step[1]);
    show(cache, "fork", step[2]);

    MUST(ferrum_kv_cache_free(cache, step, 3));
    ferrum_kv_cache_stats stats = FERRUM_KV_CACHE_STATS_INIT;
    MUST(ferrum_kv_cache_get_stats(cache, &stats));
    printf("hits %" PRIu64 ", misses %" PRIu64 ", cached blocks %" PRIu64 "\n",
           stats.hits, stats.misses, stats.cached_blocks);
    MUST(ferrum_kv_cache_destroy(cache, 0));
    MUST(ferrum_shutdown(0));
    return 0;
}
