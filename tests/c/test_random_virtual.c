/*
 * Random programs over virtual and elastic pools with sleep and wake, on one
 * thread against the model of virtual_model.h. After each call the test
 * compares the status, the numbers of a failure, the state of every page, the
 * bytes of every mapped page, and the counters. What a pool's worker moves
 * meanwhile is only bounded. Each space writes its own byte values, and must
 * never read those of another space.
 */
#include "fixture.h"
#include "on_device.h"
#include "requests.h"
#include "virtual_model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRAMS = 60 / SANITIZER_SHARE, STEPS = 250 };
/* The number of bytes that are checked at each end of a page if reads are
 * copies. */
enum { LOOK = 64 };
#define PAGE page_bytes
#define BYTES (SPACE_PAGES * PAGE)

static const char *const ids[SPACES] = {"chat", "code", "draft"};
static const char *const tags[SPACE_TAGS] = {NULL, "weights", "kv"};
static const ferrum_stream default_stream = {0};

typedef struct {
    unsigned long seed;
    int step, wrong;
    uint64_t random;
    ferrum_device device;
    ferrum_vpool vpool;
    ferrum_elastic_pool shared;
    stock stock;
    space spaces[SPACES];
    uint64_t base[SPACES];
} program;

static program *running;
static uint64_t page_bytes;

static void wrong(const char *format, ...) {
    va_list list;
    va_start(list, format);
    fprintf(stderr, "program %lu, step %d: ", running->seed, running->step);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    running->wrong++;
}

static uint64_t below(program *p, uint64_t bound) {
    p->random ^= p->random << 13;
    p->random ^= p->random >> 7;
    p->random ^= p->random << 17;
    return (p->random >> 11) % bound;
}

static bool is_shared(const program *p) { return p->stock.num_spaces > 1; }

/* The name of ranges without a tag. */
static const char *tag_name(const program *p, int at, int tag) {
    if (tag < 0 || tags[tag] != NULL)
        return tag < 0 ? NULL : tags[tag];
    return is_shared(p) ? ids[at] : "single";
}

static bool same(ferrum_status got, outcome want, const char *what) {
    if (got != want.status) {
        ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
        MUST(ferrum_last_error(&error));
        wrong("%s: %s, want %s (last: %s)", what, ferrum_status_name(got),
              ferrum_status_name(want.status), error.message);
    }
    if (got != want.status || got == FERRUM_OK)
        return got == want.status;
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    MUST(ferrum_last_error(&error));
    if ((error.facts & want.facts) != want.facts ||
        (want.facts & FERRUM_FACT_OFFSET_BYTES &&
         error.offset_bytes != want.offset_bytes) ||
        (want.facts & FERRUM_FACT_REQUESTED_BYTES &&
         (error.requested_bytes != want.requested_bytes ||
          error.available_bytes != want.available_bytes)))
        wrong("%s: facts %#x: %s", what, (unsigned)error.facts, error.message);
    return false;
}

/* --------------------------------------------------------------------- checks */

/* The expected contents of a page that no other space wrote. */
static void look_at(program *p, int at, uint64_t number, bool fresh) {
    static unsigned char ends[2 * LOOK];
    unsigned char want = p->spaces[at].pages[number].value;
    uint64_t start = p->base[at] + number * PAGE, count = PAGE;
    uint64_t stride = fresh ? 1 : 1021;
    const unsigned char *bytes = (const unsigned char *)(uintptr_t)start;
    if (!on_host()) {
        get_bytes(start, ends, LOOK);
        get_bytes(start + PAGE - LOOK, ends + LOOK, LOOK);
        bytes = ends;
        count = sizeof ends;
        stride = 1;
    }
    for (uint64_t i = 0; i < count; i += stride) {
        bool own = bytes[i] == 0 || bytes[i] >> 6 == at + 1;
        if (fresh ? !own : bytes[i] != want) {
            wrong("page %u of space %d, byte %u is %#x, want %#x",
                  (unsigned)number, at, (unsigned)i, bytes[i], want);
            return;
        }
    }
}

static void check_pages(program *p, int at) {
    const space *s = &p->spaces[at];
    for (uint64_t i = 0; i < SPACE_PAGES; i++) {
        uint32_t mapped = 2;
        if (is_shared(p))
            MUST(ferrum_elastic_pool_is_mapped(p->shared, ids[at], i * PAGE,
                                               PAGE, &mapped));
        else
            MUST(ferrum_vpool_is_mapped(p->vpool, i * PAGE, PAGE, &mapped));
        if (mapped != (s->pages[i].state == PAGE_LIVE))
            wrong("page %u of space %d is mapped: %u", (unsigned)i, at, mapped);
        else if (mapped)
            look_at(p, at, i, false);
    }
    for (int tag = -1; tag < SPACE_TAGS; tag++) {
        const char *name = tag_name(p, at, tag);
        uint32_t asleep = 2;
        if (is_shared(p))
            MUST(ferrum_elastic_pool_is_model_asleep(p->shared, ids[at], name,
                                                     &asleep));
        else
            MUST(ferrum_vpool_is_asleep(p->vpool, name, &asleep));
        bool all = s->all_asleep;
        for (int i = 0; i < SPACE_TAGS; i++)
            all &= !s->tag_awake[i];
        if (asleep != (tag < 0 ? all : space_sleeps(s, tag)))
            wrong("tag %d of space %d sleeps: %u", tag, at, asleep);
    }
}

static void equal(const char *what, uint64_t got, uint64_t want) {
    if (got != want)
        wrong("%s is %llu, want %llu", what, (unsigned long long)got,
              (unsigned long long)want);
}

/* The counters that both kinds of space have. */
#define CHECK_BOOKS(info, s)                                                \
    do {                                                                    \
        uint64_t live = space_count(s, PAGE_LIVE);                          \
        uint64_t dozing = space_count(s, PAGE_ASLEEP), discarded = 0;       \
        for (int i = 0; i < SPACE_PAGES; i++)                               \
            discarded += (s)->pages[i].state == PAGE_ASLEEP &&              \
                         (s)->pages[i].backing == FERRUM_SLEEP_DISCARD;     \
        equal("mapped_pages", info.mapped_pages, live);                     \
        equal("retiring_pages", info.retiring_pages, 0);                    \
        equal("physical_bytes", info.physical_bytes, live * PAGE);          \
        equal("peak_physical_bytes", info.peak_physical_bytes,              \
              (s)->peak_pages * PAGE);                                      \
        equal("requested_bytes", info.requested_bytes, space_requested(s)); \
        equal("available_bytes", info.available_bytes,                      \
              space_available(s) * PAGE);                                   \
        if (info.largest_free_run_bytes > space_longest_free(s) * PAGE)     \
            equal("largest_free_run_bytes", info.largest_free_run_bytes,    \
                  space_longest_free(s) * PAGE);                            \
        equal("allocations", info.allocations, (s)->allocations);           \
        equal("asleep_pages", info.asleep_pages, dozing);                   \
        equal("asleep_bytes", info.asleep_bytes, dozing * PAGE);            \
        equal("asleep_discarded_bytes", info.asleep_discarded_bytes,        \
              discarded * PAGE);                                            \
        if (info.asleep_host_bytes + info.asleep_file_bytes <               \
            (dozing - discarded) * PAGE)                                    \
            wrong("the contents of a sleeping page are stored nowhere");    \
        if (dozing == discarded)                                            \
            equal("asleep_host_bytes and asleep_file_bytes",                \
                  info.asleep_host_bytes + info.asleep_file_bytes, 0);      \
        equal("sleeps", info.sleeps, (s)->sleeps);                          \
        equal("wakes", info.wakes, (s)->wakes);                             \
        equal("sleep_failures", info.sleep_failures, 0);                    \
        equal("wake_failures", info.wake_failures, (s)->wake_failures);     \
        if (info.unmapped_share != (float)(1 - (double)live / SPACE_PAGES)) \
            wrong("unmapped_share is %f", (double)info.unmapped_share);     \
    } while (0)

static void check_books(program *p) {
    if (!is_shared(p)) {
        ferrum_vpool_info info = FERRUM_VPOOL_INFO_INIT;
        MUST(ferrum_vpool_get_info(p->vpool, &info));
        CHECK_BOOKS(info, &p->spaces[0]);
        /* The pool's worker may be moving pages. */
        uint64_t there =
            info.physical_bytes + (info.parked_pages + info.ready_pages) * PAGE;
        if (info.held_bytes < there)
            equal("held_bytes", info.held_bytes, there);
        return;
    }
    uint64_t live = 0, guaranteed = 0;
    for (int i = 0; i < SPACES; i++) {
        const space *s = &p->spaces[i];
        ferrum_model_info info = FERRUM_MODEL_INFO_INIT;
        MUST(ferrum_elastic_pool_get_model_info(p->shared, ids[i], &info));
        CHECK_BOOKS(info, s);
        equal("frees", info.frees, s->frees);
        equal("failures", info.failures, s->failures);
        equal("guaranteed_bytes", info.guaranteed_bytes,
              s->guaranteed_pages * PAGE);
        equal("max_bytes", info.max_bytes, s->max_pages * PAGE);
        live += space_count(s, PAGE_LIVE);
        guaranteed += s->guaranteed_pages;
    }
    ferrum_elastic_pool_info all = FERRUM_ELASTIC_POOL_INFO_INIT;
    MUST(ferrum_elastic_pool_get_info(p->shared, &all));
    equal("physical_bytes of all", all.physical_bytes, live * PAGE);
    equal("guaranteed_bytes of all", all.guaranteed_bytes, guaranteed * PAGE);
    equal("limit", all.physical_limit_bytes, p->stock.limit_pages * PAGE);
    equal("retiring_bytes of all", all.retiring_bytes, 0);
    uint64_t there = all.physical_bytes + all.cached_bytes;
    if (all.held_bytes < there)
        equal("held_bytes of all", all.held_bytes, there);
    equal("waiting", all.waiting, 0);
}

/* ---------------------------------------------------------------------- steps */

/* The start of a range: mostly near a page, sometimes far outside. */
static uint64_t some_offset(program *p) {
    switch (below(p, 8)) {
    case 0:
        return BYTES - below(p, 2 * PAGE);
    case 1:
        return below(p, 6) == 0 ? UINT64_MAX - below(p, 9) : below(p, BYTES);
    default:
        return below(p, SPACE_PAGES) * PAGE;
    }
}
static uint64_t some_size(program *p) {
    switch (below(p, 10)) {
    case 0:
        return below(p, 2) ? 0 : UINT64_MAX - below(p, BYTES);
    case 1:
        return below(p, BYTES + PAGE);
    case 2:
    case 3:
        return (1 + below(p, 6)) * PAGE;
    default:
        return 1 + below(p, 5 * PAGE);
    }
}

static void allocate(program *p, int at) {
    range_request want = {.offset_bytes = some_offset(p),
                          .size_bytes = some_size(p),
                          .anywhere = is_shared(p) && below(p, 3) > 0,
                          .tag = (int)below(p, SPACE_TAGS)};
    ferrum_address address = 1;
    uint64_t offset = 1;
    ferrum_status status;
    if (is_shared(p)) {
        ferrum_model_request request = FERRUM_MODEL_REQUEST_INIT;
        request.at_offset = !want.anywhere;
        request.offset_bytes = want.anywhere ? 0 : want.offset_bytes;
        request.size_bytes = want.size_bytes;
        request.tag = tags[want.tag];
        status = ferrum_elastic_pool_alloc_with(p->shared, ids[at], &request,
                                                &address, &offset);
    } else {
        status = vpool_alloc_tagged(p->vpool, want.offset_bytes,
                                    want.size_bytes, tags[want.tag], &address);
        offset = status == FERRUM_OK ? want.offset_bytes : 0;
    }
    /* The search skips pages that the worker unmaps at that moment. */
    if (status == FERRUM_OK && want.anywhere) {
        space_fits_first(&p->spaces[at], &want);
        if (offset > want.offset_bytes) {
            want.anywhere = false;
            want.offset_bytes = offset;
        }
    }
    outcome o = space_allocate(&p->spaces[at], want);
    /* A lack of address space is not reported while the worker does that. */
    if (want.anywhere && status == FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY &&
        o.status == FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY &&
        want.size_bytes > space_available(&p->spaces[at]) * PAGE)
        o.status = status;
    if (!same(status, o, "allocate")) {
        equal("address and offset of a failure", address | offset, 0);
        return;
    }
    equal("place", offset, o.place_bytes);
    if (p->wrong)
        return;
    equal("address", address, p->base[at] + o.place_bytes);
    for (uint64_t i = 0; i < o.pages; i++) {
        uint64_t number = o.place_bytes / PAGE + i;
        look_at(p, at, number, true);
        unsigned char value = (unsigned char)((at + 1) << 6 | below(p, 64));
        p->spaces[at].pages[number].value = value;
        fill_bytes(p->base[at] + number * PAGE, value, PAGE);
    }
}

static void deallocate(program *p, int at) {
    uint64_t offset = some_offset(p), size = some_size(p);
    const page *some = &p->spaces[at].pages[below(p, SPACE_PAGES)];
    if (some->state != PAGE_FREE && below(p, 4) > 0) {
        offset = some->offset_bytes;
        size = some->size_bytes;
    }
    ferrum_status status =
        is_shared(p)
            ? ferrum_elastic_pool_free(p->shared, ids[at], offset, size,
                                       default_stream)
            : ferrum_vpool_free(p->vpool, offset, size, default_stream);
    same(status, space_deallocate(&p->spaces[at], offset, size), "deallocate");
}

static void put_to_sleep(program *p, int at) {
    int tag = (int)below(p, SPACE_TAGS + 1) - 1;
    ferrum_sleep_config config = FERRUM_SLEEP_CONFIG_INIT;
    config.backing = (ferrum_sleep_backing)below(p, 3);
    config.tag = tag_name(p, at, tag);
    config.num_streams = (uint32_t)below(p, 3);
    ferrum_sleep_report report = FERRUM_SLEEP_REPORT_INIT;
    ferrum_status status =
        is_shared(p) ? ferrum_elastic_pool_sleep_model(p->shared, ids[at],
                                                       &config, &report)
                     : ferrum_vpool_sleep(p->vpool, &config, &report);
    outcome o = space_sleep(&p->spaces[at], tag, config.backing);
    if (same(status, o, "sleep"))
        equal("released_bytes", report.released_bytes, o.pages * PAGE);
}

static void wake(program *p, int at) {
    int tag = (int)below(p, SPACE_TAGS + 1) - 1;
    ferrum_wake_config config = FERRUM_WAKE_CONFIG_INIT;
    config.tag = tag_name(p, at, tag);
    ferrum_wake_report report = FERRUM_WAKE_REPORT_INIT;
    ferrum_status status =
        is_shared(p) ? ferrum_elastic_pool_wake_model(p->shared, ids[at],
                                                      &config, &report)
                     : ferrum_vpool_wake(p->vpool, &config, &report);
    outcome o = space_wake(&p->spaces[at], tag);
    if (same(status, o, "wake"))
        equal("restored_bytes", report.restored_bytes, o.pages * PAGE);
}

/* The number of pages that back a guarantee: the pages that the model uses,
 * and pages that no other model uses or is guaranteed. */
static uint64_t backed_pages(const program *p, int at) {
    uint64_t others = 0, limit = p->stock.limit_pages;
    const space *s = &p->spaces[at];
    for (int i = 0; i < p->stock.num_spaces; i++) {
        uint64_t used = space_count(&p->spaces[i], PAGE_LIVE);
        uint64_t kept = p->spaces[i].guaranteed_pages;
        if (i != at)
            others += used > kept ? used : kept;
    }
    uint64_t backed = limit > others ? limit - others : 0;
    uint64_t used = space_count(s, PAGE_LIVE);
    if (backed < used)
        backed = used;
    return backed < s->guaranteed_pages ? s->guaranteed_pages : backed;
}

static void set_limits(program *p, int at) {
    uint64_t guaranteed = 0, pages = 1 + below(p, 2 * SPACE_PAGES);
    for (int i = 0; i < p->stock.num_spaces; i++)
        guaranteed += p->spaces[i].guaranteed_pages;
    outcome o = {.status = FERRUM_OK};
    if (!is_shared(p) || below(p, 2)) {
        if (guaranteed > pages)
            o.status = FERRUM_ERROR_INVALID_CONFIG;
        if (same(is_shared(p)
                     ? ferrum_elastic_pool_set_limit(p->shared, pages * PAGE)
                     : ferrum_vpool_set_limit(p->vpool, pages * PAGE),
                 o, "set_limit"))
            p->stock.limit_pages = pages;
        return;
    }
    space *s = &p->spaces[at];
    ferrum_model_limits limits = FERRUM_MODEL_LIMITS_INIT;
    limits.guaranteed_bytes = below(p, SPACE_PAGES / 3 * PAGE);
    limits.max_bytes = PAGE + below(p, SPACE_PAGES * PAGE);
    uint64_t least = (limits.guaranteed_bytes + PAGE - 1) / PAGE;
    if (least > limits.max_bytes / PAGE ||
        guaranteed - s->guaranteed_pages + least > p->stock.limit_pages)
        o.status = FERRUM_ERROR_INVALID_CONFIG;
    else if (least > backed_pages(p, at)) {
        o.status = FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY;
        o.requested_bytes = limits.guaranteed_bytes;
        o.available_bytes = backed_pages(p, at) * PAGE;
    }
    if (!same(ferrum_elastic_pool_set_model_limits(p->shared, ids[at], &limits),
              o, "set_model_limits"))
        return;
    s->guaranteed_pages = least;
    s->max_pages = limits.max_bytes / PAGE;
}

static void give_back(program *p) {
    uint64_t released = 0;
    ferrum_compact_report report = FERRUM_COMPACT_REPORT_INIT;
    bool trims = below(p, 2);
    if (is_shared(p) && trims)
        MUST(
            ferrum_elastic_pool_trim(p->shared, below(p, 8) * PAGE, &released));
    else if (is_shared(p))
        MUST(ferrum_elastic_pool_compact(p->shared, &report));
    else if (trims)
        MUST(ferrum_vpool_trim(p->vpool, below(p, 8) * PAGE, &released));
    else
        MUST(ferrum_vpool_compact(p->vpool, &report));
}

static void step(program *p) {
    int at = (int)below(p, (uint64_t)p->stock.num_spaces);
    uint64_t choice = below(p, 20);
    if (choice < 8)
        allocate(p, at);
    else if (choice < 13)
        deallocate(p, at);
    else if (choice < 15)
        put_to_sleep(p, at);
    else if (choice < 18)
        wake(p, at);
    else if (choice < 19)
        set_limits(p, at);
    else
        give_back(p);
    for (int i = 0; i < p->stock.num_spaces; i++)
        check_pages(p, i);
    check_books(p);
}

/* ------------------------------------------------------------------- programs */

static void make_single(program *p) {
    ferrum_vpool_config config = FERRUM_VPOOL_CONFIG_INIT;
    config.capacity_bytes = BYTES;
    config.page_bytes = PAGE;
    config.limit_bytes = p->stock.limit_pages * PAGE;
    config.ready_pages = (uint32_t)below(p, 3);
    config.backing = (ferrum_backing)below(p, 2);
    config.name = "single";
    MUST(ferrum_vpool_create(p->device, &config, &p->vpool));
    ferrum_vpool_info info = FERRUM_VPOOL_INFO_INIT;
    MUST(ferrum_vpool_get_info(p->vpool, &info));
    p->base[0] = info.base_address;
}

static void make_shared(program *p) {
    ferrum_elastic_pool_config config = FERRUM_ELASTIC_POOL_CONFIG_INIT;
    config.limit_bytes = p->stock.limit_pages * PAGE;
    config.page_bytes = PAGE;
    config.ready_pages = (uint32_t)below(p, 3);
    config.backing = (ferrum_backing)below(p, 2);
    MUST(ferrum_elastic_pool_create(p->device, &config, &p->shared));
    for (int i = 0; i < SPACES; i++) {
        ferrum_model_config model = FERRUM_MODEL_CONFIG_INIT;
        model.virtual_bytes = BYTES;
        model.max_bytes = BYTES;
        MUST(ferrum_elastic_pool_register_model(p->shared, ids[i], &model));
        ferrum_model_info info = FERRUM_MODEL_INFO_INIT;
        MUST(ferrum_elastic_pool_get_model_info(p->shared, ids[i], &info));
        p->base[i] = info.base_address;
    }
}

static int program_fails(ferrum_device device, unsigned long seed) {
    program p = {.seed = seed, .device = device};
    running = &p;
    p.random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    p.stock = (stock){.page_bytes = PAGE,
                      .limit_pages = 8 + below(&p, SPACE_PAGES),
                      .num_spaces = seed % 3 == 0 ? 1 : SPACES};
    for (int i = 0; i < p.stock.num_spaces; i++) {
        p.stock.spaces[i] = &p.spaces[i];
        p.spaces[i].of = &p.stock;
        p.spaces[i].max_pages = is_shared(&p) ? SPACE_PAGES : UINT64_MAX;
    }
    if (is_shared(&p))
        make_shared(&p);
    else
        make_single(&p);
    for (p.step = 1; p.step <= STEPS && p.wrong == 0; p.step++)
        step(&p);
    if (is_shared(&p))
        MUST(ferrum_elastic_pool_destroy(p.shared, FERRUM_FORCE));
    else
        MUST(ferrum_vpool_destroy(p.vpool, FERRUM_FORCE));
    return p.wrong != 0;
}

/* test_random_virtual [SEED [PROGRAMS]]: with a seed one program, if no number
 * is given. */
int main(int argc, char **argv) {
    ferrum_config config = FERRUM_CONFIG_INIT;
    config.host_memory_bytes = UINT64_C(256) << 20;
    MUST(ferrum_init(&config));
    ferrum_device device;
    MUST(ferrum_device_open(first_device(), &device));
    page_bytes = device_page(device);
    int failed = 0, ran = 0;
    unsigned long first = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    int programs = argc > 2    ? atoi(argv[2])
                   : argc > 1  ? 1
                   : on_host() ? PROGRAMS
                               : PROGRAMS / 4;
    for (; ran < programs && failed == 0; ran++)
        failed += program_fails(device, first + (unsigned long)ran);
    MUST(ferrum_device_close(device, 0));
    MUST(ferrum_shutdown(0));
    printf("%d passed, %d failed\n", ran - failed, failed);
    return failed != 0;
}
