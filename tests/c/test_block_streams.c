/*
 * A block belongs to the stream that it was allocated on. Whichever thread
 * frees it, on any stream, its memory gets no new owner before the work that
 * was queued on its stream is done. Each case blocks a stream by a gate, frees
 * a block in one of the possible ways, and allocates the same size on other
 * streams. The cases run over pools with thread caches of three sizes and
 * without, with pages and without, with every relevant strategy, and in debug
 * mode.
 */
#include "each.h"

#include <stdio.h>

enum { OTHERS = 24 };

typedef struct {
    const char *name, *strategy;
    uint64_t thread_cache_bytes;
    int32_t paging;
    uint32_t tracking, debug;
} kind;

static const kind kinds[] = {
    {"caches", "best_fit", UINT64_MAX, FERRUM_PAGING_OFF, 0, 0},
    {"small caches", "best_fit", 16384, FERRUM_PAGING_OFF, 0, 0},
    {"no caches", "best_fit", 0, FERRUM_PAGING_OFF, 0, 0},
    {"pages", "best_fit", UINT64_MAX, FERRUM_PAGING_ON, 0, 0},
    {"pages, no caches", "tlsf", 0, FERRUM_PAGING_ON, 0, 0},
    {"size classes", "size_class", 0, FERRUM_PAGING_OFF, 0, 0},
    {"buddies", "buddy", 0, FERRUM_PAGING_OFF, 0, 0},
    {"tracking", "best_fit", 0, FERRUM_PAGING_OFF, 1, 0},
    {"checks", "best_fit", 0, FERRUM_PAGING_OFF, 0, FERRUM_DEBUG_ALL},
};
enum { KINDS_OF_POOLS = sizeof kinds / sizeof kinds[0] };

static ferrum_pool make(const kind *k) {
    ferrum_pool_config config = FERRUM_POOL_CONFIG_INIT;
    config.initial_size_bytes = config.growth_increment_bytes = 16 * MIB;
    config.strategy = k->strategy;
    if (k->thread_cache_bytes != UINT64_MAX)
        config.thread_cache_bytes = k->thread_cache_bytes;
    config.paging = k->paging;
    config.tracking = k->tracking;
    config.debug = k->debug;
    ferrum_pool pool;
    assert_ok(ferrum_pool_create(f.device, &config, &pool));
    return pool;
}

static ferrum_address take(ferrum_pool pool, uint64_t size,
                           ferrum_stream stream) {
    ferrum_address address;
    assert_ok(ferrum_pool_alloc(pool, size, stream, &address));
    return address;
}

static ferrum_stream new_stream(void) {
    ferrum_stream stream;
    assert_ok(ferrum_stream_create(f.device, &stream));
    return stream;
}

static void hold(ferrum_stream stream, gate *g) {
    assert_ok(ferrum_stream_host_function(stream, gate_wait, g));
}

/* ------------------------------------------------------ ways to free a block */

typedef struct {
    ferrum_pool pool;
    ferrum_address block;
    uint64_t size;
    ferrum_stream own, other;
} given;

static void plainly(const given *g) {
    assert_ok(ferrum_pool_free(g->pool, g->block, default_stream));
}
static void on_the_default_stream(const given *g) {
    ferrum_stream stream;
    assert_ok(ferrum_stream_default(f.device, &stream));
    assert_ok(ferrum_pool_free(g->pool, g->block, stream));
}
static void on_another(const given *g) {
    assert_ok(ferrum_pool_free(g->pool, g->block, g->other));
}
static void on_its_own(const given *g) {
    assert_ok(ferrum_pool_free(g->pool, g->block, g->own));
}
static void with_its_size(const given *g) {
    assert_status(
        ferrum_pool_free_sized(g->pool, g->block, g->size + 1, default_stream),
        FERRUM_ERROR_INVALID_SIZE);
    assert_ok(
        ferrum_pool_free_sized(g->pool, g->block, g->size, default_stream));
}
static void with_its_size_on_another(const given *g) {
    assert_ok(ferrum_pool_free_sized(g->pool, g->block, g->size, g->other));
}
static void in_a_batch(const given *g) {
    assert_ok(ferrum_pool_free_batch(g->pool, &g->block, 1, default_stream));
}
static void in_a_mixed_batch(const given *g) {
    const ferrum_address blocks[] = {take(g->pool, g->size, g->other), g->block,
                                     take(g->pool, g->size, default_stream)};
    assert_ok(ferrum_pool_free_batch(g->pool, blocks, 3, g->other));
}
static void by_a_reset(const given *g) {
    assert_ok(ferrum_pool_reset(g->pool, g->other));
}
static void after_a_record(const given *g) {
    assert_ok(ferrum_pool_record_stream(g->pool, g->block, g->other));
    assert_ok(ferrum_pool_free(g->pool, g->block, default_stream));
}
static void after_a_record_in_a_batch(const given *g) {
    const ferrum_address blocks[] = {take(g->pool, g->size, default_stream),
                                     g->block, 8};
    assert_status(ferrum_pool_record_stream_batch(g->pool, blocks, 3, g->other),
                  FERRUM_ERROR_INVALID_ADDRESS);
    assert_ok(ferrum_pool_record_stream_batch(g->pool, blocks, 2, g->other));
    assert_ok(ferrum_pool_record_stream_batch(g->pool, blocks, 0, g->other));
    assert_ok(ferrum_pool_free_batch(g->pool, blocks, 2, default_stream));
}
static void *free_there(void *data) {
    const given *g = data;
    MUST(ferrum_pool_free(g->pool, g->block, (ferrum_stream){0}));
    return NULL;
}
static void on_another_thread(const given *g) {
    pthread_t thread;
    given copy = *g;
    assert_int_equal(pthread_create(&thread, NULL, free_there, &copy), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static const struct {
    const char *name;
    void (*give)(const given *g);
} ways[] = {
    {"plainly", plainly},
    {"on the default stream", on_the_default_stream},
    {"on another stream", on_another},
    {"on its own stream", on_its_own},
    {"with its size", with_its_size},
    {"with its size on another stream", with_its_size_on_another},
    {"in a batch", in_a_batch},
    {"in a batch of blocks of several streams", in_a_mixed_batch},
    {"by a reset", by_a_reset},
    {"after a record_stream", after_a_record},
    {"after a record_stream of a batch", after_a_record_in_a_batch},
    {"on another thread", on_another_thread},
};
enum { WAYS = sizeof ways / sizeof ways[0] };

/* Only the named streams may get bytes of [block, block + size). */
static void nobody_gets(ferrum_pool pool, ferrum_address block, uint64_t size,
                        const ferrum_stream *streams, int count,
                        const char *what) {
    ferrum_address others[OTHERS];
    for (int i = 0; i < OTHERS; i++) {
        others[i] = take(pool, size, streams[i % count]);
        if (others[i] < block + size && block < others[i] + size)
            fail_msg("%s: stream %d has the memory while work is queued", what,
                     i % count);
    }
    for (int i = 0; i < OTHERS; i++)
        assert_ok(ferrum_pool_free(pool, others[i], streams[i % count]));
}

static void ends_empty(ferrum_pool pool, const char *what) {
    ferrum_statistics s = FERRUM_STATISTICS_INIT;
    uint64_t released;
    assert_ok(ferrum_pool_trim(pool, 0, &released));
    assert_ok(ferrum_pool_get_statistics(pool, &s));
    if (s.live_blocks.current != 0 || s.active.current != 0)
        fail_msg("%s: %d blocks and %d bytes are left", what,
                 (int)s.live_blocks.current, (int)s.active.current);
    assert_ok(ferrum_pool_destroy(pool, 0));
}

static void try_one(const kind *k, int way, uint64_t size,
                    ferrum_stream other) {
    char what[160];
    snprintf(what, sizeof what, "%s, %d bytes, freed %s", k->name, (int)size,
             ways[way].name);
    ferrum_pool pool = make(k);
    const ferrum_stream own = new_stream();
    const ferrum_stream streams[] = {default_stream, other};
    gate held = GATE;
    given g = {pool, 0, size, own, other};
    g.block = take(pool, size, own);
    hold(own, &held);
    ways[way].give(&g);
    nobody_gets(pool, g.block, size, streams, 2, what);
    gate_open(&held);
    assert_ok(ferrum_stream_synchronize(own, FERRUM_WAIT_FOREVER));
    assert_ok(ferrum_stream_destroy(own, 0));
    ends_empty(pool, what);
}

static void
test_memory_waits_for_its_stream_in_every_way_to_free(void **state) {
    (void)state;
    const uint64_t sizes[] = {1000, 300 * KIB, 2 * MIB};
    ferrum_stream other = new_stream();
    for (int k = 0; k < KINDS_OF_POOLS; k++)
        for (int way = 0; way < WAYS; way++)
            for (int s = 0; s < 3; s++)
                try_one(&kinds[k], way, sizes[s], other);
    assert_ok(ferrum_stream_destroy(other, 0));
}

/* ------------------------------------------------------------- several streams */

/* A free on another stream waits for that stream as well, one after the
 * other. */
static void test_a_free_waits_for_both_streams(void **state) {
    (void)state;
    for (int k = 0; k < KINDS_OF_POOLS; k++) {
        for (int first = 0; first < 2; first++) {
            ferrum_pool pool = make(&kinds[k]);
            const ferrum_stream two[] = {new_stream(), new_stream()};
            const ferrum_stream all[] = {default_stream, two[0], two[1]};
            gate held[] = {GATE, GATE};
            ferrum_address block = take(pool, 5000, two[0]);
            hold(two[0], &held[0]);
            hold(two[1], &held[1]);
            assert_ok(ferrum_pool_free(pool, block, two[1]));
            nobody_gets(pool, block, 5000, all, 3, kinds[k].name);
            gate_open(&held[first]);
            assert_ok(
                ferrum_stream_synchronize(two[first], FERRUM_WAIT_FOREVER));
            const ferrum_stream left[] = {default_stream, two[first]};
            nobody_gets(pool, block, 5000, left, 2, kinds[k].name);
            gate_open(&held[1 - first]);
            for (int i = 0; i < 2; i++)
                assert_ok(ferrum_stream_destroy(two[i], FERRUM_FORCE));
            ends_empty(pool, kinds[k].name);
        }
    }
}

/* {0} names the default stream, in a free as everywhere. */
static void test_a_plain_free_waits_for_the_default_stream(void **state) {
    (void)state;
    for (int k = 0; k < KINDS_OF_POOLS; k++) {
        ferrum_pool pool = make(&kinds[k]);
        gate held = GATE;
        ferrum_address block = take(pool, 5000, f.stream);
        ferrum_stream standard;
        assert_ok(ferrum_stream_default(f.device, &standard));
        hold(standard, &held);
        assert_ok(ferrum_pool_free(pool, block, default_stream));
        nobody_gets(pool, block, 5000, &f.stream, 1, kinds[k].name);
        gate_open(&held);
        assert_ok(ferrum_stream_synchronize(standard, FERRUM_WAIT_FOREVER));
        ends_empty(pool, kinds[k].name);
    }
}

/* The order of the block's own stream is enough if no other stream has work. */
static void test_own_stream_reuses_memory_at_once(void **state) {
    (void)state;
    const uint64_t sizes[] = {1000, 3 * MIB};
    ferrum_stream other = new_stream();
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 2; i++)
            for (int way = 0; way < 3; way++) {
                ferrum_pool pool = make(&kinds[k]);
                gate held = GATE;
                given g = {pool, take(pool, sizes[i], f.stream), sizes[i],
                           f.stream, other};
                hold(f.stream, &held);
                ways[way].give(&g);
                ferrum_address again = take(pool, sizes[i], f.stream);
                gate_open(&held);
                if (again != g.block)
                    fail_msg("%s, %d bytes, freed %s: other memory",
                             kinds[k].name, (int)sizes[i], ways[way].name);
                assert_ok(
                    ferrum_stream_synchronize(f.stream, FERRUM_WAIT_FOREVER));
                assert_ok(ferrum_pool_free(pool, g.block, default_stream));
                ends_empty(pool, kinds[k].name);
            }
    assert_ok(ferrum_stream_destroy(other, 0));
}

/* ------------------------------------------------------------- destroyed streams */

/* A destroyed stream is drained, so its blocks are freed at once, on any
 * stream. */
static void test_free_after_the_stream_was_destroyed(void **state) {
    (void)state;
    for (int k = 0; k < KINDS_OF_POOLS; k++) {
        ferrum_pool pool = make(&kinds[k]);
        for (int round = 0; round < 50; round++) {
            ferrum_stream own = new_stream();
            ferrum_address block = take(pool, 5000, own);
            ferrum_address large = take(pool, 2 * MIB, own);
            assert_ok(ferrum_stream_destroy(own, FERRUM_FORCE));
            assert_status(ferrum_pool_free(pool, block, own),
                          FERRUM_ERROR_INVALID_HANDLE);
            assert_ok(ferrum_pool_free(pool, block,
                                       round % 2 ? default_stream : f.stream));
            assert_ok(ferrum_pool_free_batch(pool, &large, 1, default_stream));
        }
        ends_empty(pool, kinds[k].name);
    }
}

typedef struct {
    ferrum_stream stream;
    ferrum_status status;
} destruction;

static void *destroy_there(void *data) {
    destruction *d = data;
    d->status = ferrum_stream_destroy(d->stream, FERRUM_FORCE);
    return NULL;
}

/* A stream that is being destroyed still has work. Its handle may still be
 * valid or not. The memory waits for the work in both cases. */
static void test_free_while_the_stream_is_being_destroyed(void **state) {
    (void)state;
    for (int k = 0; k < KINDS_OF_POOLS; k++) {
        ferrum_pool pool = make(&kinds[k]);
        gate held = GATE;
        destruction d = {new_stream(), FERRUM_OK};
        ferrum_address block = take(pool, 5000, d.stream);
        hold(d.stream, &held);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, destroy_there, &d), 0);
        assert_ok(ferrum_pool_free(pool, block, default_stream));
        nobody_gets(pool, block, 5000, &default_stream, 1, kinds[k].name);
        gate_open(&held);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_ok(d.status);
        ends_empty(pool, kinds[k].name);
    }
}

/* ---------------------------------------------------------- external streams */

/* A queue of the caller that a thread runs. */
typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct {
        ferrum_host_fn work;
        void *data;
    } items[256];
    int count, done, stop;
} queue;

static ferrum_status queue_push(ferrum_host_fn work, void *data, void *user) {
    queue *q = user;
    pthread_mutex_lock(&q->mutex);
    q->items[q->count % 256].work = work;
    q->items[q->count++ % 256].data = data;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->mutex);
    return FERRUM_OK;
}

static void *queue_run(void *data) {
    queue *q = data;
    pthread_mutex_lock(&q->mutex);
    while (!q->stop || q->done < q->count) {
        if (q->done == q->count) {
            pthread_cond_wait(&q->changed, &q->mutex);
            continue;
        }
        ferrum_host_fn work = q->items[q->done % 256].work;
        void *item = q->items[q->done % 256].data;
        pthread_mutex_unlock(&q->mutex);
        work(item);
        pthread_mutex_lock(&q->mutex);
        q->done++;
    }
    pthread_mutex_unlock(&q->mutex);
    return NULL;
}

/* A free also waits for work that the owner of an adopted stream queued
 * there without the library. */
static void test_an_adopted_stream(void **state) {
    (void)state;
    ferrum_stream other = new_stream();
    for (int k = 0; k < KINDS_OF_POOLS; k++)
        for (int way = 0; way < WAYS; way++) {
            queue q = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                       .changed = PTHREAD_COND_INITIALIZER};
            pthread_t thread;
            assert_int_equal(pthread_create(&thread, NULL, queue_run, &q), 0);
            ferrum_foreign_stream foreign = FERRUM_FOREIGN_STREAM_INIT;
            foreign.enqueue = queue_push;
            foreign.user_data = &q;
            ferrum_stream own;
            assert_ok(ferrum_stream_adopt(f.device, &foreign, &own));
            ferrum_pool pool = make(&kinds[k]);
            const ferrum_stream streams[] = {default_stream, other};
            gate held = GATE;
            given g = {pool, take(pool, 5000, own), 5000, own, other};
            assert_ok(queue_push(gate_wait, &held, &q));
            ways[way].give(&g);
            nobody_gets(pool, g.block, 5000, streams, 2, ways[way].name);
            gate_open(&held);
            assert_ok(ferrum_stream_destroy(own, FERRUM_FORCE));
            ends_empty(pool, ways[way].name);
            pthread_mutex_lock(&q.mutex);
            q.stop = 1;
            pthread_cond_broadcast(&q.changed);
            pthread_mutex_unlock(&q.mutex);
            assert_int_equal(pthread_join(thread, NULL), 0);
        }
    assert_ok(ferrum_stream_destroy(other, 0));
}

/* The same if the adopted stream is destroyed before the block is freed.
 * The destroy does not wait for the owner's work. */
static void test_free_after_an_adopted_stream_was_destroyed(void **state) {
    (void)state;
    ferrum_stream other = new_stream();
    for (int k = 0; k < KINDS_OF_POOLS; k++)
        for (int way = 0; way < WAYS; way++) {
            if (ways[way].give == on_its_own)
                continue;
            queue q = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                       .changed = PTHREAD_COND_INITIALIZER};
            pthread_t thread;
            assert_int_equal(pthread_create(&thread, NULL, queue_run, &q), 0);
            ferrum_foreign_stream foreign = FERRUM_FOREIGN_STREAM_INIT;
            foreign.enqueue = queue_push;
            foreign.user_data = &q;
            ferrum_stream own;
            assert_ok(ferrum_stream_adopt(f.device, &foreign, &own));
            ferrum_pool pool = make(&kinds[k]);
            const ferrum_stream streams[] = {default_stream, other};
            gate held = GATE;
            given g = {pool, take(pool, 5000, own), 5000, own, other};
            assert_ok(queue_push(gate_wait, &held, &q));
            assert_ok(ferrum_stream_destroy(own, 0));
            ways[way].give(&g);
            nobody_gets(pool, g.block, 5000, streams, 2, ways[way].name);
            gate_open(&held);
            pthread_mutex_lock(&q.mutex);
            q.stop = 1;
            pthread_cond_broadcast(&q.changed);
            pthread_mutex_unlock(&q.mutex);
            assert_int_equal(pthread_join(thread, NULL), 0);
            ends_empty(pool, ways[way].name);
        }
    assert_ok(ferrum_stream_destroy(other, 0));
}

/* The same if thread caches would hold many blocks of the stream. */
static void test_an_adopted_stream_with_many_blocks(void **state) {
    (void)state;
    enum { BLOCKS = 200 };
    queue q = {.mutex = PTHREAD_MUTEX_INITIALIZER,
               .changed = PTHREAD_COND_INITIALIZER};
    ferrum_foreign_stream foreign = FERRUM_FOREIGN_STREAM_INIT;
    foreign.enqueue = queue_push;
    foreign.user_data = &q;
    ferrum_stream own;
    assert_ok(ferrum_stream_adopt(f.device, &foreign, &own));
    ferrum_pool pool = make(&kinds[0]);
    ferrum_address blocks[BLOCKS], others[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = take(pool, 5000, own);
    /* From here on nothing runs the queued work. */
    assert_ok(ferrum_stream_destroy(own, 0));
    assert_int_equal(q.count, 1);
    for (int i = 0; i < BLOCKS; i++)
        assert_ok(ferrum_pool_free(pool, blocks[i], default_stream));
    for (int i = 0; i < BLOCKS; i++) {
        others[i] = take(pool, 5000, default_stream);
        for (int k = 0; k < BLOCKS; k++)
            assert_int_not_equal(others[i], blocks[k]);
    }
    q.stop = 1;
    queue_run(&q);
    assert_ok(ferrum_pool_free_batch(pool, others, BLOCKS, default_stream));
    ends_empty(pool, "many blocks");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_memory_waits_for_its_stream_in_every_way_to_free),
        TEST(test_a_free_waits_for_both_streams),
        TEST(test_a_plain_free_waits_for_the_default_stream),
        TEST(test_own_stream_reuses_memory_at_once),
        TEST(test_free_after_the_stream_was_destroyed),
        TEST(test_free_while_the_stream_is_being_destroyed),
        TEST(test_an_adopted_stream),
        TEST(test_free_after_an_adopted_stream_was_destroyed),
        TEST(test_an_adopted_stream_with_many_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
