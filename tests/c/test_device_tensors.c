/*
 * Tensors on any device: made in a pool, a virtual pool and a model, written,
 * copied, filled and read back, moved to the host. On the simulated driver
 * every call of the driver fails once: then the tensor is as before or does
 * not exist, nothing stays allocated, and everything ends as usual.
 */
#include <stdio.h>
#include <string.h>

#include "alone.h"
#include "device_loads.h"
#include "fixture.h"
#include "on_device.h"

enum { OUT_OF_MEMORY = 2, COUNT = 1000 };

static const int64_t shape[] = {10, 100};
static float values[COUNT], got[COUNT];
static const ferrum_stream none = {0};

static int (*fault)(const char *, uint64_t, int);
static int (*faults_left)(void);
static void (*clear_faults)(void);

static bool can_fail(void) {
    if (on_host())
        return false;
    *(void **)&fault = simulator_function("simcuda_fault");
    *(void **)&faults_left = simulator_function("simcuda_faults_left");
    *(void **)&clear_faults = simulator_function("simcuda_clear_faults");
    return fault != NULL;
}

static ferrum_device host;
static ferrum_pool host_pool;

/* Makes a tensor, and uses it in every way. Stops at the first failure. */
static ferrum_status use(const ferrum_weights_memory *memory) {
    ferrum_weights_memory there = {.pool = host_pool};
    ferrum_tensor tensor = {0}, rows = {0}, copy = {0}, moved = {0}, half = {0};
    ferrum_status status =
        ferrum_tensor_create(memory, FERRUM_DTYPE_F32, shape, 2, none, &tensor);
    memset(got, 0, sizeof got);
    if (status == FERRUM_OK)
        status = ferrum_tensor_write(tensor, values, sizeof values, none);
    if (status == FERRUM_OK)
        status = ferrum_tensor_narrow(tensor, 1, 50, 50, &rows);
    if (status == FERRUM_OK)
        status = ferrum_tensor_to(rows, &(ferrum_weights_memory){.pool = pool},
                                  FERRUM_DTYPE_F32, none, &copy);
    if (status == FERRUM_OK)
        status = ferrum_tensor_copy(copy, rows, none);
    if (status == FERRUM_OK)
        status = ferrum_tensor_fill(rows, 7, none);
    if (status == FERRUM_OK)
        status = ferrum_tensor_to(copy, &there, FERRUM_DTYPE_F16, none, &half);
    if (status == FERRUM_OK)
        status = ferrum_tensor_to(copy, &there, FERRUM_DTYPE_F32, none, &moved);
    if (status == FERRUM_OK)
        status = ferrum_tensor_read(tensor, got, sizeof got, none);
    if (status == FERRUM_OK) {
        for (int i = 0; i < COUNT; i++)
            EXPECT(got[i] == (i % 100 < 50 ? values[i] : 7));
        MUST(ferrum_tensor_read(moved, got, COUNT * 2, none));
        for (int i = 0; i < COUNT / 2; i++)
            EXPECT(got[i] == values[i / 50 * 100 + 50 + i % 50]);
        ferrum_tensor back;
        MUST(ferrum_tensor_to(half, &there, FERRUM_DTYPE_F32, none, &back));
        memset(got, 0, sizeof got);
        MUST(ferrum_tensor_read(back, got, COUNT * 2, none));
        for (int i = 0; i < COUNT / 2; i++)
            EXPECT(got[i] == values[i / 50 * 100 + 50 + i % 50]);
        MUST(ferrum_tensor_destroy(back));
    }
    if (clear_faults != NULL && status != FERRUM_OK)
        clear_faults();
    const ferrum_tensor all[] = {tensor, rows, copy, moved, half};
    for (int i = 0; i < 5; i++) {
        if (all[i].id == 0)
            continue;
        ferrum_status ended = ferrum_tensor_destroy(all[i]);
        if (ended == FERRUM_OK)
            continue;
        /* The failure of the device is over. */
        EXPECT(clear_faults != NULL);
        clear_faults();
        MUST(ferrum_tensor_destroy(all[i]));
        status = ended;
    }
    return status;
}

static void check_memories(void) {
    begin(1);
    bool fails = can_fail();
    for (int i = 0; i < COUNT; i++)
        values[i] = (float)i;
    host = device;
    if (!on_host())
        MUST(ferrum_device_open("cpu:0", &host));
    MUST(ferrum_pool_create(host, NULL, &host_pool));
    ferrum_vpool vpool = make_vpool();
    ferrum_elastic_pool shared = make_elastic_pool();
    const ferrum_weights_memory memories[] = {
        {.pool = pool},
        {.vpool = vpool},
        {.elastic_pool = shared, .model = "chat"}};
    int failures = 0;
    for (size_t i = 0; i < 3; i++) {
        MUST(use(&memories[i]));
        for (uint64_t n = 1, happened = 1; fails && happened; n++) {
            EXPECT(fault("*", n, OUT_OF_MEMORY) == 0);
            ferrum_status status = use(&memories[i]);
            happened = faults_left() == 0 || status != FERRUM_OK;
            clear_faults();
            failures += status != FERRUM_OK;
        }
    }
    EXPECT(!fails || failures > 10);
    MUST(ferrum_elastic_pool_unregister_model(shared, "chat", 0));
    MUST(ferrum_elastic_pool_destroy(shared, 0));
    MUST(ferrum_vpool_destroy(vpool, 0));
    MUST(ferrum_pool_destroy(host_pool, 0));
    if (!on_host())
        MUST(ferrum_device_close(host, 0));
    end();
    printf("%d failures\n", failures);
}

int main(void) {
    check_memories();
    printf("1 passed, 0 failed\n");
    return 0;
}
