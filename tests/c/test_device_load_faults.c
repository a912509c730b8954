/*
 * Loads of weights on any device that fail: the file becomes shorter, the
 * memory is used up, a call of the driver fails, the device is lost. The set
 * then has the error, nothing is allocated, and everything ends as usual.
 */
#include <spawn.h>
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
        check_lost_device();
    }
    printf("%d passed, 0 failed\n", simulated ? 4 : 2);
    return 0;
}
