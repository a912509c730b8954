/*
 * Random programs with all functions and all kinds of objects, while calls of
 * the driver fail. Most arguments are valid. Some are invalid, and those calls
 * must be rejected. Batches have valid lists of blocks and ranges; each is done
 * as a whole or not at all. Small models are built, cancelled, run and put to
 * sleep; their outputs are known. No reference model predicts other results. Instead, at the
 * end of each program, the faults are cleared, all objects are destroyed, and
 * nothing may remain: the leak report is empty, the counters of each device
 * are zero and consistent, the device and the library close without force, and
 * the simulated driver reports no leak.
 *
 *     programs FIRST COUNT [STEPS]
 *
 * On the host, the faults are file descriptors that the system does not
 * provide. With FERRUM_TEST_DEVICE=cuda:0 and FERRUM_CUDA_LIBRARY of a
 * simulated driver, the faults are failed driver calls. The last line has the
 * numbers of programs, calls, rejections and faults.
 */
#include "alone.h"
#include "hostile.h"
#include "on_device.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/resource.h>

#include "../simcuda/simcuda.h"

enum { STEPS = 400, SHELF = 8, WHAT_BYTES = 160, REPORT_BYTES = 1 << 18 };

static struct {
    unsigned long program, step;
    ferrum_device devices[2];
    uint64_t shelf[KINDS][SHELF];
    uint64_t addresses[SHELF];
    uint64_t dead[KINDS];
    fixture good;
} m;

static struct {
    unsigned long programs, calls, refused, faults, built, ran;
} sum;

static void found(const char *what, const char *detail) {
    fprintf(stderr, "finding: seed %lu, step %lu: %s: %s\n", m.program, m.step,
            what, detail);
    exit(1);
}

/* -------------------------------------------------------------------- faults */

static struct {
    int (*set)(const char *, uint64_t, int);
    void (*clear)(void);
    int (*left)(void);
    size_t (*leaks)(char *, size_t);
    size_t (*violations)(char *, size_t);
    void (*clear_violations)(void);
    struct rlimit files;
    int armed;
} faults;

static void find_faults(void) {
    EXPECT(getrlimit(RLIMIT_NOFILE, &faults.files) == 0);
    if (on_host())
        return;
    void *driver = dlopen(getenv("FERRUM_CUDA_LIBRARY"), RTLD_NOW);
    EXPECT(driver != NULL);
    *(void **)&faults.set = dlsym(driver, "simcuda_fault");
    *(void **)&faults.clear = dlsym(driver, "simcuda_clear_faults");
    *(void **)&faults.left = dlsym(driver, "simcuda_faults_left");
    *(void **)&faults.leaks = dlsym(driver, "simcuda_leaks");
    *(void **)&faults.violations = dlsym(driver, "simcuda_violations");
    *(void **)&faults.clear_violations =
        dlsym(driver, "simcuda_clear_violations");
    EXPECT(faults.set != NULL);
}

/* Driver calls that create, copy or query. Calls that free or release do
 * not fail here: memory that the driver does not free remains and is no
 * leak of the library. */
static const char *const refusing[] = {
    "cuMemAlloc_v2",         "cuMemAllocFromPoolAsync",
    "cuMemAllocManaged",     "cuMemHostAlloc",
    "cuMemCreate",           "cuMemMap",
    "cuMemSetAccess",        "cuMemAddressReserve",
    "cuStreamCreate",        "cuEventCreate",
    "cuEventRecord",         "cuEventQuery",
    "cuStreamWaitEvent",     "cuLaunchHostFunc",
    "cuMemcpyAsync",         "cuMemcpyDtoHAsync_v2",
    "cuMemcpyHtoDAsync_v2",  "cuMemcpyDtoDAsync_v2",
    "cuMemsetD8Async",       "cuMemGetInfo_v2",
    "cuCtxPushCurrent_v2",   "cuMemHostRegister_v2",
    "cuMemPoolCreate",       "cuMemExportToShareableHandle",
    "cuStreamSynchronize",   "cuPointerGetAttribute",
    "cuMemPrefetchAsync_v2", "cuMemHostGetDevicePointer_v2"};

/* Out of memory, an error of the operating system, not supported, unknown. */
static const int codes[] = {2, 304, 801, 999};

static void arm_faults(void) {
    if (faults.armed != 0 || draw(6) != 0)
        return;
    faults.armed = 1;
    if (on_host()) {
        struct rlimit none = {3, faults.files.rlim_max};
        EXPECT(setrlimit(RLIMIT_NOFILE, &none) == 0);
        sum.faults++;
        return;
    }
    faults.armed = 8;
    for (int i = 0; i < faults.armed; i++)
        faults.set(m.program % 4 == 0 ? "*" : refusing[draw(COUNT(refusing))],
                   1 + draw(m.program % 4 == 0 ? 40 : 3),
                   codes[draw(COUNT(codes))]);
}

static void clear_faults(void) {
    if (faults.armed == 0 || (!on_host() && m.step != 0 && draw(12) != 0))
        return;
    if (on_host()) {
        EXPECT(setrlimit(RLIMIT_NOFILE, &faults.files) == 0);
    } else {
        sum.faults += (unsigned long)(faults.armed - faults.left());
        faults.clear();
    }
    faults.armed = 0;
}

/* ------------------------------------------------------------------- objects */

static uint64_t *any_place(enum kind kind) {
    return &m.shelf[kind][draw(SHELF)];
}

/* Chooses live objects as arguments of the next call. */
static void pick_objects(void) {
    for (int kind = 0; kind < KINDS; kind++) {
        m.good.live[kind] = 0;
        for (int tries = 0; tries < 6 && m.good.live[kind] == 0; tries++)
            m.good.live[kind] = *any_place((enum kind)kind);
        m.good.dead[kind] = m.dead[kind];
    }
    if (m.good.live[DEVICE] == 0 || draw(3) == 0)
        m.good.live[DEVICE] = m.devices[draw(2)].id;
    m.good.block = m.addresses[draw(SHELF)];
}

/* The first byte of a handle is its kind. */
static void keep(const char *name, uint64_t value) {
    uint64_t kind = value >> 56;
    if (strcmp(name, "address_out") == 0 && value != 0)
        m.addresses[draw(SHELF)] = value;
    else if (kind > 0 && kind <= KINDS)
        *any_place((enum kind)(kind - 1)) = value;
}

static int ends_something(const char *name) {
    static const char *const ends[] = {"_destroy", "_close", "_remove",
                                       "memory_free", "buffer_free"};
    for (size_t i = 0; i < COUNT(ends); i++)
        if (strstr(name, ends[i]) != NULL)
            return 1;
    return 0;
}

static void forget(uint64_t handle) {
    enum kind kind = (enum kind)((handle >> 56) - 1);
    ferrum_device_info info = FERRUM_DEVICE_INFO_INIT;
    /* A device stays open until it was closed as often as it was opened. */
    if (kind == DEVICE &&
        ferrum_device_get_info((ferrum_device){handle}, &info) == FERRUM_OK)
        return;
    m.dead[kind] = handle;
    for (int i = 0; i < SHELF; i++)
        if (m.shelf[kind][i] == handle)
            m.shelf[kind][i] = 0;
}

static void take_results(const attempt *a) {
    for (size_t i = 0; i < a->function->count; i++) {
        const parameter *p = &a->function->parameters[i];
        uint64_t value = 0;
        if (p->role != ROLE_OUT || p->size != sizeof value ||
            a->arguments[i].pointer == NULL)
            continue;
        memcpy(&value, a->arguments[i].pointer, sizeof value);
        keep(p->name, value);
    }
    if (a->function->count > 0 && ends_something(a->function->name) &&
        a->function->parameters[0].role == ROLE_HANDLE)
        forget(a->arguments[0].number);
}

/* --------------------------------------------------------------------- calls */

/* The driver cannot check what these functions state about external objects. */
static int takes_what_is_foreign(const char *name) {
    static const char *const functions[] = {
        "ferrum_stream_adopt",          "ferrum_event_adopt",
        "ferrum_device_open_native",    "ferrum_event_open",
        "ferrum_manager_import_memory", "ferrum_manager_import_pages"};
    for (size_t i = 0; i < COUNT(functions); i++)
        if (strcmp(name, functions[i]) == 0)
            return 1;
    return 0;
}

/* Calls that would end the program early, or that take a second. */
static int is_left_out(const char *name) {
    return strcmp(name, "ferrum_shutdown") == 0 ||
           strcmp(name, "ferrum_init") == 0 ||
           strcmp(name, "ferrum_device_measure_bandwidth") == 0 ||
           (strcmp(name, "ferrum_device_close") == 0 && draw(50) != 0) ||
           (!on_host() && takes_what_is_foreign(name));
}

static void tell(const attempt *a, const char *what, const char *why,
                 ferrum_status status) {
    char text[1400];
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    ferrum_last_error(&error);
    snprintf(text, sizeof text, "%s with %s (%s: %s)", a->function->name, what,
             ferrum_status_name(status), error.message);
    found(why, text);
}

/* The functions of elastic pools need models. */
static void register_model(void) {
    static const char *const models[] = {"chat", "code", "draft"};
    ferrum_model_config config = FERRUM_MODEL_CONFIG_INIT;
    config.virtual_bytes = UINT64_C(64) << 20;
    ferrum_elastic_pool_register_model(
        (ferrum_elastic_pool){m.good.live[ELASTIC_POOL]},
        models[draw(COUNT(models))], &config);
}

/* ------------------------------------------------------------------- batches */

/* The ranges of a batch in a virtual pool, or in a model if there is one. */
enum { BATCH = 6 };
static struct {
    ferrum_vpool vpool;
    ferrum_elastic_pool pool;
    const char *model;
    ferrum_byte_range ranges[BATCH];
    uint64_t count;
} b;

static unsigned mapped_ranges(void) {
    unsigned mask = 0;
    for (uint64_t i = 0; i < b.count; i++) {
        uint32_t mapped = 0;
        uint64_t at = b.ranges[i].offset_bytes, size = b.ranges[i].size_bytes;
        if (b.model != NULL)
            ferrum_elastic_pool_is_mapped(b.pool, b.model, at, size, &mapped);
        else
            ferrum_vpool_is_mapped(b.vpool, at, size, &mapped);
        mask |= mapped << i;
    }
    return mask;
}

static void all_or_none(const char *what, ferrum_status status, unsigned before,
                        unsigned after) {
    unsigned now = mapped_ranges();
    sum.calls++;
    sum.refused += status != FERRUM_OK;
    if (now != (status == FERRUM_OK ? after : before))
        found(what, "a batch was done in part");
}

static uint64_t pages_of_model(void) {
    ferrum_model_info info = FERRUM_MODEL_INFO_INIT;
    ferrum_elastic_pool_get_model_info(b.pool, b.model, &info);
    return info.mapped_pages;
}

static void alloc_anywhere(const ferrum_batch_options *options) {
    uint64_t sizes[BATCH], offsets[BATCH], pages = pages_of_model();
    for (uint64_t i = 0; i < b.count; i++)
        sizes[i] = b.ranges[i].size_bytes;
    ferrum_status status = ferrum_elastic_pool_alloc_batch_anywhere(
        b.pool, b.model, sizes, b.count, options, offsets);
    if (status == FERRUM_OK)
        for (uint64_t i = 0; i < b.count; i++)
            b.ranges[i].offset_bytes = offsets[i];
    else if (pages_of_model() != pages)
        found("ferrum_elastic_pool_alloc_batch_anywhere",
              "pages of a failed batch are mapped");
    all_or_none("ferrum_elastic_pool_alloc_batch_anywhere", status,
                mapped_ranges(), (1U << b.count) - 1);
}

static void batch_of_model(ferrum_stream stream) {
    ferrum_batch_options options = FERRUM_BATCH_OPTIONS_INIT;
    options.stream = stream;
    if (draw(2) == 0) {
        alloc_anywhere(&options);
    } else {
        unsigned before = mapped_ranges();
        all_or_none("ferrum_elastic_pool_alloc_batch",
                    ferrum_elastic_pool_alloc_batch(b.pool, b.model, b.ranges,
                                                    b.count, &options),
                    before, (1U << b.count) - 1);
    }
    ferrum_elastic_pool_record_stream_batch(b.pool, b.model, b.ranges, b.count,
                                            stream);
    unsigned before = mapped_ranges();
    if (draw(3) != 0)
        all_or_none("ferrum_elastic_pool_free_batch",
                    ferrum_elastic_pool_free_batch(b.pool, b.model, b.ranges,
                                                   b.count, stream),
                    before, 0);
}

static void batch_of_vpool(ferrum_stream stream) {
    ferrum_batch_options options = FERRUM_BATCH_OPTIONS_INIT;
    options.stream = stream;
    unsigned before = mapped_ranges();
    all_or_none("ferrum_vpool_alloc_batch",
                ferrum_vpool_alloc_batch(b.vpool, b.ranges, b.count, &options),
                before, (1U << b.count) - 1);
    ferrum_vpool_record_stream_batch(b.vpool, b.ranges, b.count, stream);
    before = mapped_ranges();
    if (draw(3) != 0)
        all_or_none("ferrum_vpool_free_batch",
                    ferrum_vpool_free_batch(b.vpool, b.ranges, b.count, stream),
                    before, 0);
}

static void batch_of_blocks(ferrum_stream stream) {
    ferrum_pool pool = {m.good.live[POOL]};
    ferrum_address blocks[BATCH];
    uint64_t count = 1 + draw(BATCH), usable = 0;
    sum.calls++;
    if (ferrum_pool_alloc_batch(pool, 1 + draw(UINT64_C(1) << draw(20)), count,
                                stream, blocks) != FERRUM_OK)
        return;
    sum.calls += 2;
    sum.refused += ferrum_pool_record_stream_batch(pool, blocks, count,
                                                   stream) != FERRUM_OK;
    ferrum_status freed =
        draw(4) == 0 ? FERRUM_ERROR_BUSY
                     : ferrum_pool_free_batch(pool, blocks, count, stream);
    for (uint64_t i = 0; i < count; i++)
        if ((ferrum_pool_usable_size(pool, blocks[i], &usable) == FERRUM_OK) ==
            (freed == FERRUM_OK || freed == FERRUM_ERROR_CORRUPTED))
            found("ferrum_pool_free_batch", "a batch was done in part");
}

static void batch(void) {
    static const char *const models[] = {"chat", "code", "draft"};
    ferrum_stream stream = {draw(2) ? m.good.live[STREAM] : 0};
    b.vpool.id = m.good.live[VPOOL];
    b.pool.id = m.good.live[ELASTIC_POOL];
    b.count = 1 + draw(BATCH);
    /* A page, and sometimes ranges that touch each other's pages. */
    uint64_t unit = on_host() ? 1 << 16 : 1 << 21, gap = 1 + draw(3);
    for (uint64_t i = 0; i < b.count; i++)
        b.ranges[i] = (ferrum_byte_range){(gap * i + draw(2)) * unit,
                                          (1 + draw(2)) * unit};
    uint64_t what = draw(3);
    b.model = what == 0 ? models[draw(COUNT(models))] : NULL;
    arm_faults();
    if (what == 0)
        batch_of_model(stream);
    else if (what == 1)
        batch_of_vpool(stream);
    else
        batch_of_blocks(stream);
    clear_faults();
}

/* -------------------------------------------------------------------- models */

/* Backends and pools for models are often on one device. */
static void provide_for_models(void) {
    ferrum_device device = {m.devices[draw(2)].id};
    ferrum_compute_config config = FERRUM_COMPUTE_CONFIG_INIT;
    config.device = device;
    config.threads = 1;
    ferrum_compute compute = {m.good.live[COMPUTE]};
    if (compute.id == 0 || draw(4) == 0) {
        sum.calls++;
        if (ferrum_compute_open(&config, &compute) != FERRUM_OK)
            return;
        *any_place(COMPUTE) = m.good.live[COMPUTE] = compute.id;
    }
    ferrum_elastic_pool_config pages = FERRUM_ELASTIC_POOL_CONFIG_INIT;
    pages.limit_bytes = UINT64_C(4) << 20;
    pages.page_bytes = FIXTURE_PAGE;
    ferrum_elastic_pool pool = {m.good.live[ELASTIC_POOL]};
    if (pool.id == 0 || draw(4) == 0) {
        sum.calls++;
        if (ferrum_elastic_pool_create(device, &pages, &pool) == FERRUM_OK)
            *any_place(ELASTIC_POOL) = m.good.live[ELASTIC_POOL] = pool.id;
    }
}

static int32_t count_down(const ferrum_build_progress *now, void *data) {
    (void)now;
    return --*(int *)data == 0;
}

static void build_model(void) {
    static const char *const models[] = {"one", "two", "three"};
    ferrum_build_request r = FERRUM_BUILD_REQUEST_INIT;
    int calls = draw(2) ? 0 : 1 + (int)draw(12);
    r.model = models[draw(COUNT(models))];
    r.definition_json = FIXTURE_DEFINITION;
    r.definition_bytes = strlen(FIXTURE_DEFINITION);
    r.compute.id = m.good.live[COMPUTE];
    r.elastic_pool.id = m.good.live[ELASTIC_POOL];
    r.max_bytes = draw(3) ? 0 : (1 + draw(3)) * FIXTURE_PAGE;
    r.progress = count_down;
    r.user_data = &calls;
    ferrum_executor executor;
    ferrum_status status = ferrum_executor_build(&r, &executor);
    sum.calls++;
    sum.refused += status != FERRUM_OK;
    sum.built += status == FERRUM_OK;
    if ((status == FERRUM_OK) != (executor.id != 0))
        found("ferrum_executor_build", "a handle without a model");
    if (executor.id != 0)
        *any_place(EXECUTOR) = executor.id;
}

/* The outputs of a row of zeros are the bias, which is 1. */
static void run_model(ferrum_executor executor) {
    enum { MOST = 1 << 13 };
    static float zeros[MOST * 4], ones[MOST * 3];
    int64_t rows = draw(2) ? 1 + (int64_t)draw(4) : 1 + (int64_t)draw(MOST);
    ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
    desc.dtype = FERRUM_DTYPE_F32;
    desc.flags = FERRUM_ELEMENTS_CONTIGUOUS;
    desc.rank = 2;
    desc.shape[0] = rows;
    desc.shape[1] = 4;
    ferrum_tensor x;
    if (ferrum_tensor_wrap(m.devices[draw(2)], (uintptr_t)zeros, sizeof zeros,
                           &desc, NULL, NULL, &x) != FERRUM_OK)
        return;
    ferrum_named_tensor in = {"x", x}, out = {"y", {0}};
    ferrum_status status =
        ferrum_executor_run(executor, &in, 1, &out, 1, (ferrum_stream){0}, 0);
    sum.calls++;
    sum.refused += status != FERRUM_OK;
    sum.ran += status == FERRUM_OK;
    if ((status == FERRUM_OK) != (out.tensor.id != 0))
        found("ferrum_executor_run", "an output without a run");
    if (status == FERRUM_OK &&
        ferrum_tensor_read(out.tensor, ones, (uint64_t)rows * 3 * sizeof(float),
                           (ferrum_stream){0}) == FERRUM_OK)
        for (int64_t i = 0; i < rows * 3; i++)
            if (ones[i] != 1)
                found("ferrum_executor_run", "a wrong output");
    if (out.tensor.id != 0)
        *any_place(TENSOR) = out.tensor.id;
    ferrum_tensor_destroy(x);
}

static void model(void) {
    pick_objects();
    provide_for_models();
    ferrum_executor executor = {m.good.live[EXECUTOR]};
    arm_faults();
    if (executor.id == 0 || draw(4) == 0)
        build_model();
    else if (draw(4) == 0)
        sum.refused += ferrum_executor_sleep(executor, NULL, NULL) != FERRUM_OK;
    else if (draw(3) == 0)
        sum.refused += ferrum_executor_wake(executor, NULL, NULL) != FERRUM_OK;
    else
        run_model(executor);
    clear_faults();
}

static void step(void) {
    static attempt a;
    char what[WHAT_BYTES] = "allowed arguments";
    const function *f = draw_function();
    pick_objects();
    if (m.good.live[ELASTIC_POOL] != 0 && draw(20) == 0)
        register_model();
    if (draw(12) == 0)
        batch();
    if (draw(12) == 0)
        model();
    if (is_left_out(f->name))
        return;
    attempt_prepare(&a, f, &m.good);
    if (draw(3) == 0)
        draw_values(&a);
    int is_bad = draw(8) == 0 && draw_bad(&a, what, sizeof what);
    arm_faults();
    ferrum_status status;
    const char *why = call_it(&a, is_bad, &status);
    clear_faults();
    sum.calls++;
    sum.refused += status != FERRUM_OK;
    if (why != NULL)
        tell(&a, what, why, status);
    if (status == FERRUM_OK)
        take_results(&a);
}

/* ---------------------------------------------------------- end of a program */

static ferrum_status destroy(uint64_t id) {
    static const ferrum_stream none;
    switch ((enum kind)((id >> 56) - 1)) {
    case STREAM:
        return ferrum_stream_destroy((ferrum_stream){id}, FERRUM_FORCE);
    case EVENT:
        return ferrum_event_destroy((ferrum_event){id});
    case POOL:
        return ferrum_pool_destroy((ferrum_pool){id}, FERRUM_FORCE);
    case MANAGER:
        return ferrum_manager_destroy((ferrum_manager){id}, FERRUM_FORCE);
    case MEMORY:
        while (ferrum_memory_unmap((ferrum_memory){id}, 0) == FERRUM_OK)
            ;
        return ferrum_memory_free((ferrum_memory){id});
    case REGISTRATION:
        return ferrum_registration_remove((ferrum_registration){id});
    case VPOOL:
        return ferrum_vpool_destroy((ferrum_vpool){id}, FERRUM_FORCE);
    case ELASTIC_POOL:
        return ferrum_elastic_pool_destroy((ferrum_elastic_pool){id},
                                           FERRUM_FORCE);
    case MONITOR:
        return ferrum_monitor_destroy((ferrum_monitor){id});
    case PLACEMENT:
        return ferrum_placement_destroy((ferrum_placement){id});
    case FALLBACK_MANAGER:
        return ferrum_fallback_manager_destroy((ferrum_fallback_manager){id},
                                               FERRUM_FORCE);
    case FALLBACK_BUFFER:
        return ferrum_fallback_buffer_free((ferrum_fallback_buffer){id}, none);
    case TRACKER:
        return ferrum_tracker_destroy((ferrum_tracker){id});
    case GENERIC_POOL:
        return ferrum_generic_pool_destroy((ferrum_generic_pool){id},
                                           FERRUM_FORCE);
    case WEIGHTS:
        return ferrum_weights_close((ferrum_weights){id}, FERRUM_FORCE);
    case TENSOR_SET:
        return ferrum_tensor_set_free((ferrum_tensor_set){id}, FERRUM_FORCE);
    case TENSOR:
        return ferrum_tensor_destroy((ferrum_tensor){id});
    case COMPUTE:
        return ferrum_compute_close((ferrum_compute){id}, FERRUM_FORCE);
    case OP:
        return ferrum_op_destroy((ferrum_op){id});
    case SEQUENCE:
        return ferrum_sequence_destroy((ferrum_sequence){id});
    case EXECUTOR:
        return ferrum_executor_destroy((ferrum_executor){id}, FERRUM_FORCE);
    case KV_CACHE:
        return ferrum_kv_cache_destroy((ferrum_kv_cache){id}, FERRUM_FORCE);
    default:
        return FERRUM_OK;
    }
}

static const char *leak_report(void) {
    static char text[REPORT_BYTES];
    size_t length = 0;
    ferrum_status status = ferrum_leak_report_json(text, sizeof text, &length);
    if (status != FERRUM_OK && status != FERRUM_ERROR_BUFFER_TOO_SMALL)
        found("the leak report cannot be read", ferrum_status_name(status));
    return text;
}

/* Destroys all objects of the leak report, until it lists only devices. */
static void destroy_all(void) {
    static const char key[] = "\"kind\":\"", handle[] = "\"handle\":";
    for (int rounds = 0;; rounds++) {
        const char *report = leak_report();
        int left = 0;
        for (const char *at = report; (at = strstr(at, key)) != NULL;) {
            at = strstr(at, handle);
            uint64_t id = strtoull(at + sizeof handle - 1, NULL, 10);
            if ((id >> 56) - 1 == DEVICE)
                continue;
            left++;
            destroy(id);
        }
        if (left == 0)
            return;
        if (rounds > 50)
            found("objects cannot be destroyed", report);
    }
}

static void check_device(ferrum_device device) {
    ferrum_statistics s = FERRUM_STATISTICS_INIT;
    char text[400];
    ferrum_status status = ferrum_device_get_statistics(device, &s);
    if (status != FERRUM_OK)
        found("the books cannot be read", ferrum_status_name(status));
    snprintf(text, sizeof text,
             "reserved %llu, active %llu, cached %llu, unusable %llu, "
             "requested %llu, blocks %llu",
             (unsigned long long)s.reserved.current,
             (unsigned long long)s.active.current,
             (unsigned long long)s.cached.current,
             (unsigned long long)s.unusable.current,
             (unsigned long long)s.requested.current,
             (unsigned long long)s.live_blocks.current);
    if (s.reserved.current != 0 || s.active.current != 0 ||
        s.cached.current != 0 || s.unusable.current != 0 ||
        s.requested.current != 0 || s.live_blocks.current != 0)
        found("the books of a device are not empty", text);
}

/* Closes every open device, also the devices that programs opened. */
static void close_devices(void) {
    static const char key[] = "\"handle\":";
    const char *at;
    while ((at = strstr(leak_report(), key)) != NULL) {
        ferrum_device device = {strtoull(at + sizeof key - 1, NULL, 10)};
        check_device(device);
        ferrum_status status = ferrum_device_close(device, 0);
        if (status != FERRUM_OK)
            found("a device does not close", ferrum_status_name(status));
    }
}

static void check_driver(void) {
    static char text[1 << 14];
    if (on_host())
        return;
    if (faults.violations(text, sizeof text) != 0)
        found("a rule of the driver was broken", text);
    if (faults.leaks(text, sizeof text) != 0)
        found("the driver has memory or objects that were not given back",
              text);
}

static void end_program(void) {
    m.step = 0;
    clear_faults();
    destroy_all();
    close_devices();
    ferrum_status status;
    while ((status = ferrum_shutdown(0)) == FERRUM_OK)
        ;
    if (status != FERRUM_ERROR_NOT_INITIALIZED)
        found("the library does not stop", leak_report());
    check_driver();
}

static void run_program(unsigned long program, unsigned long steps) {
    memset(&m, 0, sizeof m);
    m.program = program;
    draw_seed(program);
    ferrum_config config = FERRUM_CONFIG_INIT;
    config.host_devices = 2;
    config.host_memory_bytes = UINT64_C(512) << 20;
    MUST(ferrum_init(&config));
    MUST(ferrum_device_open(first_device(), &m.devices[0]));
    MUST(ferrum_device_open(other_device(), &m.devices[1]));
    for (m.step = 1; m.step <= steps; m.step++)
        step();
    end_program();
    sum.programs++;
}

int main(int argc, char **argv) {
    unsigned long first = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
    unsigned long steps = argc > 3 ? strtoul(argv[3], NULL, 10) : STEPS;
    find_faults();
    for (unsigned long i = 0; i < count; i++)
        run_program(first + i, steps);
    printf("soak programs=%lu calls=%lu refused=%lu faults=%lu models=%lu "
           "runs=%lu\n",
           sum.programs, sum.calls, sum.refused, sum.faults, sum.built,
           sum.ran);
    return 0;
}
