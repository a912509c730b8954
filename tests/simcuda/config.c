/* Reads the configuration from the environment, and keeps the objects that
 * handles name. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

Simulation sim = {.lock = PTHREAD_MUTEX_INITIALIZER,
                  .progress = PTHREAD_COND_INITIALIZER};

static void refuse(const char *name, const char *value) {
    fprintf(stderr, "simcuda: %s=%s is not understood\n", name, value);
    abort();
}

static uint64_t number(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    char *end;
    if (text == NULL || *text == 0)
        return otherwise;
    uint64_t value = strtoull(text, &end, 0);
    if (*end != 0)
        refuse(name, text);
    return value;
}

/* Reads sizes with the suffix K, M or G, one for each device. The last size
 * applies to the remaining devices. */
static void sizes(const char *name, uint64_t otherwise, uint64_t *values) {
    const char *text = getenv(name), *at = text;
    uint64_t value = otherwise;
    for (int i = 0; i < MAX_DEVICES; i++) {
        if (at != NULL && *at != 0) {
            char *end;
            value = strtoull(at, &end, 0);
            if (end == at)
                refuse(name, text);
            if (*end == 'K' || *end == 'M' || *end == 'G')
                value <<= *end == 'K' ? 10 : *end == 'M' ? 20 : 30, end++;
            if (*end != 0 && *end != ',')
                refuse(name, text);
            at = *end == ',' ? end + 1 : end;
        }
        values[i] = value;
    }
}

static void take_away(Config *config) {
    const char *text = getenv("SIMCUDA_WITHOUT");
    if (text == NULL)
        return;
    const struct {
        const char *name;
        bool *flag;
    } parts[] = {
        {"vmm", &config->without_vmm},
        {"pools", &config->without_pools},
        {"managed", &config->without_managed},
        {"concurrent", &config->without_concurrent},
        {"peer", &config->without_peer},
        {"fd", &config->without_fd},
        {"rdma", &config->without_rdma},
        {"fabric", &config->without_fabric},
        {"ipc", &config->without_ipc},
        {"mapped", &config->without_mapped},
        {"unified", &config->without_unified},
        {"register", &config->without_register},
        {"readonly", &config->without_readonly},
        {"alignment", &config->without_alignment},
        {"protection", &config->without_protection},
    };
    char copy[256], *rest = copy;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *word; (word = strsep(&rest, ",")) != NULL;) {
        bool known = *word == 0;
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            if (strcmp(word, parts[i].name) == 0)
                known = *parts[i].flag = true;
        if (!known)
            refuse("SIMCUDA_WITHOUT", text);
    }
}

void config_read(Config *config) {
    const char *name = getenv("SIMCUDA_NAME");
    config->devices = (int)number("SIMCUDA_DEVICES", 2);
    if (config->devices > MAX_DEVICES)
        refuse("SIMCUDA_DEVICES", getenv("SIMCUDA_DEVICES"));
    sizes("SIMCUDA_BYTES", (uint64_t)8 << 30, config->bytes);
    sizes("SIMCUDA_OTHER_BYTES", 0, config->others);
    config->version =
        (int)number("SIMCUDA_DRIVER_VERSION", (uint64_t)simcuda_generation);
    config->init_error = (int)number("SIMCUDA_INIT_ERROR", 0);
    uint64_t page_unit[MAX_DEVICES];
    sizes("SIMCUDA_GRANULARITY", GRANULARITY, page_unit);
    config->page_unit = (size_t)page_unit[0];
    if (config->page_unit < 4096 || config->page_unit > GRANULARITY ||
        (config->page_unit & (config->page_unit - 1)) != 0)
        refuse("SIMCUDA_GRANULARITY", getenv("SIMCUDA_GRANULARITY"));
    config->jitter_us = (unsigned)number("SIMCUDA_JITTER_US", 100);
    config->seed = number("SIMCUDA_SEED", 1);
    config->stale_stream =
        (CUresult)number("SIMCUDA_STALE_STREAM", CUDA_ERROR_INVALID_HANDLE);
    config->mig = number("SIMCUDA_MIG", 0) != 0;
    config->integrated = number("SIMCUDA_INTEGRATED", 0) != 0;
    snprintf(config->name, sizeof config->name, "%s",
             name != NULL ? name : "Simulated CUDA GPU");
    take_away(config);
    /* MIG instances have no peer access to each other. */
    config->without_peer = config->without_peer || config->mig;
}

/* CUDA_VISIBLE_DEVICES: numbers or prefixes of UUIDs. The first entry that
 * names no device ends the list. */
bool device_is_visible(int number_of_device, int *order) {
    const char *text = getenv("CUDA_VISIBLE_DEVICES");
    *order = number_of_device;
    if (text == NULL)
        return true;
    char copy[512], *rest = copy, uuid[16];
    snprintf(copy, sizeof copy, "%s", text);
    const char *kind = sim.config.mig ? "MIG-53494d" : "GPU-53494d";
    snprintf(uuid, sizeof uuid, "%s%02x", kind, number_of_device);
    int position = 0;
    for (char *word; (word = strsep(&rest, ",")) != NULL; position++) {
        char *end;
        long wanted = strtol(word, &end, 10);
        bool by_name = strncmp(word, kind, 10) == 0;
        *order = position;
        if (by_name ? strncmp(word, uuid, 12) == 0
                    : end != word && *end == 0 && wanted == number_of_device)
            return true;
        if (!by_name && (end == word || *end != 0 || wanted < 0 ||
                         wanted >= sim.config.devices))
            return false;
    }
    return false;
}

uint64_t next_random(uint64_t *state) {
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* --- objects --------------------------------------------------------------- */

static Object **objects;
static size_t object_count, object_room;

static const uint64_t handle_base = 0x51c0000000000u;

const char *kind_name(Kind kind) {
    static const char *const names[] = {
        "nothing",      "context", "stream",   "event", "physical memory",
        "pool",         "module",  "function", "graph", "executable graph",
        "green context"};
    return names[kind];
}

void *object_new(Kind kind, size_t size, Context *context, const char *call) {
    if (object_count == object_room) {
        object_room = object_room == 0 ? 256 : 2 * object_room;
        objects = realloc(objects, object_room * sizeof *objects);
    }
    Object *object = calloc(1, size);
    if (objects == NULL || object == NULL) {
        fprintf(stderr, "simcuda: the machine is out of memory\n");
        abort();
    }
    object->kind = kind;
    object->alive = true;
    object->handle = handle_base + object_count * 64 + (uint64_t)kind;
    object->context = context;
    object->made_by = call;
    objects[object_count++] = object;
    return object;
}

/* Also finds destroyed objects. Returns NULL for a value that never was a
 * handle. */
void *object_find(Kind kind, const void *handle) {
    uint64_t value = (uint64_t)(uintptr_t)handle - handle_base;
    if (value / 64 >= object_count || value % 64 != (uint64_t)kind)
        return NULL;
    return objects[value / 64];
}

void object_end(void *object) { ((Object *)object)->alive = false; }

/* Objects of a context end with the context. */
void objects_end_of(Context *context) {
    for (size_t i = 0; i < object_count; i++) {
        Object *object = objects[i];
        if (object->context != context || !object->alive)
            continue;
        if (object->kind == KIND_STREAM) {
            ((Stream *)object)->killed = true;
            stream_end((Stream *)object);
        }
        object_end(object);
    }
}

void objects_each(void (*visit)(Object *, void *), void *user_data) {
    for (size_t i = 0; i < object_count; i++)
        visit(objects[i], user_data);
}
