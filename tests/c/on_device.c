#include "on_device.h"

#include "fixture.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The number of bytes that are checked at each end of a block. */
enum { EDGE = 64 };

/* --- the driver --------------------------------------------------------------- */

/* The handles of the driver are pointers, and its addresses have 64 bits. This
 * file does not include its header, because the header may be missing. */

static struct {
    int device;
    void *library, *context, *slots;
    int (*init)(unsigned);
    int (*device_get)(int *, int);
    int (*retain)(void **, int);
    int (*set_current)(void *);
    int (*copy)(uint64_t, uint64_t, size_t);
    int (*copy_async)(uint64_t, uint64_t, size_t, void *);
    int (*fill)(uint64_t, unsigned char, size_t);
    int (*fill_async)(uint64_t, unsigned char, size_t, void *);
    int (*synchronize)(void *);
    int (*host_alloc)(void **, size_t, unsigned);
    int (*host_free)(void *);
    int (*release)(int);
} cuda;

static void must_cuda(int code, const char *call) {
    if (code == 0)
        return;
    fprintf(stderr, "%s: the driver says %d\n", call, code);
    _exit(70);
}
#define MUST_CUDA(call) must_cuda((call), #call)

static void *symbol(void *library, const char *name) {
    void *found = library == NULL ? NULL : dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "%s: %s\n", name, dlerror());
        exit(70);
    }
    return found;
}

/* Runs at the end of the process, on a thread that may not have used the
 * driver before. */
static void close_driver(void) {
    MUST_CUDA(cuda.set_current(cuda.context));
    if (cuda.slots != NULL)
        MUST_CUDA(cuda.host_free(cuda.slots));
    MUST_CUDA(cuda.set_current(NULL));
    MUST_CUDA(cuda.release(cuda.device));
}

static void open_driver(void) {
    const char *path = getenv("FERRUM_CUDA_LIBRARY");
    const char *colon = strchr(first_device(), ':');
    void *l = cuda.library =
        dlopen(path != NULL && *path != 0 ? path : "libcuda.so.1", RTLD_NOW);
    *(void **)&cuda.init = symbol(l, "cuInit");
    *(void **)&cuda.device_get = symbol(l, "cuDeviceGet");
    *(void **)&cuda.retain = symbol(l, "cuDevicePrimaryCtxRetain");
    *(void **)&cuda.set_current = symbol(l, "cuCtxSetCurrent");
    *(void **)&cuda.copy = symbol(l, "cuMemcpy");
    *(void **)&cuda.copy_async = symbol(l, "cuMemcpyAsync");
    *(void **)&cuda.fill = symbol(l, "cuMemsetD8_v2");
    *(void **)&cuda.fill_async = symbol(l, "cuMemsetD8Async");
    *(void **)&cuda.synchronize = symbol(l, "cuStreamSynchronize");
    *(void **)&cuda.host_alloc = symbol(l, "cuMemHostAlloc");
    *(void **)&cuda.host_free = symbol(l, "cuMemFreeHost");
    *(void **)&cuda.release = symbol(l, "cuDevicePrimaryCtxRelease_v2");
    MUST_CUDA(cuda.init(0));
    MUST_CUDA(
        cuda.device_get(&cuda.device, colon == NULL ? 0 : atoi(colon + 1)));
    MUST_CUDA(cuda.retain(&cuda.context, cuda.device));
    if (atexit(close_driver) != 0)
        abort();
}

/* Makes the device's context current on this thread from now on. */
static void enter(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static _Thread_local bool entered;
    pthread_once(&once, open_driver);
    if (!entered)
        MUST_CUDA(cuda.set_current(cuda.context));
    entered = true;
}

void *driver_function(const char *name) {
    enter();
    return symbol(cuda.library, name);
}

void *simulator_function(const char *name) {
    enter();
    return dlsym(cuda.library, name);
}

/* Waits for the rest of a copy or fill. The legacy stream does not wait for
 * streams of the library. */
static void finish(void) { MUST_CUDA(cuda.synchronize(NULL)); }

/* --- the device ------------------------------------------------------------- */

static const char *named(void) {
    const char *id = getenv("FERRUM_TEST_DEVICE");
    return id != NULL && *id != 0 ? id : NULL;
}
bool on_host(void) { return named() == NULL; }
const char *first_device(void) { return on_host() ? "cpu:0" : named(); }
const char *other_device(void) { return on_host() ? "cpu:1" : "cpu:0"; }

uint64_t device_page(ferrum_device device) {
    ferrum_page_sizes sizes = FERRUM_PAGE_SIZES_INIT;
    if (on_host())
        return FIXTURE_PAGE;
    MUST(ferrum_device_get_page_sizes(device, &sizes));
    return sizes.minimum_bytes;
}

/* --- bytes ------------------------------------------------------------------ */

static void *host(uint64_t address) { return (void *)(uintptr_t)address; }
static uint64_t address_of(const void *bytes) {
    return (uint64_t)(uintptr_t)bytes;
}

void put_bytes(uint64_t address, const void *bytes, size_t size) {
    if (on_host()) {
        memcpy(host(address), bytes, size);
        return;
    }
    enter();
    MUST_CUDA(cuda.copy(address, address_of(bytes), size));
    finish();
}

void get_bytes(uint64_t address, void *bytes, size_t size) {
    if (on_host()) {
        memcpy(bytes, host(address), size);
        return;
    }
    enter();
    MUST_CUDA(cuda.copy(address_of(bytes), address, size));
    finish();
}

void fill_bytes(uint64_t address, unsigned char value, size_t size) {
    if (on_host()) {
        memset(host(address), value, size);
        return;
    }
    enter();
    MUST_CUDA(cuda.fill(address, value, size));
    finish();
}

bool has_bytes(uint64_t address, const void *bytes, size_t size) {
    if (on_host())
        return memcmp(host(address), bytes, size) == 0;
    void *found = malloc(size);
    if (found == NULL)
        abort();
    get_bytes(address, found, size);
    bool same = memcmp(found, bytes, size) == 0;
    free(found);
    return same;
}

/* --- queued work ------------------------------------------------------------ */

/* On a GPU the stream copies the ends of a block here. The memory is
 * page-locked, because a copy to other memory would wait for the stream. */
typedef struct slot {
    unsigned char ends[2][EDGE];
    size_t edge;
    block_work work;
    struct slot *next;
} slot;

enum { SLOTS = 16384 };
static slot *free_slots;
static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;

static void make_slots(void) {
    MUST_CUDA(cuda.host_alloc(&cuda.slots, SLOTS * sizeof(slot), 1));
    slot *slots = cuda.slots;
    for (int i = 0; i < SLOTS; i++) {
        slots[i].next = free_slots;
        free_slots = &slots[i];
    }
}

static slot *take_slot(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_slots);
    pthread_mutex_lock(&slots_lock);
    slot *s = free_slots;
    if (s != NULL)
        free_slots = s->next;
    pthread_mutex_unlock(&slots_lock);
    if (s == NULL) {
        fprintf(stderr, "more than %d works are queued\n", SLOTS);
        exit(70);
    }
    return s;
}

static void look_at_ends(void *data) {
    slot *s = data;
    for (int end = 0; end < 2; end++)
        for (size_t i = 0; i < s->edge; i++)
            if (s->ends[end][i] != s->work.before)
                atomic_store(s->work.damaged, 1);
    pthread_mutex_lock(&slots_lock);
    s->next = free_slots;
    free_slots = s;
    pthread_mutex_unlock(&slots_lock);
}

static void work_on_host(void *data) {
    block_work *w = data;
    unsigned char *bytes = host(w->address);
    if (!w->first && (bytes[0] != w->before ||
                      memcmp(bytes, bytes + 1, (size_t)w->size - 1) != 0))
        atomic_store(w->damaged, 1);
    memset(bytes, w->after, (size_t)w->size);
    free(w);
}

ferrum_status queue_work(ferrum_stream stream, block_work work) {
    if (on_host()) {
        block_work *copy = malloc(sizeof *copy);
        if (copy == NULL)
            abort();
        *copy = work;
        return ferrum_stream_host_function(stream, work_on_host, copy);
    }
    uint64_t native = 0;
    ferrum_status status = ferrum_stream_get_native(stream, &native);
    if (status != FERRUM_OK)
        return status;
    enter();
    if (!work.first) {
        slot *s = take_slot();
        s->work = work;
        s->edge = work.size < EDGE ? (size_t)work.size : EDGE;
        uint64_t last = work.address + work.size - s->edge;
        MUST_CUDA(cuda.copy_async(address_of(s->ends[0]), work.address, s->edge,
                                  host(native)));
        MUST_CUDA(cuda.copy_async(address_of(s->ends[1]), last, s->edge,
                                  host(native)));
        status = ferrum_stream_host_function(stream, look_at_ends, s);
        if (status != FERRUM_OK)
            return status;
    }
    MUST_CUDA(cuda.fill_async(work.address, work.after, (size_t)work.size,
                              host(native)));
    return FERRUM_OK;
}
