/*
 * Tensors on any device: made in a pool, a virtual pool and a model, written,
 * copied, filled and read back, moved to the host. On the simulated driver
 * every call of the driver fails once: then the tensor is as before or does
 * not exist, nothing stays allocated, and everything ends as usual.
 *
 * Tensors over memory that the program has from the driver itself: several
 * over the same bytes, each usable until it is destroyed.
 */
#include <stdio.h>
#include <stdlib.h>
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

/* Memory of the program that the device can use. */
static uint64_t their_memory(size_t size) {
    uint64_t address = 0;
    if (on_host())
        return (uint64_t)(uintptr_t)malloc(size);
    int (*alloc)(uint64_t *, size_t);
    *(void **)&alloc = driver_function("cuMemAlloc_v2");
    EXPECT(alloc(&address, size) == 0);
    return address;
}

static void free_theirs(uint64_t address) {
    int (*release)(uint64_t);
    if (on_host()) {
        free((void *)(uintptr_t)address);
        return;
    }
    *(void **)&release = driver_function("cuMemFree_v2");
    EXPECT(release(address) == 0);
}

static int released;
static void count_release(void *user_data) { *(int *)user_data += 1; }

static ferrum_tensor wrapped(uint64_t address, int64_t count,
                             int is_read_only) {
    ferrum_tensor made;
    ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
    desc.dtype = FERRUM_DTYPE_F32;
    desc.rank = 1;
    desc.shape[0] = count;
    desc.flags = is_read_only ? FERRUM_ELEMENTS_READ_ONLY : 0;
    MUST(ferrum_tensor_wrap(device, address, (uint64_t)count * 4, &desc,
                            count_release, &released, &made));
    return made;
}

static void check_memory_of_the_program(void) {
    begin(1);
    enum { HALF = COUNT / 2 };
    uint64_t theirs = their_memory(sizeof values);
    put_bytes(theirs, values, sizeof values);
    released = 0;
    ferrum_tensor whole = wrapped(theirs, COUNT, 0),
                  again = wrapped(theirs, COUNT, 1),
                  second = wrapped(theirs + HALF * 4, HALF, 0),
                  middle = wrapped(theirs + 100, HALF, 0), copy;
    MUST(ferrum_tensor_read(whole, got, sizeof got, none));
    EXPECT(memcmp(got, values, sizeof got) == 0);
    MUST(ferrum_tensor_destroy(whole));
    /* The others do not depend on the one that has ended. */
    MUST(ferrum_tensor_read(again, got, sizeof got, none));
    EXPECT(memcmp(got, values, sizeof got) == 0);
    EXPECT(ferrum_tensor_write(again, values, sizeof values, none) ==
           FERRUM_ERROR_PERMISSION_DENIED);
    MUST(ferrum_tensor_write(second, values, HALF * 4, none));
    MUST(ferrum_tensor_read(again, got, sizeof got, none));
    EXPECT(memcmp(got, values, HALF * 4) == 0 &&
           memcmp(got + HALF, values, HALF * 4) == 0);
    MUST(ferrum_tensor_destroy(second));
    MUST(ferrum_tensor_to(middle, &(ferrum_weights_memory){.pool = pool},
                          FERRUM_DTYPE_F32, none, &copy));
    MUST(ferrum_tensor_read(copy, got, HALF * 4, none));
    EXPECT(memcmp(got, values + 25, (HALF - 25) * 4) == 0);
    MUST(ferrum_tensor_fill(middle, 7, none));
    MUST(ferrum_tensor_destroy(middle));
    MUST(ferrum_tensor_read(again, got, sizeof got, none));
    EXPECT(got[24] == 24 && got[25] == 7);
    EXPECT(released == 3);
    /* A device is not closed under them. */
    EXPECT(ferrum_device_close(device, 0) == FERRUM_ERROR_BUSY);
    MUST(ferrum_tensor_destroy(again));
    MUST(ferrum_tensor_destroy(copy));
    EXPECT(released == 4);
    free_theirs(theirs);
    end();
}

int main(void) {
    check_memories();
    check_memory_of_the_program();
    printf("2 passed, 0 failed\n");
    return 0;
}
