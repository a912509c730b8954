/*
 * Loads of weights on any device that fail: the file becomes shorter, the
 * memory is used up, a call of the driver fails, the device is lost. The set
 * then has the error, nothing is allocated, and everything ends as usual. A
 * free of a set that fails leaves the set, and can be repeated.
 */
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alone.h"
#include "device_loads.h"
#include "fixture.h"
#include "on_device.h"

/* Results of the driver. After the last one the context cannot be used. */
enum { OUT_OF_MEMORY = 2, UNKNOWN = 999, LAUNCH_FAILED = 719 };

/* A load fails with a status and a message. */
static void fails(const ferrum_weights_memory *memory, ferrum_status want,
                  const char *says) {
    uint64_t before = allocated(), count;
    ferrum_weights_load_request request = request_for(memory);
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    ferrum_tensor_set set;
    MUST(ferrum_weights_load(weights, &request, &set));
    EXPECT(ferrum_tensor_set_wait(set, FERRUM_WAIT_FOREVER) == want);
    MUST(ferrum_last_error(&error));
    EXPECT(strstr(error.message, says) != NULL);
    EXPECT(ferrum_tensor_set_get_count(set, &count) == want);
    EXPECT(allocated() == before);
    MUST(ferrum_tensor_set_free(set, 0));
}

/* The first parts have been copied to the device when the end is missing. */
static void check_short_file(void) {
    begin(4 * BIG);
    EXPECT(truncate(path, 3 * BIG) == 0);
    ferrum_vpool vpool = make_vpool();
    ferrum_elastic_pool shared = make_elastic_pool();
    fails(&(ferrum_weights_memory){.pool = pool}, FERRUM_ERROR_IO, path);
    fails(&(ferrum_weights_memory){.vpool = vpool}, FERRUM_ERROR_IO, path);
    fails(&(ferrum_weights_memory){.elastic_pool = shared, .model = "chat"},
          FERRUM_ERROR_IO, path);
    MUST(ferrum_elastic_pool_unregister_model(shared, "chat", 0));
    MUST(ferrum_elastic_pool_destroy(shared, 0));
    MUST(ferrum_vpool_destroy(vpool, 0));
    end();
}

static void check_no_memory(void) {
    begin(4 * BIG);
    ferrum_pool_config config = FERRUM_POOL_CONFIG_INIT;
    config.name = "narrow";
    config.initial_size_bytes = config.growth_increment_bytes = STAGING;
    config.max_size_bytes = 2 * STAGING;
    ferrum_pool narrow;
    MUST(ferrum_pool_create(device, &config, &narrow));
    fails(&(ferrum_weights_memory){.pool = narrow}, FERRUM_ERROR_OUT_OF_MEMORY,
          "narrow");
    ferrum_statistics s = FERRUM_STATISTICS_INIT;
    MUST(ferrum_pool_get_statistics(narrow, &s));
    EXPECT(s.allocated.current == 0 && s.live_blocks.current == 0);
    MUST(ferrum_pool_destroy(narrow, 0));
    end();
}

static int (*fault)(const char *, uint64_t, int);
static int (*faults_left)(void);
static void (*clear_faults)(void);

/* Makes the n-th call of the driver in a load fail. The load has all tensors,
 * or the error and no memory. Returns whether there was such a call. */
static bool load_with_fault(const ferrum_weights_memory *memory, uint64_t n,
                            int code, int *failures) {
    uint64_t before = allocated();
    ferrum_weights_load_request request = request_for(memory);
    ferrum_tensor_set set;
    ferrum_tensor_info info = FERRUM_TENSOR_INFO_INIT;
    request.staging_bytes = 256 << 10;
    EXPECT(fault("*", n, code) == 0);
    MUST(ferrum_weights_load(weights, &request, &set));
    ferrum_status status = ferrum_tensor_set_wait(set, FERRUM_WAIT_FOREVER);
    bool happened = faults_left() == 0;
    clear_faults();
    if (status == FERRUM_OK) {
        check_tensors(set);
    } else {
        ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
        MUST(ferrum_last_error(&error));
        EXPECT(happened && error.native_code == code);
        EXPECT(ferrum_tensor_set_find(set, "a", &info) == status);
        EXPECT(allocated() == before);
        ++*failures;
    }
    MUST(ferrum_tensor_set_free(set, 0));
    EXPECT(allocated() == before);
    /* The next load allocates again. */
    uint64_t released;
    MUST(ferrum_pool_trim(pool, 0, &released));
    return happened;
}

/* Only the simulated driver can be told to fail. */
static bool can_fail(void) {
    if (on_host())
        return false;
    *(void **)&fault = simulator_function("simcuda_fault");
    *(void **)&faults_left = simulator_function("simcuda_faults_left");
    *(void **)&clear_faults = simulator_function("simcuda_clear_faults");
    return fault != NULL;
}

static void check_failing_calls(void) {
    begin(SMALL);
    ferrum_vpool vpool = make_vpool();
    ferrum_elastic_pool shared = make_elastic_pool();
    const ferrum_weights_memory memories[] = {
        {.pool = pool},
        {.vpool = vpool},
        {.elastic_pool = shared, .model = "chat"}};
    const int codes[] = {OUT_OF_MEMORY, UNKNOWN};
    for (size_t i = 0; i < 6; i++) {
        int failures = 0;
        uint64_t n = 1;
        while (load_with_fault(&memories[i / 2], n, codes[i % 2], &failures))
            n++;
        EXPECT(failures > 8);
    }
    MUST(ferrum_elastic_pool_unregister_model(shared, "chat", 0));
    MUST(ferrum_elastic_pool_destroy(shared, 0));
    MUST(ferrum_vpool_destroy(vpool, 0));
    end();
}

static atomic_bool may_end;

static void wait_for_end(void *unused) {
    (void)unused;
    while (!atomic_load(&may_end))
        usleep(100);
}

/* A free of a set calls the driver only for streams whose work uses its memory. */
static void use_on(ferrum_stream stream, const ferrum_weights_memory *memory,
                   ferrum_tensor_set set) {
    const char *const names[] = {"a", "b", "big"};
    uint64_t first = UINT64_MAX, end = 0;
    for (size_t i = 0; i < 3; i++) {
        ferrum_tensor_info info = found(set, names[i]);
        first = info.address < first ? info.address : first;
        end = info.address + info.size_bytes > end
                  ? info.address + info.size_bytes
                  : end;
    }
    if (memory->pool.id != 0)
        MUST(ferrum_pool_record_stream(pool, first, stream));
    if (memory->vpool.id != 0)
        MUST(ferrum_vpool_record_stream(memory->vpool, 0, end - first, stream));
    atomic_store(&may_end, false);
    MUST(ferrum_stream_host_function(stream, wait_for_end, NULL));
}

/* Makes the n-th call of the driver in a free of a set fail; 0: every call. If
 * the free fails, the set and its tensors remain, and a second free ends them.
 * Returns whether there was such a call. */
static bool free_with_fault(const ferrum_weights_memory *memory, uint64_t n,
                            int code, int *failures) {
    uint64_t before = allocated(), released;
    ferrum_tensor_set set = load_into(memory);
    ferrum_tensor_info info = found(set, "big");
    ferrum_stream stream;
    MUST(ferrum_stream_create(device, &stream));
    use_on(stream, memory, set);
    EXPECT(fault("*", n, code) == 0);
    ferrum_status status = ferrum_tensor_set_free(set, 0);
    bool happened = n == 0 || faults_left() == 0;
    clear_faults();
    if (status != FERRUM_OK) {
        ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
        MUST(ferrum_last_error(&error));
        EXPECT(happened && error.native_code == code);
        EXPECT(allocated() >= before);
        EXPECT(found(set, "big").address == info.address);
        MUST(ferrum_tensor_set_free(set, 0));
        ++*failures;
    }
    EXPECT(ferrum_tensor_set_free(set, 0) == FERRUM_ERROR_INVALID_HANDLE);
    atomic_store(&may_end, true);
    MUST(ferrum_stream_synchronize(stream, FERRUM_WAIT_FOREVER));
    MUST(ferrum_stream_destroy(stream, 0));
    EXPECT(allocated() == before);
    MUST(ferrum_pool_trim(pool, 0, &released));
    return happened;
}

static void check_failing_frees(void) {
    begin(SMALL);
    ferrum_vpool vpool = make_vpool();
    const ferrum_weights_memory memories[] = {{.pool = pool}, {.vpool = vpool}};
    for (size_t i = 0; i < 2; i++) {
        int failures = 0;
        EXPECT(free_with_fault(&memories[i], 0, UNKNOWN, &failures));
        EXPECT(failures == 1);
        uint64_t n = 1;
        while (free_with_fault(&memories[i], n, UNKNOWN, &failures))
            n++;
        EXPECT(n > 1);
    }
    MUST(ferrum_vpool_destroy(vpool, 0));
    end();
}

/* The device is lost while parts are copied to it. */
static void lose_device(void) {
    EXPECT(can_fail());
    begin(BIG);
    ferrum_weights_memory memory = {.pool = pool};
    ferrum_weights_load_request request = request_for(&memory);
    ferrum_tensor_set set;
    ferrum_tensor_info info = FERRUM_TENSOR_INFO_INIT;
    EXPECT(fault("async", 3, LAUNCH_FAILED) == 0);
    MUST(ferrum_weights_load(weights, &request, &set));
    ferrum_status status = ferrum_tensor_set_wait(set, FERRUM_WAIT_FOREVER);
    EXPECT(faults_left() == 0);
    EXPECT(status == FERRUM_ERROR_DEVICE_LOST);
    EXPECT(ferrum_tensor_set_find(set, "a", &info) == status);
    MUST(ferrum_tensor_set_free(set, FERRUM_FORCE));
    MUST(ferrum_weights_close(weights, 0));
    MUST(ferrum_pool_destroy(pool, FERRUM_FORCE));
    MUST(ferrum_device_close(device, FERRUM_FORCE));
    MUST(ferrum_shutdown(0));
    EXPECT(unlink(path) == 0);
    /* No handler of the exit can use the device. */
    _exit(0);
}

static void check_lost_device(void) {
    char *arguments[] = {(char *)"test_device_load_faults",
                         (char *)"lost device", NULL};
    pid_t child;
    int status;
    EXPECT(posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments,
                       environ) == 0);
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1)
        lose_device();
    check_short_file();
    check_no_memory();
    bool simulated = can_fail();
    if (simulated) {
        check_failing_calls();
        check_failing_frees();
        check_lost_device();
    }
    printf("%d passed, 0 failed\n", simulated ? 5 : 2);
    return 0;
}
