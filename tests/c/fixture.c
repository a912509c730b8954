#include "fixture.h"

#include <dlfcn.h>
#include <glob.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int gives(ferrum_status got, ferrum_status want, const char *call,
          void (*wrong)(const char *format, ...)) {
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    /* The error record of a test helper (requests.h) names the function
     * that the helper called. */
    int named = strncmp(call, "ferrum_", 7) == 0;
    if (got != FERRUM_OK) {
        ferrum_last_error(&error);
        if (error.status != got || error.message[0] == 0 ||
            (named &&
             strncmp(call, error.function, strlen(error.function)) != 0))
            wrong("%s: the record is of %s in %s: %s", call,
                  ferrum_status_name(error.status), error.function,
                  error.message);
    }
    if (got != want)
        wrong("%s: %s, not %s: %s", call, ferrum_status_name(got),
              ferrum_status_name(want), error.message);
    return got == FERRUM_OK;
}

/* cmocka reports the error of a test only after the test's teardown. */
extern void _fail(const char *file, int line) __attribute__((weak));
static int ending;
static jmp_buf not_ended;

void must(ferrum_status status, const char *what) {
    if (status == FERRUM_OK)
        return;
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    ferrum_last_error(&error);
    fprintf(stderr, "%s: %s: %s\n", what, ferrum_status_name(status),
            error.message);
    if (ending)
        longjmp(not_ended, 1);
    exit(70);
}

static void hear(ferrum_device device, ferrum_pressure_level level,
                 void *user_data) {
    (void)device;
    (void)level;
    (void)user_data;
}

static ferrum_vpool make_vpool(ferrum_device device) {
    ferrum_vpool_config config = FERRUM_VPOOL_CONFIG_INIT;
    config.capacity_bytes = UINT64_C(64) << 20;
    config.page_bytes = FIXTURE_PAGE;
    config.limit_bytes = UINT64_C(16) << 20;
    config.ready_pages = 0;
    config.name = "elastic";
    ferrum_vpool vpool;
    MUST(ferrum_vpool_create(device, &config, &vpool));
    return vpool;
}

static ferrum_elastic_pool make_elastic_pool(ferrum_device device) {
    ferrum_elastic_pool_config config = FERRUM_ELASTIC_POOL_CONFIG_INIT;
    config.page_bytes = FIXTURE_PAGE;
    config.limit_bytes = UINT64_C(16) << 20;
    config.ready_pages = 0;
    config.name = "several";
    ferrum_elastic_pool pool;
    MUST(ferrum_elastic_pool_create(device, &config, &pool));
    ferrum_model_config model = FERRUM_MODEL_CONFIG_INIT;
    model.virtual_bytes = UINT64_C(64) << 20;
    MUST(ferrum_elastic_pool_register_model(pool, "chat", &model));
    return pool;
}

static ferrum_monitor make_monitor(void) {
    ferrum_monitor_config config = FERRUM_MONITOR_CONFIG_INIT;
    config.interval_ns = UINT64_MAX;
    config.flags = FERRUM_MONITOR_IGNORE_SYSTEM;
    ferrum_monitor monitor;
    MUST(ferrum_monitor_create(&config, &monitor));
    return monitor;
}

static ferrum_placement make_placement(void) {
    ferrum_placement placement;
    MUST(ferrum_placement_create("best_fit", &placement));
    return placement;
}

static ferrum_fallback_manager make_fallback_manager(fixture *f) {
    ferrum_memory_config config = FERRUM_MEMORY_CONFIG_INIT;
    config.flags |= FERRUM_MEMORY_TRACK_ALLOCATIONS;
    config.min_free_bytes = 0;
    ferrum_fallback_manager manager;
    MUST(ferrum_fallback_manager_create(f->other_device, f->device, &config,
                                        &manager));
    return manager;
}

static ferrum_fallback_buffer make_buffer(ferrum_fallback_manager manager) {
    ferrum_buffer_request request = FERRUM_BUFFER_REQUEST_INIT;
    request.dtype = FERRUM_DTYPE_U8;
    request.num_elements = 4096;
    ferrum_fallback_buffer buffer;
    MUST(ferrum_fallback_manager_alloc(manager, &request, &buffer));
    return buffer;
}

static ferrum_tracker make_tracker(void) {
    ferrum_tracker tracker;
    MUST(ferrum_tracker_create(&tracker));
    ferrum_buffer_metadata known = {0};
    known.buffer_id = 5;
    known.size_bytes = 100;
    MUST(ferrum_tracker_track(tracker, &known));
    return tracker;
}

static ferrum_generic_pool make_generic_pool(void) {
    ferrum_memory_config config = FERRUM_MEMORY_CONFIG_INIT;
    config.max_pooled_per_bucket = 1;
    ferrum_generic_pool pool;
    MUST(ferrum_generic_pool_create(&config, &pool));
    MUST(ferrum_generic_pool_add_free(pool, 1, 100));
    return pool;
}

static ferrum_weights make_weights(void) {
    static const char bytes[] = "\x40\0\0\0\0\0\0\0"
                                "{\"nothing\":{\"dtype\":\"F32\",\"shape\":[0],"
                                "\"data_offsets\":[0,0]}}    ";
    ferrum_weights_source source = FERRUM_WEIGHTS_SOURCE_INIT;
    source.kind = FERRUM_WEIGHTS_SOURCE_MEMORY;
    source.data = bytes;
    source.data_bytes = sizeof bytes - 1;
    ferrum_weights weights;
    MUST(ferrum_weights_open(&source, &weights));
    return weights;
}

/* Loads the tensor into a pool, which gets no block for it. */
static ferrum_tensor_set make_set(ferrum_weights weights, ferrum_pool pool) {
    ferrum_weights_memory memory = {0};
    memory.pool = pool;
    ferrum_weights_load_request request = FERRUM_WEIGHTS_LOAD_REQUEST_INIT;
    request.memories = &memory;
    request.memory_count = 1;
    ferrum_tensor_set set;
    MUST(ferrum_weights_load(weights, &request, &set));
    MUST(ferrum_tensor_set_wait(set, FERRUM_WAIT_FOREVER));
    return set;
}

static void keep_tensor_memory(void *user_data) { (void)user_data; }

static ferrum_tensor make_tensor(ferrum_device device) {
    static float memory[24];
    ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
    desc.dtype = FERRUM_DTYPE_F32;
    desc.flags = FERRUM_ELEMENTS_CONTIGUOUS;
    desc.rank = 2;
    desc.shape[0] = 4;
    desc.shape[1] = 6;
    ferrum_tensor tensor;
    MUST(ferrum_tensor_wrap(device, (ferrum_address)(uintptr_t)memory,
                            sizeof memory, &desc, keep_tensor_memory, NULL,
                            &tensor));
    return tensor;
}

static ferrum_compute make_compute(ferrum_device device) {
    ferrum_compute_config config = FERRUM_COMPUTE_CONFIG_INIT;
    config.device = device;
    config.threads = 1;
    ferrum_compute compute;
    MUST(ferrum_compute_open(&config, &compute));
    return compute;
}

static ferrum_op make_op(ferrum_compute compute) {
    ferrum_op op;
    MUST(ferrum_op_prepare(compute, "Add", "", 0, 0, &op));
    return op;
}

static ferrum_sequence make_sequence(ferrum_compute compute) {
    ferrum_sequence sequence;
    MUST(ferrum_sequence_create(compute, &sequence));
    return sequence;
}

const char FIXTURE_DEFINITION[] =
    "{\"metadata\":{\"name\":\"small\",\"version\":\"1\",\"model_type\":"
    "\"small\","
    "\"architecture_family\":\"custom\"},"
    "\"architecture\":{\"name\":\"small\",\"dimensions\":{\"vocab_size\":1,"
    "\"hidden_size\":4,\"num_layers\":1,\"num_heads\":1,"
    "\"max_sequence_length\":1}},"
    "\"parameters\":[{\"name\":\"weight\",\"shape\":[3,4],\"dtype\":\"f32\","
    "\"trainable\":true,\"initialization\":{\"strategy\":\"normal\",\"std\":1}}"
    ","
    "{\"name\":\"bias\",\"shape\":[3],\"dtype\":\"f32\",\"trainable\":true,"
    "\"initialization\":{\"strategy\":\"ones\"}}],"
    "\"layers\":[{\"name\":\"x\",\"layer_type\":\"Input\",\"inputs\":[],"
    "\"outputs\":[{\"name\":\"x\",\"shape\":[-1,4],\"dtype\":\"f32\"}],"
    "\"parameters\":[]},"
    "{\"name\":\"y\",\"layer_type\":\"ferrum.linear\",\"inputs\":["
    "{\"name\":\"in\",\"shape\":[-1,4],\"dtype\":\"f32\"},"
    "{\"name\":\"weight\",\"shape\":[3,4],\"dtype\":\"f32\"},"
    "{\"name\":\"bias\",\"shape\":[3],\"dtype\":\"f32\"}],"
    "\"outputs\":[{\"name\":\"y\",\"shape\":[-1,3],\"dtype\":\"f32\"}],"
    "\"parameters\":[\"weight\",\"bias\"]}],"
    "\"graph\":{\"inputs\":[\"x\"],\"outputs\":[\"y\"],\"nodes\":["
    "{\"id\":\"x\",\"layer_name\":\"x\",\"metadata\":{\"dims\":[\"batch\",\"\"]"
    "}},"
    "{\"id\":\"y\",\"layer_name\":\"y\"}],"
    "\"edges\":[{\"source\":\"x\",\"target\":\"y\"}]}}";

static ferrum_elastic_pool make_models(ferrum_device device) {
    ferrum_elastic_pool_config config = FERRUM_ELASTIC_POOL_CONFIG_INIT;
    config.page_bytes = FIXTURE_PAGE;
    config.limit_bytes = UINT64_C(64) << 20;
    config.ready_pages = 0;
    ferrum_elastic_pool pool;
    MUST(ferrum_elastic_pool_create(device, &config, &pool));
    return pool;
}

static ferrum_executor make_executor(ferrum_compute compute,
                                     ferrum_elastic_pool pool) {
    ferrum_build_request request = FERRUM_BUILD_REQUEST_INIT;
    request.definition_json = FIXTURE_DEFINITION;
    request.definition_bytes = strlen(FIXTURE_DEFINITION);
    request.compute = compute;
    request.elastic_pool = pool;
    /* The model does not run, so that tests count the runs of the backend. */
    static const char options[] = "{\"enable_validation\": false}";
    request.options_json = options;
    request.options_bytes = strlen(options);
    ferrum_executor executor;
    MUST(ferrum_executor_build(&request, &executor));
    /* The pool holds what the executor has, so that a reclaim finds nothing. */
    uint64_t released;
    MUST(ferrum_elastic_pool_trim(pool, 0, &released));
    return executor;
}

static ferrum_kv_cache make_kv_cache(void) {
    ferrum_kv_cache_config config = FERRUM_KV_CACHE_CONFIG_INIT;
    config.block_tokens = 4;
    config.blocks = 64;
    config.host_blocks = 8;
    config.sequences = 8;
    config.sequence_tokens = 64;
    ferrum_kv_cache cache;
    MUST(ferrum_kv_cache_create(&config, &(ferrum_weights_memory){0},
                                (ferrum_pool){0}, (ferrum_stream){0}, &cache));
    return cache;
}

static void make_dead_handles(fixture *f) {
    ferrum_stream stream;
    ferrum_event event;
    ferrum_pool pool;
    ferrum_manager manager;
    ferrum_memory memory;
    ferrum_registration registration;
    MUST(ferrum_stream_create(f->device, &stream));
    MUST(ferrum_event_record(stream, &event));
    MUST(ferrum_event_destroy(event));
    MUST(ferrum_stream_synchronize(stream, FERRUM_WAIT_FOREVER));
    MUST(ferrum_stream_destroy(stream, 0));
    MUST(ferrum_pool_create(f->device, NULL, &pool));
    ferrum_weights weights = make_weights();
    ferrum_tensor_set set = make_set(weights, pool);
    MUST(ferrum_tensor_set_free(set, 0));
    f->dead[TENSOR_SET] = set.id;
    MUST(ferrum_weights_close(weights, 0));
    f->dead[WEIGHTS] = weights.id;
    ferrum_tensor tensor = make_tensor(f->device);
    MUST(ferrum_tensor_destroy(tensor));
    f->dead[TENSOR] = tensor.id;
    ferrum_compute compute = make_compute(f->device);
    ferrum_op op = make_op(compute);
    ferrum_sequence sequence = make_sequence(compute);
    ferrum_elastic_pool models = make_models(f->device);
    ferrum_executor executor = make_executor(compute, models);
    MUST(ferrum_executor_destroy(executor, 0));
    f->dead[EXECUTOR] = executor.id;
    ferrum_kv_cache kv_cache = make_kv_cache();
    MUST(ferrum_kv_cache_destroy(kv_cache, 0));
    f->dead[KV_CACHE] = kv_cache.id;
    MUST(ferrum_elastic_pool_destroy(models, 0));
    MUST(ferrum_sequence_destroy(sequence));
    MUST(ferrum_op_destroy(op));
    MUST(ferrum_compute_close(compute, 0));
    f->dead[SEQUENCE] = sequence.id;
    f->dead[OP] = op.id;
    f->dead[COMPUTE] = compute.id;
    MUST(ferrum_pool_destroy(pool, 0));
    MUST(ferrum_manager_create(f->device, NULL, &manager));
    MUST(ferrum_manager_alloc(manager, 256, &memory));
    MUST(ferrum_memory_free(memory));
    MUST(ferrum_manager_destroy(manager, 0));
    MUST(ferrum_device_pressure_callback_add(f->device, hear, NULL,
                                             &registration));
    MUST(ferrum_registration_remove(registration));
    ferrum_vpool vpool = make_vpool(f->device);
    MUST(ferrum_vpool_destroy(vpool, 0));
    f->dead[VPOOL] = vpool.id;
    ferrum_elastic_pool shared = make_elastic_pool(f->device);
    MUST(ferrum_elastic_pool_destroy(shared, 0));
    f->dead[ELASTIC_POOL] = shared.id;
    ferrum_monitor monitor = make_monitor();
    MUST(ferrum_monitor_destroy(monitor));
    f->dead[MONITOR] = monitor.id;
    ferrum_placement placement = make_placement();
    MUST(ferrum_placement_destroy(placement));
    f->dead[PLACEMENT] = placement.id;
    ferrum_fallback_manager fallback_manager = make_fallback_manager(f);
    ferrum_fallback_buffer buffer = make_buffer(fallback_manager);
    MUST(ferrum_fallback_buffer_free(buffer, (ferrum_stream){0}));
    MUST(ferrum_fallback_manager_destroy(fallback_manager, 0));
    f->dead[FALLBACK_MANAGER] = fallback_manager.id;
    f->dead[FALLBACK_BUFFER] = buffer.id;
    ferrum_tracker tracker = make_tracker();
    MUST(ferrum_tracker_destroy(tracker));
    f->dead[TRACKER] = tracker.id;
    ferrum_generic_pool generic = make_generic_pool();
    MUST(ferrum_generic_pool_destroy(generic, FERRUM_FORCE));
    f->dead[GENERIC_POOL] = generic.id;
    f->dead[STREAM] = stream.id;
    f->dead[EVENT] = event.id;
    f->dead[POOL] = pool.id;
    f->dead[MANAGER] = manager.id;
    f->dead[MEMORY] = memory.id;
    f->dead[REGISTRATION] = registration.id;
}

void fixture_make(fixture *f) {
    ferrum_config config = FERRUM_CONFIG_INIT;
    config.host_devices = 2;
    config.host_memory_bytes = UINT64_C(512) << 20;
    MUST(ferrum_init(&config));
    ferrum_device gone;
    MUST(ferrum_device_open("cpu:1", &gone));
    MUST(ferrum_device_close(gone, 0));
    f->dead[DEVICE] = gone.id;
    MUST(ferrum_device_open("cpu:0", &f->device));
    MUST(ferrum_device_open("cpu:1", &f->other_device));
    make_dead_handles(f);
    MUST(ferrum_stream_create(f->device, &f->stream));
    MUST(ferrum_stream_create(f->other_device, &f->other_stream));
    MUST(ferrum_event_record(f->stream, &f->event));
    MUST(ferrum_event_synchronize(f->event, FERRUM_WAIT_FOREVER));
    ferrum_pool_config pool = FERRUM_POOL_CONFIG_INIT;
    pool.initial_size_bytes = UINT64_C(8) << 20;
    pool.growth_increment_bytes = UINT64_C(8) << 20;
    /* Idle pages stay until a call releases them, so that tests see fixed
     * numbers. */
    pool.ready_pages = FERRUM_READY_PAGES_ALL;
    MUST(ferrum_pool_create(f->device, &pool, &f->pool));
    MUST(ferrum_pool_alloc(f->pool, 4096, f->stream, &f->block));
    ferrum_manager_config manager = FERRUM_MANAGER_CONFIG_INIT;
    manager.pool_configs[FERRUM_MEMORY_GENERAL] = &pool;
    MUST(ferrum_manager_create(f->device, &manager, &f->manager));
    MUST(ferrum_manager_alloc(f->manager, 4096, &f->memory));
    MUST(ferrum_device_pressure_callback_add(f->device, hear, NULL,
                                             &f->registration));
    f->vpool = make_vpool(f->device);
    MUST(ferrum_vpool_alloc(f->vpool, 0, FIXTURE_RANGE, &f->range));
    f->shared = make_elastic_pool(f->device);
    MUST(ferrum_elastic_pool_alloc(f->shared, "chat", FIXTURE_RANGE,
                                   &f->shared_range, NULL));
    f->monitor = make_monitor();
    f->placement = make_placement();
    f->fallback_manager = make_fallback_manager(f);
    f->buffer = make_buffer(f->fallback_manager);
    f->tracker = make_tracker();
    f->generic = make_generic_pool();
    f->weights = make_weights();
    f->set = make_set(f->weights, f->pool);
    f->tensor = make_tensor(f->device);
    f->compute = make_compute(f->device);
    f->op = make_op(f->compute);
    f->sequence = make_sequence(f->compute);
    f->models = make_models(f->device);
    f->executor = make_executor(f->compute, f->models);
    f->kv_cache = make_kv_cache();
    const uint64_t live[KINDS] = {
        f->device.id,       f->stream.id,    f->event.id,
        f->pool.id,         f->manager.id,   f->memory.id,
        f->registration.id, f->vpool.id,     f->shared.id,
        f->monitor.id,      f->placement.id, f->fallback_manager.id,
        f->buffer.id,       f->tracker.id,   f->generic.id,
        f->weights.id,      f->set.id,       f->tensor.id,
        f->compute.id,      f->op.id,        f->sequence.id,
        f->executor.id,     f->kv_cache.id};
    for (int i = 0; i < KINDS; i++)
        f->live[i] = live[i];
}

static void end_everything(fixture *f) {
    MUST(ferrum_kv_cache_destroy(f->kv_cache, 0));
    MUST(ferrum_executor_destroy(f->executor, 0));
    MUST(ferrum_elastic_pool_destroy(f->models, 0));
    MUST(ferrum_sequence_destroy(f->sequence));
    MUST(ferrum_op_destroy(f->op));
    MUST(ferrum_compute_close(f->compute, 0));
    MUST(ferrum_tensor_destroy(f->tensor));
    MUST(ferrum_tensor_set_free(f->set, 0));
    MUST(ferrum_weights_close(f->weights, 0));
    MUST(ferrum_generic_pool_destroy(f->generic, FERRUM_FORCE));
    MUST(ferrum_tracker_destroy(f->tracker));
    MUST(ferrum_fallback_buffer_free(f->buffer, (ferrum_stream){0}));
    MUST(ferrum_fallback_manager_destroy(f->fallback_manager, 0));
    MUST(ferrum_placement_destroy(f->placement));
    MUST(ferrum_monitor_destroy(f->monitor));
    MUST(ferrum_registration_remove(f->registration));
    MUST(ferrum_elastic_pool_free(f->shared, "chat", 0, FIXTURE_RANGE,
                                  f->stream));
    MUST(ferrum_elastic_pool_destroy(f->shared, 0));
    MUST(ferrum_vpool_free(f->vpool, 0, FIXTURE_RANGE, f->stream));
    MUST(ferrum_vpool_destroy(f->vpool, 0));
    MUST(ferrum_memory_free(f->memory));
    MUST(ferrum_manager_destroy(f->manager, 0));
    MUST(ferrum_pool_free(f->pool, f->block, f->stream));
    MUST(ferrum_pool_destroy(f->pool, 0));
    MUST(ferrum_event_destroy(f->event));
    MUST(ferrum_stream_destroy(f->stream, 0));
    MUST(ferrum_stream_destroy(f->other_stream, 0));
    MUST(ferrum_device_close(f->other_device, 0));
    MUST(ferrum_device_close(f->device, 0));
    MUST(ferrum_shutdown(0));
}

void fixture_end(fixture *f) {
    if (setjmp(not_ended) == 0) {
        ending = _fail != NULL;
        end_everything(f);
        ending = 0;
        return;
    }
    ending = 0;
    while (ferrum_shutdown(FERRUM_FORCE) == FERRUM_OK)
        ;
    _fail(__FILE__, __LINE__);
}

void gate_wait(void *data) {
    gate *g = data;
    pthread_mutex_lock(&g->mutex);
    while (!g->open)
        pthread_cond_wait(&g->changed, &g->mutex);
    pthread_mutex_unlock(&g->mutex);
}
void gate_open(gate *g) {
    pthread_mutex_lock(&g->mutex);
    g->open = 1;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->mutex);
}

#define LIBRARIES                            \
    "build/venv/lib/python3*/site-packages/" \
    "onnxruntime/capi/libonnxruntime.so*"

/* The system finds a library that is loaded already by its name. */
int fixture_loads_onnx_runtime(void) {
    static int found;
    if (found || getenv("FERRUM_ORT_LIBRARY"))
        return 1;
    glob_t files;
    if (glob(LIBRARIES, 0, NULL, &files) == 0)
        found = dlopen(files.gl_pathv[0], RTLD_NOW | RTLD_LOCAL) != NULL;
    globfree(&files);
    return found;
}
