#include "refusals.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

/* --------------------------------------------------------- setting limits */

void refuse_above(int resource, uint64_t value) {
    struct rlimit limit = {value, value};
    EXPECT(setrlimit(resource, &limit) == 0);
}

/* Reads a line such as "VmSize:     1234 kB". */
static uint64_t status_bytes(const char *key) {
    char text[8192];
    int file = open("/proc/self/status", O_RDONLY);
    EXPECT(file >= 0);
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    EXPECT(length > 0);
    text[length] = 0;
    const char *line = strstr(text, key);
    EXPECT(line != NULL);
    return strtoull(line + strlen(key) + 1, NULL, 10) * 1024;
}

void refuse_more(int resource, uint64_t more_bytes) {
    const char *key = resource == RLIMIT_AS ? "\nVmSize" : "\nVmData";
    refuse_above(resource, status_bytes(key) + more_bytes);
}

void refuse_rights(void) {
    if (geteuid() != 0)
        return;
    /* A separate user, because a limit of threads counts the threads of the
     * user. */
    uid_t user = 200000 + (uid_t)getpid() % 1000000;
    if (setresgid(user, user, user) != 0 || setresuid(user, user, user) != 0) {
        fprintf(stderr, "cannot become another user: %s\n", strerror(errno));
        exit(ALONE_SKIPPED);
    }
    /* Until this call the system's files of this process belong to root. */
    EXPECT(prctl(PR_SET_DUMPABLE, 1) == 0);
}

void refuse_descriptors(void) {
    refuse_above(RLIMIT_NOFILE, 64);
    while (dup(2) >= 0)
        continue;
    EXPECT(errno == EMFILE);
}

enum { CALLS_MAX = 8 };

void refuse_calls(const int *numbers, int error) {
    struct sock_filter filter[2 * CALLS_MAX + 2];
    unsigned short n = 0;
    filter[n++] = (struct sock_filter)BPF_STMT(
        BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (; *numbers != 0; numbers++) {
        EXPECT(n < 2 * CALLS_MAX);
        filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                   (uint32_t)*numbers, 0, 1);
        filter[n++] = (struct sock_filter)BPF_STMT(
            BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error);
    }
    filter[n++] =
        (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {n, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
                &program) != 0) {
        fprintf(stderr, "no filter for system calls: %s\n", strerror(errno));
        exit(ALONE_SKIPPED);
    }
}

/* ------------------------------------------------------------- main actions */

static int refused;

/* A failed call must return a status of a suitable kind, with a message and
 * the error number. */
static int said_why(const char *call, ferrum_status status) {
    static const ferrum_status kinds[] = {
        FERRUM_ERROR_OUT_OF_MEMORY,
        FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY,
        FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY,
        FERRUM_ERROR_RESOURCE_EXHAUSTED,
        FERRUM_ERROR_MAPPING_FAILED,
        FERRUM_ERROR_UNMAPPING_FAILED,
        FERRUM_ERROR_PERMISSION_DENIED,
        FERRUM_ERROR_UNSUPPORTED,
        FERRUM_ERROR_IO,
        FERRUM_ERROR_DEVICE,
        FERRUM_ERROR_BACKEND_UNAVAILABLE,
    };
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    EXPECT(ferrum_last_error(&error) == FERRUM_OK);
    fprintf(stderr, "  %s: %s (%lld): %s\n", call, ferrum_status_name(status),
            (long long)error.native_code, error.message);
    EXPECT(error.status == status);
    static const char *const words[] = {
        "did not",       "rejected",
        "address space", "cannot allocate memory",
        "descriptor",    "thread",
        "limit",         "the system did not provide"};
    int says = error.native_code != 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        says |= strstr(error.message, words[i]) != NULL;
    EXPECT(says);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i] == status)
            return 1;
    return 0;
}

/* Returns 1 if the call succeeded, 0 if it failed with a suitable error. */
static int done(const char *call, ferrum_status status) {
    if (status == FERRUM_OK)
        return 1;
    EXPECT(said_why(call, status));
    refused++;
    return 0;
}
#define DONE(call) done(#call, (call))

int things_refused(void) { return refused; }

static ferrum_device device;
static ferrum_stream stream;
static ferrum_pool pool;
static ferrum_manager manager;
static ferrum_vpool vpool;
static ferrum_elastic_pool shared;
static ferrum_monitor monitor;
static int has_model;

static void expect_books(void) {
    ferrum_statistics books = FERRUM_STATISTICS_INIT;
    EXPECT(ferrum_device_get_statistics(device, &books) == FERRUM_OK);
    EXPECT(books.reserved.current == books.active.current +
                                         books.cached.current +
                                         books.unusable.current);
}

void things_loaded(void) {
    EXPECT(ferrum_shutdown(0) == FERRUM_ERROR_NOT_INITIALIZED);
}

int things_init(void) {
    ferrum_config config = FERRUM_CONFIG_INIT;
    config.host_memory_bytes = UINT64_C(512) * MIB;
    return DONE(ferrum_init(&config));
}

void things_create(void) {
    if (!DONE(ferrum_device_open("cpu:0", &device)))
        return;
    DONE(ferrum_stream_create(device, &stream));
    DONE(ferrum_pool_create(device, NULL, &pool));
    DONE(ferrum_manager_create(device, NULL, &manager));
    ferrum_vpool_config config = FERRUM_VPOOL_CONFIG_INIT;
    config.capacity_bytes = 64 * MIB;
    DONE(ferrum_vpool_create(device, &config, &vpool));
    ferrum_elastic_pool_config sharing = FERRUM_ELASTIC_POOL_CONFIG_INIT;
    sharing.limit_bytes = 64 * MIB;
    if (DONE(ferrum_elastic_pool_create(device, &sharing, &shared))) {
        ferrum_model_config model = FERRUM_MODEL_CONFIG_INIT;
        model.virtual_bytes = 64 * MIB;
        has_model =
            DONE(ferrum_elastic_pool_register_model(shared, "m", &model));
    }
    if (DONE(ferrum_monitor_create(NULL, &monitor)) && manager.id != 0)
        DONE(ferrum_monitor_register(monitor, manager));
    expect_books();
}

static void count(void *data) { (*(int *)data)++; }

static void use_stream(void) {
    static int counted;
    if (!DONE(ferrum_stream_host_function(stream, count, &counted)))
        return;
    /* The call has a timeout, for which the runtime needs a timer. */
    ferrum_status status =
        ferrum_stream_synchronize(stream, UINT64_C(100000000000));
    EXPECT(status == FERRUM_OK && counted > 0);
}

static void use_pool(void) {
    static const uint64_t sizes[] = {100, 3 * MIB, 20 * MIB};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        ferrum_address address;
        if (!DONE(ferrum_pool_alloc(pool, sizes[i], stream, &address)))
            continue;
        memset((void *)(uintptr_t)address, 1, sizes[i] / 4);
        DONE(ferrum_pool_free(pool, address, stream));
    }
    expect_books();
    uint64_t released;
    DONE(ferrum_pool_trim(pool, 0, &released));
    expect_books();
}

static void use_manager(void) {
    static const ferrum_memory_type types[] = {FERRUM_MEMORY_GENERAL,
                                               FERRUM_MEMORY_PINNED};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        ferrum_allocation_request request = FERRUM_ALLOCATION_REQUEST_INIT;
        request.memory_type = types[i];
        request.size_bytes = 3 * MIB;
        ferrum_memory memory;
        if (!DONE(ferrum_manager_alloc_with(manager, &request, &memory)))
            continue;
        ferrum_fill fill = FERRUM_FILL_INIT;
        fill.memory = memory;
        fill.size_bytes = 3 * MIB;
        if (stream.id != 0 && DONE(ferrum_memory_fill_async(&fill, stream)))
            EXPECT(ferrum_stream_synchronize(stream, FERRUM_WAIT_FOREVER) == 0);
        DONE(ferrum_memory_free(memory));
    }
    expect_books();
}

enum { RANGE = 4 * MIB, WORD = 0x5a };

static void expect_range(ferrum_address address) {
    const unsigned char *at = (const unsigned char *)(uintptr_t)address;
    for (size_t i = 0; i < RANGE; i += 4096)
        EXPECT(at[i] == WORD);
}

static ferrum_status wake(const char *model) {
    return model == NULL
               ? ferrum_vpool_wake(vpool, NULL, NULL)
               : ferrum_elastic_pool_wake_model(shared, model, NULL, NULL);
}

/* Sleeps and wakes by one backing. A failed sleep must leave everything
 * unchanged. A wake may fail permanently, and then the range can be freed.
 * Returns 1 if the range is awake. */
static int sleep_and_wake(ferrum_sleep_backing backing, const char *model) {
    ferrum_sleep_config config = FERRUM_SLEEP_CONFIG_INIT;
    config.backing = backing;
    ferrum_status status =
        model == NULL
            ? ferrum_vpool_sleep(vpool, &config, NULL)
            : ferrum_elastic_pool_sleep_model(shared, model, &config, NULL);
    if (!done(backing == FERRUM_SLEEP_FILE ? "sleep in a file" : "sleep",
              status))
        return 1;
    return done("wake", wake(model));
}

static void use_vpool(void) {
    ferrum_address address;
    if (!DONE(ferrum_vpool_alloc(vpool, 0, RANGE, &address)))
        return;
    memset((void *)(uintptr_t)address, WORD, RANGE);
    int awake = sleep_and_wake(FERRUM_SLEEP_HOST, NULL);
    if (awake)
        expect_range(address);
    awake = awake && sleep_and_wake(FERRUM_SLEEP_FILE, NULL);
    if (awake)
        expect_range(address);
    int freed = DONE(ferrum_vpool_free(vpool, 0, RANGE, (ferrum_stream){0}));
    /* After the free nothing is asleep, so a wake succeeds. */
    if (freed && !awake)
        EXPECT(wake(NULL) == FERRUM_OK);
    expect_books();
}

static void use_model(void) {
    ferrum_address address;
    uint64_t offset;
    if (!DONE(ferrum_elastic_pool_alloc(shared, "m", RANGE, &address, &offset)))
        return;
    memset((void *)(uintptr_t)address, WORD, RANGE);
    int awake = sleep_and_wake(FERRUM_SLEEP_HOST, "m");
    if (awake)
        expect_range(address);
    int freed = DONE(ferrum_elastic_pool_free(shared, "m", offset, RANGE,
                                              (ferrum_stream){0}));
    if (freed && !awake)
        EXPECT(wake("m") == FERRUM_OK);
    expect_books();
}

static void read_reports(void) {
    static char text[1 << 18];
    size_t length;
    DONE(ferrum_snapshot_json(text, sizeof text, &length));
    DONE(ferrum_leak_report_json(text, sizeof text, &length));
    DONE(ferrum_backends_json(text, sizeof text, &length));
}

void things_use(void) {
    if (device.id == 0)
        return;
    for (int round = 0; round < 2; round++) {
        if (stream.id != 0)
            use_stream();
        if (pool.id != 0)
            use_pool();
        if (manager.id != 0)
            use_manager();
        if (vpool.id != 0)
            use_vpool();
        if (has_model)
            use_model();
        read_reports();
    }
}

void things_end(void) {
    if (monitor.id != 0)
        DONE(ferrum_monitor_destroy(monitor));
    if (shared.id != 0)
        DONE(ferrum_elastic_pool_destroy(shared, FERRUM_FORCE));
    if (vpool.id != 0)
        DONE(ferrum_vpool_destroy(vpool, FERRUM_FORCE));
    if (manager.id != 0)
        DONE(ferrum_manager_destroy(manager, FERRUM_FORCE));
    if (pool.id != 0)
        DONE(ferrum_pool_destroy(pool, FERRUM_FORCE));
    if (stream.id != 0)
        DONE(ferrum_stream_destroy(stream, 0));
    if (device.id != 0) {
        expect_books();
        ferrum_statistics books = FERRUM_STATISTICS_INIT;
        EXPECT(ferrum_device_get_statistics(device, &books) == FERRUM_OK);
        EXPECT(books.live_blocks.current == 0);
        DONE(ferrum_device_close(device, FERRUM_FORCE));
    }
    DONE(ferrum_shutdown(FERRUM_FORCE));
}
