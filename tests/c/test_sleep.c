/*
 * The header's promises about sleep and wake. Each test starts with one live
 * object of every kind and ends with a clean stop of the library, which fails
 * if anything is left.
 */
#include "asserts.h"
#include "fixture.h"
#include "requests.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE FIXTURE_PAGE

static fixture f;
/* The folder for the files of sleeping ranges. It is empty when a test
 * begins and ends. */
static char folder[64];

static int entries(void) {
    int found = 0;
    DIR *listing = opendir(folder);
    for (struct dirent *e; (e = readdir(listing)) != NULL;)
        found += e->d_name[0] != '.';
    closedir(listing);
    return found;
}
static int set_up(void **state) {
    (void)state;
    fixture_make(&f);
    strcpy(folder, "/tmp/ferrum-test-sleep-XXXXXX");
    return mkdtemp(folder) == NULL;
}
static int tear_down(void **state) {
    (void)state;
    fixture_end(&f);
    return rmdir(folder);
}

static ferrum_sleep_config kept(ferrum_sleep_backing backing, const char *tag) {
    ferrum_sleep_config config = FERRUM_SLEEP_CONFIG_INIT;
    config.backing = backing;
    config.tag = tag;
    if (backing == FERRUM_SLEEP_FILE)
        config.directory = folder;
    return config;
}
static ferrum_wake_config woken(const char *tag) {
    ferrum_wake_config config = FERRUM_WAKE_CONFIG_INIT;
    config.tag = tag;
    return config;
}

static ferrum_vpool make(uint64_t limit) {
    ferrum_vpool_config config = FERRUM_VPOOL_CONFIG_INIT;
    config.capacity_bytes = 64 * MIB;
    config.limit_bytes = limit;
    config.page_bytes = PAGE;
    config.ready_pages = 0;
    config.name = "made";
    ferrum_vpool vpool;
    assert_ok(ferrum_vpool_create(f.device, &config, &vpool));
    return vpool;
}
static unsigned char *take(ferrum_vpool vpool, uint64_t offset, uint64_t size,
                           const char *tag, int value) {
    ferrum_address address;
    assert_ok(vpool_alloc_tagged(vpool, offset, size, tag, &address));
    unsigned char *block = (unsigned char *)(uintptr_t)address;
    memset(block, value, size);
    return block;
}
static void assert_bytes(const unsigned char *block, int value, uint64_t size) {
    for (uint64_t i = 0; i < size; i++)
        if (block[i] != value)
            fail_msg("byte %u is %u, not %d", (unsigned)i, block[i], value);
}
static ferrum_vpool_info info_of(ferrum_vpool vpool) {
    ferrum_vpool_info info = FERRUM_VPOOL_INFO_INIT;
    assert_ok(ferrum_vpool_get_info(vpool, &info));
    return info;
}
static uint32_t asleep(ferrum_vpool vpool, const char *tag) {
    uint32_t out = 7;
    assert_ok(ferrum_vpool_is_asleep(vpool, tag, &out));
    return out;
}
static ferrum_elastic_pool make_shared(uint64_t limit) {
    ferrum_elastic_pool_config config = FERRUM_ELASTIC_POOL_CONFIG_INIT;
    config.limit_bytes = limit;
    config.page_bytes = PAGE;
    config.ready_pages = 0;
    config.name = "made";
    ferrum_elastic_pool pool;
    assert_ok(ferrum_elastic_pool_create(f.device, &config, &pool));
    return pool;
}
static void add(ferrum_elastic_pool pool, const char *id) {
    ferrum_model_config config = FERRUM_MODEL_CONFIG_INIT;
    config.virtual_bytes = 64 * MIB;
    assert_ok(ferrum_elastic_pool_register_model(pool, id, &config));
}
static unsigned char *load(ferrum_elastic_pool pool, const char *id,
                           uint64_t size, const char *tag, int value) {
    ferrum_model_request request = FERRUM_MODEL_REQUEST_INIT;
    request.size_bytes = size;
    request.tag = tag;
    ferrum_address address;
    assert_ok(
        ferrum_elastic_pool_alloc_with(pool, id, &request, &address, NULL));
    unsigned char *block = (unsigned char *)(uintptr_t)address;
    memset(block, value, size);
    return block;
}
static ferrum_model_info model(ferrum_elastic_pool pool, const char *id) {
    ferrum_model_info info = FERRUM_MODEL_INFO_INIT;
    assert_ok(ferrum_elastic_pool_get_model_info(pool, id, &info));
    return info;
}

/* -------------------------------------------------------- bytes and addresses */

static void test_bytes_and_addresses(void **state) {
    (void)state;
    const ferrum_sleep_backing backings[] = {
        FERRUM_SLEEP_HOST, FERRUM_SLEEP_FILE, FERRUM_SLEEP_DISCARD};
    for (int i = 0; i < 3; i++) {
        ferrum_vpool vpool = make(8 * MIB);
        unsigned char *first = take(vpool, PAGE, 3 * PAGE - 5, "kv", 11);
        unsigned char *second = take(vpool, 20 * PAGE, PAGE, NULL, 12);
        assert_int_equal(asleep(vpool, NULL), 0);
        ferrum_sleep_config config = kept(backings[i], NULL);
        ferrum_sleep_report report = FERRUM_SLEEP_REPORT_INIT;
        assert_ok(ferrum_vpool_sleep(vpool, &config, &report));
        assert_int_equal(report.released_bytes, 4 * PAGE);
        assert_true(report.elapsed_ns > 0);
        assert_int_equal(report.path[0] != 0, backings[i] == FERRUM_SLEEP_FILE);
        assert_int_equal(entries(), backings[i] == FERRUM_SLEEP_FILE);
        /* The memory is released, and the counters show where the bytes are. */
        ferrum_vpool_info info = info_of(vpool);
        assert_int_equal(info.physical_bytes + info.mapped_pages, 0);
        assert_int_equal(info.asleep_pages, 4);
        assert_int_equal(info.asleep_bytes, 4 * PAGE);
        assert_int_equal(info.asleep_host_bytes, i == 0 ? 4 * PAGE : 0);
        assert_int_equal(info.asleep_file_bytes, i == 1 ? 4 * PAGE : 0);
        assert_int_equal(info.asleep_discarded_bytes, i == 2 ? 4 * PAGE : 0);
        assert_int_equal(info.sleeps, 1);
        assert_true(info.sleep_ns > 0);
        assert_int_equal(asleep(vpool, NULL), 1);
        uint32_t mapped = 7;
        assert_ok(ferrum_vpool_is_mapped(vpool, PAGE, 1, &mapped));
        assert_int_equal(mapped, 0);
        ferrum_block_info owner = FERRUM_BLOCK_INFO_INIT;
        ferrum_address inside = (ferrum_address)(uintptr_t)first + 9;
        assert_ok(ferrum_device_get_owner(f.device, inside, &owner));
        assert_int_equal(owner.state, FERRUM_BLOCK_ASLEEP);
        assert_int_equal(owner.vpool.id, vpool.id);
        assert_int_equal(owner.address, (ferrum_address)(uintptr_t)first);
        assert_int_equal(owner.requested_bytes, 3 * PAGE - 5);
        assert_string_equal(owner.tag, "kv");
        /* A second sleep is an error, and changes nothing. */
        assert_status(ferrum_vpool_sleep(vpool, &config, &report),
                      FERRUM_ERROR_INVALID_STATE);
        assert_message("is asleep already");
        assert_int_equal(report.released_bytes + (uint64_t)report.path[0], 0);
        ferrum_wake_report back = FERRUM_WAKE_REPORT_INIT;
        assert_ok(ferrum_vpool_wake(vpool, NULL, &back));
        assert_int_equal(back.restored_bytes, 4 * PAGE);
        int lost = backings[i] == FERRUM_SLEEP_DISCARD;
        assert_bytes(first, lost ? 0 : 11, 3 * PAGE - 5);
        assert_bytes(second, lost ? 0 : 12, PAGE);
        assert_status(ferrum_vpool_wake(vpool, NULL, &back),
                      FERRUM_ERROR_INVALID_STATE);
        assert_message("asleep");
        assert_int_equal(back.restored_bytes, 0);
        info = info_of(vpool);
        assert_int_equal(info.wakes, 1);
        assert_int_equal(info.mapped_pages, 4);
        assert_int_equal(info.asleep_pages + info.asleep_host_bytes +
                             info.asleep_file_bytes +
                             info.asleep_discarded_bytes,
                         0);
        assert_int_equal(entries(), 0);
        assert_ok(ferrum_vpool_sleep(vpool, NULL, NULL));
        /* A sleeping range can be freed. */
        assert_ok(ferrum_vpool_free(vpool, PAGE, 3 * PAGE - 5, default_stream));
        assert_int_equal(info_of(vpool).asleep_pages, 1);
        assert_ok(ferrum_vpool_free(vpool, 20 * PAGE, PAGE, default_stream));
        assert_int_equal(info_of(vpool).asleep_host_bytes, 0);
        assert_ok(ferrum_vpool_destroy(vpool, 0));
    }
}

static void test_sleep_and_wake_by_tag(void **state) {
    (void)state;
    ferrum_elastic_pool pool = make_shared(8 * MIB);
    add(pool, "chat");
    unsigned char *weights = load(pool, "chat", 4 * PAGE, "weights", 21);
    unsigned char *kv = load(pool, "chat", 2 * PAGE, "kv", 22);
    unsigned char *rest = load(pool, "chat", PAGE, NULL, 23);
    ferrum_sleep_config config = kept(FERRUM_SLEEP_DISCARD, "kv");
    ferrum_sleep_report report = FERRUM_SLEEP_REPORT_INIT;
    assert_ok(ferrum_elastic_pool_sleep_model(pool, "chat", &config, &report));
    assert_int_equal(report.released_bytes, 2 * PAGE);
    assert_status(
        ferrum_elastic_pool_sleep_model(pool, "chat", &config, &report),
        FERRUM_ERROR_INVALID_STATE);
    assert_message("tag \"kv\" of model \"chat\" is asleep already");
    config = kept(FERRUM_SLEEP_HOST, "none");
    assert_status(
        ferrum_elastic_pool_sleep_model(pool, "chat", &config, &report),
        FERRUM_ERROR_NOT_FOUND);
    assert_message("\"none\"");
    config.tag = NULL;
    assert_ok(ferrum_elastic_pool_sleep_model(pool, "chat", &config, &report));
    assert_int_equal(report.released_bytes, 5 * PAGE);
    assert_int_equal(model(pool, "chat").asleep_pages, 7);
    assert_int_equal(model(pool, "chat").physical_bytes, 0);
    /* The weights first, then the untagged ranges by the model's id, the
     * cache last. */
    ferrum_wake_config wake = woken("weights");
    ferrum_wake_report back = FERRUM_WAKE_REPORT_INIT;
    assert_ok(ferrum_elastic_pool_wake_model(pool, "chat", &wake, &back));
    assert_int_equal(back.restored_bytes, 4 * PAGE);
    assert_bytes(weights, 21, 4 * PAGE);
    assert_status(ferrum_elastic_pool_wake_model(pool, "chat", &wake, &back),
                  FERRUM_ERROR_INVALID_STATE);
    assert_message("tag \"weights\"");
    uint32_t out = 7;
    assert_ok(
        ferrum_elastic_pool_is_model_asleep(pool, "chat", "weights", &out));
    assert_int_equal(out, 0);
    assert_ok(ferrum_elastic_pool_is_model_asleep(pool, "chat", "kv", &out));
    assert_int_equal(out, 1);
    assert_ok(ferrum_elastic_pool_is_model_asleep(pool, "chat", NULL, &out));
    assert_int_equal(out, 0);
    /* Allocations with a tag that is asleep fail. After the tag has woken
     * they succeed. */
    ferrum_model_request request = FERRUM_MODEL_REQUEST_INIT;
    request.size_bytes = PAGE;
    request.tag = "kv";
    ferrum_address address;
    assert_status(
        ferrum_elastic_pool_alloc_with(pool, "chat", &request, &address, NULL),
        FERRUM_ERROR_INVALID_STATE);
    assert_message("tag \"kv\" is asleep");
    load(pool, "chat", PAGE, "weights", 24);
    wake = woken("chat");
    assert_ok(ferrum_elastic_pool_wake_model(pool, "chat", &wake, NULL));
    assert_bytes(rest, 23, PAGE);
    assert_ok(ferrum_elastic_pool_wake_model(pool, "chat", NULL, &back));
    assert_int_equal(back.restored_bytes, 2 * PAGE);
    assert_bytes(kv, 0, 2 * PAGE);
    assert_ok(ferrum_elastic_pool_destroy(pool, FERRUM_FORCE));
}

static void test_two_models_in_turn(void **state) {
    (void)state;
    ferrum_elastic_pool pool = make_shared(16 * PAGE);
    const char *ids[] = {"chat", "code"};
    unsigned char *blocks[2];
    ferrum_sleep_config config = kept(FERRUM_SLEEP_HOST, NULL);
    for (int i = 0; i < 2; i++) {
        add(pool, ids[i]);
        blocks[i] = load(pool, ids[i], 12 * PAGE, "weights", 31 + i);
        assert_ok(ferrum_elastic_pool_sleep_model(pool, ids[i], &config, NULL));
    }
    for (int turn = 0; turn < 6; turn++) {
        const char *id = ids[turn % 2], *other = ids[(turn + 1) % 2];
        assert_ok(ferrum_elastic_pool_wake_model(pool, id, NULL, NULL));
        assert_bytes(blocks[turn % 2], 31 + turn % 2 + 2 * (turn / 2),
                     12 * PAGE);
        memset(blocks[turn % 2], 33 + turn % 2 + 2 * (turn / 2), 12 * PAGE);
        /* There is not enough memory for both. The other model stays
         * asleep, with its bytes. */
        assert_status(ferrum_elastic_pool_wake_model(pool, other, NULL, NULL),
                      FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY);
        assert_message("requested 768 KiB, available 256 KiB");
        assert_int_equal(model(pool, other).wake_failures,
                         (uint64_t)(turn + 1) / 2 + (turn % 2 == 0));
        assert_int_equal(model(pool, other).asleep_pages, 12);
        config.backing = turn % 3 == 2 ? FERRUM_SLEEP_FILE : FERRUM_SLEEP_HOST;
        config.directory = turn % 3 == 2 ? folder : NULL;
        assert_ok(ferrum_elastic_pool_sleep_model(pool, id, &config, NULL));
    }
    ferrum_elastic_pool_info all = FERRUM_ELASTIC_POOL_INFO_INIT;
    assert_ok(ferrum_elastic_pool_get_info(pool, &all));
    assert_int_equal(all.physical_bytes, 0);
    assert_int_equal(all.peak_physical_bytes, 12 * PAGE);
    assert_ok(ferrum_elastic_pool_destroy(pool, FERRUM_FORCE));
    assert_int_equal(entries(), 0);
}

/* ----------------------------------------------------------------------- files */

static void test_files(void **state) {
    (void)state;
    ferrum_vpool vpool = make(8 * MIB);
    unsigned char *block = take(vpool, 0, 4 * PAGE, NULL, 41);
    ferrum_sleep_config config = kept(FERRUM_SLEEP_FILE, NULL);
    ferrum_sleep_report report = FERRUM_SLEEP_REPORT_INIT;
    assert_ok(ferrum_vpool_sleep(vpool, &config, &report));
    assert_int_equal(strncmp(report.path, folder, strlen(folder)), 0);
    struct stat about;
    assert_int_equal(stat(report.path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    assert_true((uint64_t)about.st_size >= 4 * PAGE);
    /* One changed byte is detected, and the wake can be repeated. */
    int file = open(report.path, O_RDWR);
    assert_true(file >= 0);
    unsigned char byte;
    off_t place = about.st_size - 100;
    assert_int_equal(pread(file, &byte, 1, place), 1);
    assert_int_equal(byte, 41);
    byte = 42;
    assert_int_equal(pwrite(file, &byte, 1, place), 1);
    assert_status(ferrum_vpool_wake(vpool, NULL, NULL), FERRUM_ERROR_CORRUPTED);
    assert_message(report.path);
    assert_int_equal(info_of(vpool).asleep_pages, 4);
    assert_int_equal(info_of(vpool).physical_bytes, 0);
    byte = 41;
    assert_int_equal(pwrite(file, &byte, 1, place), 1);
    close(file);
    assert_ok(ferrum_vpool_wake(vpool, NULL, NULL));
    assert_bytes(block, 41, 4 * PAGE);
    assert_int_equal(entries(), 0);
    assert_ok(ferrum_vpool_destroy(vpool, FERRUM_FORCE));
}

static void test_disks_that_cannot_be_written(void **state) {
    (void)state;
    ferrum_vpool vpool = make(8 * MIB);
    unsigned char *block = take(vpool, 0, 4 * PAGE, NULL, 51);
    ferrum_sleep_config config = kept(FERRUM_SLEEP_FILE, NULL);
    config.directory = "/nonexistent/folder";
    assert_status(ferrum_vpool_sleep(vpool, &config, NULL), FERRUM_ERROR_IO);
    assert_message("\"/nonexistent/folder\"");
    /* A file that must not grow that long simulates a full disk. */
    config.directory = folder;
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 2 * PAGE;
    /* The signal of that limit would end the process. */
    assert_true(signal(SIGXFSZ, SIG_DFL) == SIG_DFL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    ferrum_status status = ferrum_vpool_sleep(vpool, &config, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_status(status, FERRUM_ERROR_RESOURCE_EXHAUSTED);
    assert_message(folder);
    assert_int_equal(entries(), 0);
    ferrum_vpool_info info = info_of(vpool);
    assert_int_equal(info.sleep_failures, 2);
    assert_int_equal(info.asleep_file_bytes + info.asleep_pages, 0);
    assert_int_equal(info.mapped_pages, 4);
    assert_bytes(block, 51, 4 * PAGE);
    assert_ok(ferrum_vpool_sleep(vpool, &config, NULL));
    assert_ok(ferrum_vpool_wake(vpool, NULL, NULL));
    assert_bytes(block, 51, 4 * PAGE);
    assert_ok(ferrum_vpool_destroy(vpool, FERRUM_FORCE));
}

static void test_external_files_stay(void **state) {
    (void)state;
    ferrum_vpool vpool = make(8 * MIB);
    unsigned char *block = take(vpool, 0, 4 * PAGE, NULL, 55);
    char notes[128], moved[FERRUM_PATH_MAX + 1];
    snprintf(notes, sizeof notes, "%s/ferrum-sleep-notes.txt", folder);
    FILE *file = fopen(notes, "w");
    assert_true(file != NULL && fputs("notes", file) >= 0);
    assert_int_equal(fclose(file), 0);
    ferrum_sleep_config config = kept(FERRUM_SLEEP_FILE, NULL);
    ferrum_sleep_report report = FERRUM_SLEEP_REPORT_INIT;
    assert_ok(ferrum_vpool_sleep(vpool, &config, &report));
    assert_int_equal(entries(), 2);
    /* The program replaces the file with a file of its own. */
    assert_int_equal(rename(report.path, strcat(strcpy(moved, notes), "~")), 0);
    assert_int_equal(rename(notes, report.path), 0);
    assert_ok(ferrum_vpool_wake(vpool, NULL, NULL));
    assert_bytes(block, 55, 4 * PAGE);
    char line[16] = "";
    file = fopen(report.path, "r");
    assert_true(file != NULL && fgets(line, sizeof line, file) != NULL);
    assert_int_equal(fclose(file), 0);
    assert_string_equal(line, "notes");
    assert_int_equal(remove(report.path) + remove(moved), 0);
    assert_int_equal(entries(), 0);
    assert_ok(ferrum_vpool_destroy(vpool, FERRUM_FORCE));
}

/* -------------------------------------------------------------------- all or nothing */

#define LARGE (16 * MIB)

static void assert_all(const unsigned char *block, int value) {
    assert_int_equal(block[0], value);
    assert_int_equal(memcmp(block, block + 1, LARGE - 1), 0);
}

/* Calls are cut off at any point by their timeout, under a limit below the
 * present use. No page is lost, and no copy. */
static void test_timeouts_lose_no_page(void **state) {
    (void)state;
    const ferrum_sleep_backing backings[] = {FERRUM_SLEEP_HOST,
                                             FERRUM_SLEEP_FILE};
    for (int i = 0; i < 2; i++) {
        ferrum_elastic_pool pool = make_shared(20 * MIB);
        add(pool, "a");
        add(pool, "b");
        unsigned char *block = load(pool, "b", LARGE, NULL, 81);
        ferrum_sleep_config config = kept(backings[i], NULL);
        ferrum_status status = FERRUM_ERROR_TIMEOUT;
        int cut = 0;
        assert_ok(ferrum_elastic_pool_set_limit(pool, 5 * MIB));
        for (uint64_t ns = 1000; status != FERRUM_OK; ns += ns / 4) {
            config.timeout_ns = ns;
            status = ferrum_elastic_pool_sleep_model(pool, "b", &config, NULL);
            if (status == FERRUM_OK)
                break;
            assert_status(status, FERRUM_ERROR_TIMEOUT);
            assert_int_equal(model(pool, "b").mapped_pages, LARGE / PAGE);
            assert_int_equal(model(pool, "b").asleep_pages, 0);
            assert_all(block, 81);
            assert_int_equal(entries(), 0);
            cut++;
        }
        assert_true(cut > 0);
        assert_int_equal(model(pool, "b").asleep_pages, LARGE / PAGE);
        assert_int_equal(entries(), i);
        assert_status(ferrum_elastic_pool_wake_model(pool, "b", NULL, NULL),
                      FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY);
        assert_ok(ferrum_elastic_pool_set_limit(pool, 20 * MIB));
        ferrum_wake_config wake = woken(NULL);
        status = FERRUM_ERROR_TIMEOUT;
        for (uint64_t ns = 1000; status != FERRUM_OK; ns += ns / 4) {
            wake.timeout_ns = ns;
            status = ferrum_elastic_pool_wake_model(pool, "b", &wake, NULL);
            if (status == FERRUM_OK)
                break;
            assert_status(status, FERRUM_ERROR_TIMEOUT);
            ferrum_model_info info = model(pool, "b");
            assert_int_equal(info.asleep_pages, LARGE / PAGE);
            assert_int_equal(info.asleep_host_bytes + info.asleep_file_bytes,
                             LARGE);
            assert_int_equal(info.physical_bytes, 0);
            assert_int_equal(entries(), i);
        }
        assert_all(block, 81);
        assert_int_equal(entries(), 0);
        assert_ok(ferrum_elastic_pool_destroy(pool, FERRUM_FORCE));
    }
}

typedef struct {
    pthread_t thread;
    ferrum_vpool vpool;
    ferrum_elastic_pool pool;
    ferrum_status status;
} sleeping;

static void *sleep_vpool(void *data) {
    sleeping *s = data;
    s->status = ferrum_vpool_sleep(s->vpool, NULL, NULL);
    return NULL;
}
static void *sleep_model(void *data) {
    sleeping *s = data;
    s->status = ferrum_elastic_pool_sleep_model(s->pool, "idle", NULL, NULL);
    return NULL;
}

/* Frees a range that is just being woken, and then its own. */
static uint64_t free_what_wakes(ferrum_elastic_pool pool, const char *id,
                                uint64_t needed, void *data) {
    ferrum_status *status = data;
    *status =
        ferrum_elastic_pool_free(pool, "idle", 0, 6 * PAGE, default_stream);
    if (ferrum_elastic_pool_free(pool, id, 0, 7 * PAGE, default_stream) !=
        FERRUM_OK)
        return 0;
    return needed;
}

static void test_ranges_are_busy_meanwhile(void **state) {
    (void)state;
    sleeping s = {.vpool = make(8 * MIB), .pool = make_shared(8 * PAGE)};
    add(s.pool, "idle");
    add(s.pool, "busy");
    unsigned char *block = take(s.vpool, 0, 2 * PAGE, NULL, 85);
    unsigned char *range = load(s.pool, "idle", 6 * PAGE, NULL, 86);
    void *(*bodies[])(void *) = {sleep_vpool, sleep_model};
    for (int i = 0; i < 2; i++) {
        /* The call waits for this gate. */
        gate g = GATE;
        assert_ok(ferrum_stream_host_function(f.stream, gate_wait, &g));
        assert_int_equal(pthread_create(&s.thread, NULL, bodies[i], &s), 0);
        uint32_t begun = 0;
        while (!begun)
            assert_ok(i == 0 ? ferrum_vpool_is_asleep(s.vpool, NULL, &begun)
                             : ferrum_elastic_pool_is_model_asleep(
                                   s.pool, "idle", NULL, &begun));
        if (i == 0)
            assert_status(
                ferrum_vpool_free(s.vpool, PAGE, PAGE, default_stream),
                FERRUM_ERROR_BUSY);
        else
            assert_status(ferrum_elastic_pool_free(s.pool, "idle", 0, 6 * PAGE,
                                                   default_stream),
                          FERRUM_ERROR_BUSY);
        assert_message("being put to sleep or woken");
        assert_bytes(block, 85, i == 0 ? 2 * PAGE : 0);
        gate_open(&g);
        pthread_join(s.thread, NULL);
        assert_ok(s.status);
    }
    load(s.pool, "busy", 7 * PAGE, NULL, 87);
    ferrum_reclaim_config config = FERRUM_RECLAIM_CONFIG_INIT;
    config.deadline_ns = UINT64_C(20000000000);
    ferrum_status status = 1;
    ferrum_registration registration;
    assert_ok(ferrum_elastic_pool_reclaim_callback_add(
        s.pool, "busy", &config, free_what_wakes, &status, &registration));
    assert_ok(ferrum_elastic_pool_wake_model(s.pool, "idle", NULL, NULL));
    assert_ok(ferrum_registration_remove(registration));
    assert_status(status, FERRUM_ERROR_BUSY);
    assert_bytes(range, 86, 6 * PAGE);
    /* After the calls have ended, the ranges can be freed, asleep or awake. */
    assert_ok(ferrum_vpool_free(s.vpool, 0, 2 * PAGE, default_stream));
    assert_ok(
        ferrum_elastic_pool_free(s.pool, "idle", 0, 6 * PAGE, default_stream));
    assert_ok(ferrum_vpool_destroy(s.vpool, 0));
    assert_ok(ferrum_elastic_pool_destroy(s.pool, 0));
}

/* -------------------------------------------------------- waiting for queued work */

static void test_queued_work_is_waited_for(void **state) {
    (void)state;
    ferrum_vpool vpool = make(8 * MIB);
    unsigned char *block = take(vpool, 0, 2 * PAGE, NULL, 61);
    gate g = GATE;
    assert_ok(ferrum_stream_host_function(f.stream, gate_wait, &g));
    ferrum_sleep_config config = kept(FERRUM_SLEEP_HOST, NULL);
    config.timeout_ns = 3000000;
    assert_status(ferrum_vpool_sleep(vpool, &config, NULL),
                  FERRUM_ERROR_TIMEOUT);
    config.timeout_ns = 0;
    assert_status(ferrum_vpool_sleep(vpool, &config, NULL),
                  FERRUM_ERROR_TIMEOUT);
    config.stream = f.stream;
    assert_status(ferrum_vpool_sleep(vpool, &config, NULL),
                  FERRUM_ERROR_TIMEOUT);
    assert_bytes(block, 61, 2 * PAGE);
    assert_int_equal(asleep(vpool, NULL), 0);
    /* A stream with an empty queue. The call does not wait for other
     * streams. */
    ferrum_stream idle;
    assert_ok(ferrum_stream_create(f.device, &idle));
    config.stream = idle;
    assert_ok(ferrum_vpool_sleep(vpool, &config, NULL));
    ferrum_wake_config wake = woken(NULL);
    wake.timeout_ns = 1;
    assert_status(ferrum_vpool_wake(vpool, &wake, NULL), FERRUM_ERROR_TIMEOUT);
    assert_int_equal(info_of(vpool).asleep_pages, 2);
    wake.num_streams = 3;
    /* Nothing must be waited for. */
    wake.timeout_ns = 0;
    assert_ok(ferrum_vpool_wake(vpool, &wake, NULL));
    gate_open(&g);
    assert_ok(ferrum_stream_synchronize(f.stream, FERRUM_WAIT_FOREVER));
    assert_ok(ferrum_stream_destroy(idle, 0));
    assert_bytes(block, 61, 2 * PAGE);
    assert_ok(ferrum_vpool_destroy(vpool, FERRUM_FORCE));
}

typedef struct {
    pthread_t thread;
    ferrum_vpool vpool;
    ferrum_elastic_pool pool;
    ferrum_status vpool_status, pool_status;
} waiter;

static void *wait_awake(void *data) {
    waiter *w = data;
    ferrum_vpool_request range = FERRUM_VPOOL_REQUEST_INIT;
    range.offset_bytes = 8 * PAGE;
    range.size_bytes = PAGE;
    range.asleep_wait_ns = FERRUM_WAIT_FOREVER;
    ferrum_address address;
    w->vpool_status = ferrum_vpool_alloc_with(w->vpool, &range, &address);
    ferrum_model_request request = FERRUM_MODEL_REQUEST_INIT;
    request.size_bytes = PAGE;
    request.asleep_wait_ns = FERRUM_WAIT_FOREVER;
    w->pool_status = ferrum_elastic_pool_alloc_with(w->pool, "chat", &request,
                                                    &address, NULL);
    return NULL;
}

static void test_allocations_wait_if_they_ask(void **state) {
    (void)state;
    ferrum_vpool vpool = make(8 * MIB);
    ferrum_elastic_pool pool = make_shared(8 * MIB);
    add(pool, "chat");
    take(vpool, 0, PAGE, "kv", 1);
    load(pool, "chat", PAGE, "kv", 1);
    assert_ok(ferrum_vpool_sleep(vpool, NULL, NULL));
    assert_ok(ferrum_elastic_pool_sleep_model(pool, "chat", NULL, NULL));
    ferrum_vpool_request range = FERRUM_VPOOL_REQUEST_INIT;
    range.offset_bytes = 8 * PAGE;
    range.size_bytes = PAGE;
    ferrum_address address = 1;
    assert_status(ferrum_vpool_alloc_with(vpool, &range, &address),
                  FERRUM_ERROR_INVALID_STATE);
    assert_int_equal(address, 0);
    range.asleep_wait_ns = 1000000;
    assert_status(ferrum_vpool_alloc_with(vpool, &range, &address),
                  FERRUM_ERROR_TIMEOUT);
    assert_message("asleep");
    assert_status(ferrum_elastic_pool_alloc(pool, "chat", PAGE, &address, NULL),
                  FERRUM_ERROR_INVALID_STATE);
    waiter w = {.vpool = vpool, .pool = pool};
    assert_int_equal(pthread_create(&w.thread, NULL, wait_awake, &w), 0);
    assert_ok(ferrum_vpool_wake(vpool, NULL, NULL));
    assert_ok(ferrum_elastic_pool_wake_model(pool, "chat", NULL, NULL));
    pthread_join(w.thread, NULL);
    assert_ok(w.vpool_status);
    assert_ok(w.pool_status);
    assert_int_equal(info_of(vpool).mapped_pages, 2);
    assert_int_equal(model(pool, "chat").mapped_pages, 2);
    assert_ok(ferrum_vpool_destroy(vpool, FERRUM_FORCE));
    assert_ok(ferrum_elastic_pool_destroy(pool, FERRUM_FORCE));
}

typedef struct {
    ferrum_vpool vpool;
    ferrum_elastic_pool pool;
    ferrum_status status[4];
} inside;

static void call_inside(void *data) {
    inside *in = data;
    in->status[0] = ferrum_vpool_sleep(in->vpool, NULL, NULL);
    in->status[1] = ferrum_vpool_wake(in->vpool, NULL, NULL);
    in->status[2] =
        ferrum_elastic_pool_sleep_model(in->pool, "chat", NULL, NULL);
    in->status[3] =
        ferrum_elastic_pool_wake_model(in->pool, "chat", NULL, NULL);
}

/* A model that releases its memory by going to sleep. */
static uint64_t doze_off(ferrum_elastic_pool pool, const char *id,
                         uint64_t needed, void *data) {
    (void)needed;
    ferrum_status *status = data;
    ferrum_sleep_report report = FERRUM_SLEEP_REPORT_INIT;
    *status = ferrum_elastic_pool_sleep_model(pool, id, NULL, &report);
    return report.released_bytes;
}

static void test_inside_callbacks(void **state) {
    (void)state;
    inside in = {.vpool = f.vpool, .pool = f.shared};
    assert_ok(ferrum_stream_host_function(f.stream, call_inside, &in));
    assert_ok(ferrum_stream_synchronize(f.stream, FERRUM_WAIT_FOREVER));
    for (int i = 0; i < 4; i++)
        assert_status(in.status[i], FERRUM_ERROR_INVALID_STATE);
    assert_int_equal(asleep(f.vpool, NULL), 0);
    ferrum_elastic_pool pool = make_shared(8 * PAGE);
    add(pool, "idle");
    add(pool, "busy");
    unsigned char *block = load(pool, "idle", 6 * PAGE, NULL, 71);
    ferrum_reclaim_config config = FERRUM_RECLAIM_CONFIG_INIT;
    config.deadline_ns = UINT64_C(20000000000);
    ferrum_status slept = 1;
    ferrum_registration registration;
    assert_ok(ferrum_elastic_pool_reclaim_callback_add(
        pool, "idle", &config, doze_off, &slept, &registration));
    load(pool, "busy", 7 * PAGE, NULL, 72);
    /* The pages may be available before the call that released them has
     * returned. */
    assert_ok(ferrum_registration_remove(registration));
    assert_ok(slept);
    assert_int_equal(model(pool, "idle").asleep_pages, 6);
    assert_ok(
        ferrum_elastic_pool_free(pool, "busy", 0, 7 * PAGE, default_stream));
    assert_ok(ferrum_elastic_pool_wake_model(pool, "idle", NULL, NULL));
    assert_bytes(block, 71, 6 * PAGE);
    assert_ok(ferrum_elastic_pool_destroy(pool, FERRUM_FORCE));
}

/* -------------------------------------------------- forced destroy and shutdown */

static void sleep_both(ferrum_vpool *vpool, ferrum_elastic_pool *pool) {
    *vpool = make(8 * MIB);
    *pool = make_shared(8 * MIB);
    add(*pool, "chat");
    take(*vpool, 0, 3 * PAGE, "weights", 1);
    load(*pool, "chat", 5 * PAGE, "kv", 1);
    ferrum_sleep_config config = kept(FERRUM_SLEEP_FILE, NULL);
    assert_ok(ferrum_vpool_sleep(*vpool, &config, NULL));
    assert_ok(ferrum_elastic_pool_sleep_model(*pool, "chat", &config, NULL));
    assert_int_equal(entries(), 2);
}

static void test_ends_by_force(void **state) {
    (void)state;
    ferrum_vpool vpool;
    ferrum_elastic_pool pool;
    sleep_both(&vpool, &pool);
    assert_status(ferrum_vpool_destroy(vpool, 0), FERRUM_ERROR_BUSY);
    assert_message("asleep");
    assert_status(ferrum_elastic_pool_unregister_model(pool, "chat", 0),
                  FERRUM_ERROR_BUSY);
    assert_status(ferrum_elastic_pool_destroy(pool, 0), FERRUM_ERROR_BUSY);
    assert_ok(ferrum_vpool_destroy(vpool, FERRUM_FORCE));
    assert_int_equal(entries(), 1);
    assert_ok(ferrum_elastic_pool_unregister_model(pool, "chat", FERRUM_FORCE));
    assert_int_equal(entries(), 0);
    assert_ok(ferrum_elastic_pool_destroy(pool, 0));
    assert_status(ferrum_vpool_wake(vpool, NULL, NULL),
                  FERRUM_ERROR_INVALID_HANDLE);
    /* The counters without the sleeping ranges. */
    char text[16384];
    size_t length;
    assert_ok(ferrum_snapshot_json(text, sizeof text, &length));
    assert_non_null(strstr(text, "\"asleep\":{\"asleep_host_bytes\":0,"
                                 "\"asleep_file_bytes\":0,"
                                 "\"asleep_discarded_bytes\":0}"));
}

static void test_shutdown_while_asleep(void **state) {
    (void)state;
    ferrum_vpool vpool;
    ferrum_elastic_pool pool;
    sleep_both(&vpool, &pool);
    char text[16384];
    size_t length;
    assert_ok(ferrum_snapshot_json(text, sizeof text, &length));
    assert_non_null(strstr(text, "\"asleep_file_bytes\":524288"));
    assert_non_null(strstr(text, "\"asleep_pages\":5"));
    assert_status(ferrum_shutdown(0), FERRUM_ERROR_BUSY);
    assert_ok(ferrum_shutdown(FERRUM_FORCE));
    assert_int_equal(entries(), 0);
    assert_ok(ferrum_leak_report_json(text, sizeof text, &length));
    assert_non_null(strstr(text, "\"bytes\":196608,\"tag\":\"weights\""));
    assert_non_null(strstr(text, "\"bytes\":327680,\"tag\":\"kv\""));
    fixture_make(&f);
}

/* ------------------------------------------------------------------- 8 threads */

#define THREADS 8
#define ROUNDS 60

typedef struct {
    pthread_t thread;
    ferrum_elastic_pool pool;
    int number, failures;
    uint64_t sleeps, wakes;
} worker;

static uint64_t step(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

/* Two threads for each model, each with its own tag. The bytes return,
 * whichever ranges sleep meanwhile. */
static void *work(void *data) {
    worker *w = data;
    char id[16], tag[16];
    snprintf(id, sizeof id, "m%d", w->number / 2);
    snprintf(tag, sizeof tag, "t%d", w->number);
    uint64_t random = 99 + (uint64_t)w->number;
    ferrum_model_request request = FERRUM_MODEL_REQUEST_INIT;
    request.size_bytes = 3 * PAGE;
    request.tag = tag;
    request.asleep_wait_ns = FERRUM_WAIT_FOREVER;
    for (int round = 0; round < ROUNDS; round++) {
        ferrum_address address;
        uint64_t offset;
        if (ferrum_elastic_pool_alloc_with(w->pool, id, &request, &address,
                                           &offset) != FERRUM_OK) {
            w->failures++;
            break;
        }
        unsigned char *block = (unsigned char *)(uintptr_t)address;
        memset(block, w->number + round, 3 * PAGE);
        ferrum_sleep_config config = kept(
            step(&random) % 2 ? FERRUM_SLEEP_HOST : FERRUM_SLEEP_FILE, tag);
        config.stream = default_stream;
        w->failures += ferrum_elastic_pool_sleep_model(w->pool, id, &config,
                                                       NULL) != FERRUM_OK;
        w->sleeps++;
        if (step(&random) % 3 != 0) {
            ferrum_wake_config wake = woken(tag);
            w->failures += ferrum_elastic_pool_wake_model(w->pool, id, &wake,
                                                          NULL) != FERRUM_OK;
            w->wakes++;
            for (uint64_t i = 0; i < 3 * PAGE; i += 509)
                w->failures += block[i] != (unsigned char)(w->number + round);
        }
        w->failures += ferrum_elastic_pool_free(w->pool, id, offset, 3 * PAGE,
                                                f.stream) != FERRUM_OK;
        ferrum_wake_config wake = woken(tag);
        uint32_t sleeps = 0;
        w->failures += ferrum_elastic_pool_is_model_asleep(
                           w->pool, id, tag, &sleeps) != FERRUM_OK;
        if (sleeps) {
            w->failures += ferrum_elastic_pool_wake_model(w->pool, id, &wake,
                                                          NULL) != FERRUM_OK;
            w->wakes++;
        }
    }
    return NULL;
}

static void test_eight_threads(void **state) {
    (void)state;
    ferrum_elastic_pool pool = make_shared(64 * PAGE);
    for (int i = 0; i < THREADS / 2; i++) {
        char id[16];
        snprintf(id, sizeof id, "m%d", i);
        add(pool, id);
    }
    worker workers[THREADS];
    uint64_t sleeps = 0, wakes = 0;
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.pool = pool, .number = i};
        assert_int_equal(
            pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].failures, 0);
        sleeps += workers[i].sleeps;
        wakes += workers[i].wakes;
    }
    for (int i = 0; i < THREADS / 2; i++) {
        char id[16];
        snprintf(id, sizeof id, "m%d", i);
        ferrum_model_info info = model(pool, id);
        assert_int_equal(info.asleep_pages + info.asleep_file_bytes +
                             info.asleep_host_bytes,
                         0);
        sleeps -= info.sleeps;
        wakes -= info.wakes;
    }
    assert_int_equal(sleeps, 0);
    assert_int_equal(wakes, 0);
    assert_int_equal(entries(), 0);
    assert_ok(ferrum_elastic_pool_destroy(pool, 0));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_bytes_and_addresses),
        TEST(test_sleep_and_wake_by_tag),
        TEST(test_two_models_in_turn),
        TEST(test_files),
        TEST(test_disks_that_cannot_be_written),
        TEST(test_external_files_stay),
        TEST(test_timeouts_lose_no_page),
        TEST(test_ranges_are_busy_meanwhile),
        TEST(test_queued_work_is_waited_for),
        TEST(test_allocations_wait_if_they_ask),
        TEST(test_inside_callbacks),
        TEST(test_ends_by_force),
        TEST(test_shutdown_while_asleep),
        TEST(test_eight_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
