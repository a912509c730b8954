/*
 * Debug mode of pools: what a report contains, and that a correct program gets
 * no report.
 *
 * Each program below runs in a separate process: this program, started again
 * with the name of the case. Most of them run with FERRUM_DEBUG in the
 * environment, and the program itself does not set debug mode. Their output on
 * stderr must contain all listed words, or be empty if none are listed.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ferrum_mem.h"
#include "requests.h"

extern char **environ;

#define EXPECT(condition)                                              \
    do {                                                               \
        if (!(condition)) {                                            \
            ferrum_error_info why = FERRUM_ERROR_INFO_INIT;            \
            ferrum_last_error(&why);                                   \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, \
                    why.message);                                      \
            exit(1);                                                   \
        }                                                              \
    } while (0)

#define MIB (UINT64_C(1) << 20)

static ferrum_device device;
static ferrum_pool pool, other_pool;

static ferrum_pool_config pool_config(const char *name) {
    ferrum_pool_config config = FERRUM_POOL_CONFIG_INIT;
    config.name = name;
    config.initial_size_bytes = 16 * MIB;
    config.growth_increment_bytes = 16 * MIB;
    return config;
}

static void start(uint32_t debug) {
    ferrum_config config = FERRUM_CONFIG_INIT;
    config.host_memory_bytes = 256 * MIB;
    EXPECT(ferrum_init(&config) == FERRUM_OK);
    EXPECT(ferrum_device_open("cpu:0", &device) == FERRUM_OK);
    ferrum_pool_config settings = pool_config("first");
    settings.debug = debug;
    EXPECT(ferrum_pool_create(device, &settings, &pool) == FERRUM_OK);
    settings = pool_config("second");
    EXPECT(ferrum_pool_create(device, &settings, &other_pool) == FERRUM_OK);
}

static void stop(void) {
    EXPECT(ferrum_pool_destroy(pool, 0) == FERRUM_OK);
    EXPECT(ferrum_pool_destroy(other_pool, 0) == FERRUM_OK);
    EXPECT(ferrum_device_close(device, 0) == FERRUM_OK);
    EXPECT(ferrum_shutdown(0) == FERRUM_OK);
}

/* The functions whose names the reports must contain. The statement after
 * the call keeps the compiler from making a tail call. */
volatile int calls;
#define NAMED __attribute__((noinline, visibility("default")))
NAMED unsigned char *allocate_it(uint64_t size_bytes);
NAMED ferrum_status free_it(void *block);
NAMED ferrum_status free_again(void *block);

unsigned char *allocate_it(uint64_t size_bytes) {
    ferrum_address address;
    EXPECT(ferrum_pool_alloc(pool, size_bytes, (ferrum_stream){0}, &address) ==
           FERRUM_OK);
    calls++;
    return (unsigned char *)(uintptr_t)address;
}

ferrum_status free_it(void *block) {
    ferrum_status status = ferrum_pool_free(
        pool, (ferrum_address)(uintptr_t)block, (ferrum_stream){0});
    calls++;
    return status;
}

ferrum_status free_again(void *block) {
    ferrum_status status = ferrum_pool_free(
        pool, (ferrum_address)(uintptr_t)block, (ferrum_stream){0});
    calls++;
    return status;
}

static ferrum_statistics statistics(void) {
    ferrum_statistics s = FERRUM_STATISTICS_INIT;
    EXPECT(ferrum_pool_get_statistics(pool, &s) == FERRUM_OK);
    EXPECT(s.reserved.current ==
           s.active.current + s.cached.current + s.unusable.current);
    return s;
}

/* ---------------------------------------------------------------- programs */

/* A free that finds damage still frees the block. */
static void overrun(int64_t at) {
    unsigned char *block = allocate_it(1000);
    memset(block, 1, 1000);
    block[at] = 0x41;
    EXPECT(free_it(block) == FERRUM_ERROR_CORRUPTED);
    ferrum_error_info why = FERRUM_ERROR_INFO_INIT;
    ferrum_last_error(&why);
    EXPECT(strstr(why.message, "overrun of the block of 1000 bytes") != NULL);
    EXPECT(strcmp(why.function, "ferrum_pool_free") == 0);
    EXPECT(statistics().live_blocks.current == 0);
}

static void overrun_behind(void) {
    start(0);
    overrun(1000);
    stop();
}

static void overrun_before(void) {
    start(0);
    overrun(-1);
    stop();
}

static void write_after_free(void) {
    start(0);
    unsigned char *block = allocate_it(1000);
    EXPECT(free_it(block) == FERRUM_OK);
    block[17] = 0x41;
    stop();
}

static void damage_on_demand(void) {
    start(0);
    unsigned char *live = allocate_it(1000), *freed = allocate_it(1000);
    EXPECT(free_it(freed) == FERRUM_OK);
    EXPECT(ferrum_pool_check(pool) == FERRUM_OK);
    live[1000] = 0x41;
    freed[17] = 0x42;
    EXPECT(ferrum_pool_check(pool) == FERRUM_ERROR_CORRUPTED);
    EXPECT(ferrum_pool_check(pool) == FERRUM_OK);
    EXPECT(free_it(live) == FERRUM_OK);
    stop();
}

static void double_free(void) {
    start(0);
    unsigned char *block = allocate_it(1000);
    EXPECT(free_it(block) == FERRUM_OK);
    EXPECT(free_again(block) == FERRUM_ERROR_DOUBLE_FREE);
    EXPECT(statistics().frees == 1);
    stop();
}

static void inside_address(void) {
    start(0);
    unsigned char *block = allocate_it(1000);
    EXPECT(free_again(block + 8) == FERRUM_ERROR_INVALID_ADDRESS);
    EXPECT(statistics().live_blocks.current == 1);
    EXPECT(free_it(block) == FERRUM_OK);
    stop();
}

static void foreign_address(void) {
    start(0);
    ferrum_address address;
    EXPECT(ferrum_pool_alloc(other_pool, 100, (ferrum_stream){0}, &address) ==
           FERRUM_OK);
    EXPECT(free_it((void *)(uintptr_t)address) == FERRUM_ERROR_INVALID_ADDRESS);
    EXPECT(ferrum_pool_free(other_pool, address, (ferrum_stream){0}) ==
           FERRUM_OK);
    void *heap = malloc(100);
    EXPECT(free_it(heap) == FERRUM_ERROR_INVALID_ADDRESS);
    free(heap);
    stop();
}

static void leak(void) {
    start(0);
    /* volatile: an unrolled loop would be three call sites. */
    for (volatile int i = 0; i < 3; i++)
        allocate_it(1000);
    EXPECT(ferrum_pool_destroy(pool, 0) == FERRUM_ERROR_BUSY);
    size_t length;
    EXPECT(ferrum_leak_report_json(NULL, 0, &length) == FERRUM_OK);
    /* Ages grow between the calls. */
    size_t room = length + 1000;
    char *report = malloc(room);
    EXPECT(ferrum_leak_report_json(report, room, &length) == FERRUM_OK);
    EXPECT(strstr(report, "allocate_it") != NULL);
    free(report);
    EXPECT(ferrum_pool_destroy(pool, FERRUM_FORCE) == FERRUM_OK);
    ferrum_pool_config settings = pool_config("third");
    EXPECT(ferrum_pool_create(device, &settings, &pool) == FERRUM_OK);
    stop();
}

/* A leaked block with damage beside it. */
static void damaged_leak(void) {
    start(0);
    allocate_it(1000)[1001] = 0x41;
    EXPECT(ferrum_pool_destroy(pool, FERRUM_FORCE) == FERRUM_OK);
    ferrum_pool_config settings = pool_config("third");
    EXPECT(ferrum_pool_create(device, &settings, &pool) == FERRUM_OK);
    stop();
}

static void manager_overrun(void) {
    start(0);
    ferrum_manager manager;
    ferrum_memory memory;
    EXPECT(ferrum_manager_create(device, NULL, &manager) == FERRUM_OK);
    EXPECT(ferrum_manager_alloc(manager, 1000, &memory) == FERRUM_OK);
    ferrum_handle_info info = FERRUM_HANDLE_INFO_INIT;
    EXPECT(ferrum_memory_get_handle_info(memory, &info) == FERRUM_OK);
    ((unsigned char *)(uintptr_t)info.address)[1000] = 0x41;
    ferrum_status status = ferrum_memory_free(memory);
    EXPECT(status == FERRUM_OK || status == FERRUM_ERROR_CORRUPTED);
    EXPECT(ferrum_manager_destroy(manager, 0) == FERRUM_OK);
    stop();
}

/* The poison of a freed block is written after the work that was queued at
 * its free. */
static volatile int go_on;
static unsigned char seen_by_work;
static void look_at(void *block) {
    while (!go_on)
        usleep(100);
    seen_by_work = *(unsigned char *)block;
}

static void queued_work(void) {
    start(0);
    ferrum_stream stream;
    EXPECT(ferrum_stream_create(device, &stream) == FERRUM_OK);
    ferrum_address address, next;
    EXPECT(ferrum_pool_alloc(pool, 1000, stream, &address) == FERRUM_OK);
    unsigned char *block = (unsigned char *)(uintptr_t)address;
    EXPECT(block[0] == 0xCD && block[999] == 0xCD);
    block[0] = 77;
    EXPECT(ferrum_stream_host_function(stream, look_at, block) == FERRUM_OK);
    EXPECT(ferrum_pool_free(pool, address, stream) == FERRUM_OK);
    EXPECT(ferrum_pool_alloc(pool, 1000, stream, &next) == FERRUM_OK);
    EXPECT(next != address);
    EXPECT(block[0] == 77);
    EXPECT(ferrum_pool_free(pool, next, stream) == FERRUM_OK);
    go_on = 1;
    EXPECT(ferrum_stream_synchronize(stream, FERRUM_WAIT_FOREVER) == FERRUM_OK);
    EXPECT(seen_by_work == 77);
    EXPECT(ferrum_pool_alloc(pool, 1000, stream, &next) == FERRUM_OK);
    EXPECT(next != address);
    EXPECT(block[0] == 0xDD && block[999] == 0xDD);
    EXPECT(ferrum_pool_free(pool, next, stream) == FERRUM_OK);
    EXPECT(ferrum_stream_destroy(stream, FERRUM_FORCE) == FERRUM_OK);
    stop();
}

/* Random blocks, of which every byte is used, compared with a model of the
 * counters. */
static void right_program(void) {
    start(0);
    enum { BLOCKS = 200, STEPS = 20000 };
    struct {
        ferrum_address address;
        uint64_t size;
    } blocks[BLOCKS] = {{0, 0}};
    uint64_t live = 0, requested = 0, allocations = 0;
    uint32_t seed = 1;
    for (int step = 0; step < STEPS; step++) {
        seed = seed * 1664525u + 1013904223u;
        uint32_t at = (seed >> 8) % BLOCKS;
        if (blocks[at].address != 0) {
            ferrum_address address = blocks[at].address;
            uint64_t size = blocks[at].size;
            unsigned char *block = (unsigned char *)(uintptr_t)address;
            EXPECT(block[0] == (unsigned char)at &&
                   block[size - 1] == (unsigned char)at);
            EXPECT((step % 2 == 0
                        ? ferrum_pool_free(pool, address, (ferrum_stream){0})
                        : ferrum_pool_free_sized(pool, address, size,
                                                 (ferrum_stream){0})) ==
                   FERRUM_OK);
            live--;
            requested -= size;
            blocks[at].address = 0;
        } else {
            uint64_t size = 1 + (seed >> 4) % 40000;
            uint64_t alignment = UINT64_C(1) << ((seed >> 20) % 13);
            uint64_t usable;
            EXPECT(pool_alloc_aligned(pool, size, alignment, (ferrum_stream){0},
                                      &blocks[at].address) == FERRUM_OK);
            EXPECT(blocks[at].address % alignment == 0);
            EXPECT(ferrum_pool_usable_size(pool, blocks[at].address, &usable) ==
                   FERRUM_OK);
            EXPECT(usable >= size);
            memset((void *)(uintptr_t)blocks[at].address, (int)at, usable);
            blocks[at].size = size;
            live++;
            requested += size;
            allocations++;
        }
        if (step % 64 == 0 || step == STEPS - 1) {
            ferrum_statistics s = statistics();
            EXPECT(s.live_blocks.current == live);
            EXPECT(s.requested.current == requested);
            EXPECT(s.allocations == allocations);
            EXPECT(s.frees == allocations - live);
            EXPECT(s.allocated.current >= requested);
        }
    }
    ferrum_address batch[64];
    EXPECT(ferrum_pool_alloc_batch(pool, 5000, 64, (ferrum_stream){0}, batch) ==
           FERRUM_OK);
    for (int i = 0; i < 64; i++)
        memset((void *)(uintptr_t)batch[i], i, 5000);
    EXPECT(ferrum_pool_free_batch(pool, batch, 64, (ferrum_stream){0}) ==
           FERRUM_OK);
    EXPECT(ferrum_pool_reset(pool, (ferrum_stream){0}) == FERRUM_OK);
    EXPECT(statistics().live_blocks.current == 0);
    uint64_t released;
    EXPECT(ferrum_pool_trim(pool, 0, &released) == FERRUM_OK);
    EXPECT(statistics().reserved.current == 0);
    stop();
}

/* Without debug mode nothing is checked. */
static void not_debugged(void) {
    start(0);
    unsigned char *block = allocate_it(1000);
    block[1000] = 0x41;
    EXPECT(ferrum_pool_check(pool) == FERRUM_OK);
    EXPECT(free_it(block) == FERRUM_OK);
    block[1] = 0x41;
    EXPECT(free_again(block) == FERRUM_ERROR_DOUBLE_FREE);
    stop();
}

static void hear(ferrum_log_level level, const char *message, void *heard) {
    if (level == FERRUM_LOG_ERROR)
        snprintf(heard, 2048, "%s", message);
}

/* One pool requests debug mode, and the program gets the reports. */
static void by_setting(void) {
    static char heard[2048];
    EXPECT(ferrum_log_set_callback(FERRUM_LOG_WARNING, hear, heard) ==
           FERRUM_OK);
    start(FERRUM_DEBUG_ALL);
    overrun(1000);
    EXPECT(ferrum_log_set_callback(FERRUM_LOG_WARNING, NULL, NULL) ==
           FERRUM_OK);
    EXPECT(strstr(heard, "pool \"first\": overrun of the block") != NULL);
    EXPECT(strstr(heard, "(allocate_it)") != NULL);
    EXPECT(strstr(heard, "(free_it)") != NULL);
    ferrum_address address;
    EXPECT(ferrum_pool_alloc(other_pool, 1000, (ferrum_stream){0}, &address) ==
           FERRUM_OK);
    ((unsigned char *)(uintptr_t)address)[1000] = 1;
    EXPECT(ferrum_pool_free(other_pool, address, (ferrum_stream){0}) ==
           FERRUM_OK);
    stop();
}

/* Returns the lines that an interpreter would report. */
static size_t say_lines(char *buffer, size_t capacity, void *lines) {
    EXPECT(ferrum_call_site_set_callback(NULL, NULL) ==
           FERRUM_ERROR_INVALID_STATE);
    const char *said = lines;
    size_t length = strlen(said);
    EXPECT(length <= capacity);
    memcpy(buffer, said, length);
    return length;
}
/* Reports more bytes than the buffer has. */
static size_t say_too_much(char *buffer, size_t capacity, void *unused) {
    (void)unused;
    memset(buffer, 'x', capacity);
    return capacity + 1;
}

static void ask_site(ferrum_address address, char *to, size_t capacity) {
    size_t length;
    EXPECT(ferrum_device_get_call_site_json(device, address, to, capacity,
                                            &length) == FERRUM_OK);
}

/* The lines of an interpreter come before the native functions, in three
 * places: where a block was allocated, in an error, and in the log. */
static void interpreted(void) {
    static char loading[] = "engine.py:12 (load)\nengine.py:40 (main)";
    static char dropping[] = "engine.py:20 (drop)";
    char site[4096];
    start(0);
    EXPECT(ferrum_call_site_set_callback(say_lines, loading) == FERRUM_OK);
    unsigned char *block = allocate_it(1000);
    ask_site((uintptr_t)block + 999, site, sizeof site);
    EXPECT(strstr(site,
                  "[\"engine.py:12 (load)\",\"engine.py:40 (main)\",\"lib") ==
           site);
    EXPECT(strstr(site, "(allocate_it)") != NULL);
    EXPECT(ferrum_call_site_set_callback(say_lines, dropping) == FERRUM_OK);
    block[1000] = 0x41;
    EXPECT(free_it(block) == FERRUM_ERROR_CORRUPTED);
    ferrum_error_info why = FERRUM_ERROR_INFO_INIT;
    ferrum_last_error(&why);
    const char *allocated =
        strstr(why.message, "allocated at\n    engine.py:12 "
                            "(load)\n    engine.py:40 (main)\n");
    EXPECT(allocated != NULL);
    EXPECT(strstr(allocated, "freed at\n    engine.py:20 (drop)\n") != NULL);
    /* Without lines, or with a broken callback, the report has only the
     * native functions. */
    ferrum_call_site_fn others[] = {NULL, say_too_much};
    for (size_t i = 0; i < 2; i++) {
        EXPECT(ferrum_call_site_set_callback(others[i], NULL) == FERRUM_OK);
        block = allocate_it(1000);
        ask_site((uintptr_t)block, site, sizeof site);
        EXPECT(strstr(site, "[\"lib") == site);
        EXPECT(free_it(block) == FERRUM_OK);
    }
    EXPECT(ferrum_call_site_set_callback(NULL, NULL) == FERRUM_OK);
    stop();
}

static void unknown_word(void) {
    EXPECT(ferrum_init(NULL) == FERRUM_ERROR_INVALID_CONFIG);
    ferrum_error_info why = FERRUM_ERROR_INFO_INIT;
    ferrum_last_error(&why);
    EXPECT(strstr(why.message, "FERRUM_DEBUG") != NULL);
    EXPECT(strstr(why.message, "\"red_zone\"") != NULL);
}

/* ----------------------------------------------------------------- running */

typedef struct {
    const char *name;
    void (*run)(void);
    const char *environment; /* or NULL */
    const char *words[10];   /* none: it must write nothing */
} program;

static const program programs[] = {
    {"overrun_behind",
     overrun_behind,
     "FERRUM_DEBUG=all",
     {"ferrum_mem: error: cpu:0: pool \"first\": overrun of the block of 1000 "
      "bytes",
      "the byte at 1000, 0 after its end, is 0x41 instead of 0xfd",
      "allocated at\n", "(ferrum_pool_alloc)\n", "(allocate_it)\n",
      "freed at\n", "(free_it)\n", "(main)\n"}},
    {"overrun_before",
     overrun_before,
     "FERRUM_DEBUG=red_zones",
     {"the byte 1 before its start is 0x41 instead of 0xfd"}},
    {"write_after_free",
     write_after_free,
     "FERRUM_DEBUG=all",
     {"write after the free of the block of 1000 bytes",
      "the byte at 17 is 0x41 instead of 0xdd", "allocated at\n",
      "(allocate_it)\n", "freed at\n", "(free_it)\n"}},
    {"damage_on_demand",
     damage_on_demand,
     "FERRUM_DEBUG=all",
     {"the byte at 1000, 0 after its end, is 0x41 instead of 0xfd, seen by a "
      "check",
      "the byte at 17 is 0x42 instead of 0xdd, seen by a check"}},
    {"double_free",
     double_free,
     "FERRUM_DEBUG=all",
     {"was freed before and is in quarantine", "allocated at\n",
      "(allocate_it)\n", "freed at\n", "(free_it)\n", "called from\n",
      "(free_again)\n"}},
    {"inside_address",
     inside_address,
     "FERRUM_DEBUG=call_sites",
     {"lies 8 bytes inside the block of 1000 bytes", "allocated at\n",
      "(allocate_it)\n", "called from\n", "(free_again)\n"}},
    {"foreign_address",
     foreign_address,
     "FERRUM_DEBUG=all",
     {"called from\n", "(free_it)\n",
      "it is in pool \"second\", in the block of 100 bytes",
      "tag \"second\", allocated at\n", "(ferrum_pool_alloc)\n",
      "lies in no segment of pool \"first\", which has 0\n", "called from\n",
      "(free_it)\n"}},
    {"leak",
     leak,
     "FERRUM_DEBUG=call_sites",
     {"forced destroy of a pool",
      "3 blocks of 3000 bytes, tag \"first\", allocated at\n",
      "(allocate_it)\n"}},
    {"damaged_leak",
     damaged_leak,
     "FERRUM_DEBUG=all",
     {"the byte at 1001, 1 after its end, is 0x41 instead of 0xfd, seen when "
      "its pool was destroyed",
      "(allocate_it)\n"}},
    {"manager_overrun",
     manager_overrun,
     "FERRUM_DEBUG=all",
     {"overrun of the block of 1000 bytes", "(ferrum_manager_alloc)\n",
      "(ferrum_memory_free)\n"}},
    {"queued_work", queued_work, "FERRUM_DEBUG=all", {NULL}},
    {"right_program", right_program, "FERRUM_DEBUG=all", {NULL}},
    {"right_program", right_program, "FERRUM_DEBUG=poison", {NULL}},
    {"right_program", right_program, "FERRUM_DEBUG=red_zones", {NULL}},
    {"right_program", right_program, "FERRUM_DEBUG=quarantine", {NULL}},
    {"right_program", right_program, NULL, {NULL}},
    {"not_debugged", not_debugged, NULL, {NULL}},
    {"by_setting", by_setting, NULL, {NULL}},
    {"interpreted",
     interpreted,
     "FERRUM_DEBUG=all",
     {"allocated at\n    engine.py:12 (load)\n    engine.py:40 (main)\n",
      "freed at\n    engine.py:20 (drop)\n"}},
    {"unknown_word", unknown_word, "FERRUM_DEBUG=poison,red_zone", {NULL}},
};
#define PROGRAMS (sizeof programs / sizeof *programs)

/* Reads the contents of a file, up to a bound. */
static char *read_all(int file) {
    off_t size = lseek(file, 0, SEEK_END);
    char *text = calloc(1, (size_t)size + 1);
    if (text != NULL && pread(file, text, (size_t)size, 0) != size)
        text[0] = 0;
    return text;
}

static int judge(const program *p, int status, const char *text) {
    int passed = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!passed)
        fprintf(stderr, "  status %#x\n", (unsigned)status);
    if (p->words[0] == NULL && text[0] != 0) {
        fprintf(stderr, "  wrote something\n");
        passed = 0;
    }
    const char *from = text;
    for (int i = 0; p->words[i] != NULL; i++) {
        const char *found = strstr(from, p->words[i]);
        if (found == NULL) {
            fprintf(stderr, "  after the words before: no \"%s\"\n",
                    p->words[i]);
            passed = 0;
            break;
        }
        from = found;
    }
    if (!passed)
        fprintf(stderr, "%s\n", text);
    return passed;
}

static int run(const program *p) {
    char template[] = "/tmp/ferrum_debug_XXXXXX";
    int output = mkstemp(template);
    if (output < 0)
        return 0;
    unlink(template);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output, 2);
    char *arguments[] = {"test_debug", (char *)p->name, NULL};
    size_t variables = 0;
    while (environ[variables] != NULL)
        variables++;
    char **environment = calloc(variables + 2, sizeof *environment);
    size_t kept = 0;
    if (p->environment != NULL)
        environment[kept++] = (char *)p->environment;
    for (size_t i = 0; i < variables; i++)
        if (strncmp(environ[i], "FERRUM_", 7) != 0)
            environment[kept++] = environ[i];
    pid_t pid;
    int status = -1;
    if (posix_spawn(&pid, "/proc/self/exe", &actions, NULL, arguments,
                    environment) == 0)
        waitpid(pid, &status, 0);
    free(environment);
    posix_spawn_file_actions_destroy(&actions);
    char *text = read_all(output);
    close(output);
    int passed = text != NULL && judge(p, status, text);
    free(text);
    return passed;
}

int main(int argc, char **argv) {
    if (argc == 2) {
        for (size_t i = 0; i < PROGRAMS; i++)
            if (strcmp(programs[i].name, argv[1]) == 0) {
                programs[i].run();
                return 0;
            }
        fprintf(stderr, "no program %s\n", argv[1]);
        return 2;
    }
    int failed = 0;
    for (size_t i = 0; i < PROGRAMS; i++)
        if (!run(&programs[i])) {
            fprintf(stderr, "FAILED %s, %s\n", programs[i].name,
                    programs[i].environment ? programs[i].environment : "");
            failed++;
        }
    printf("%zu passed, %d failed\n", PROGRAMS - (size_t)failed, failed);
    return failed != 0;
}
