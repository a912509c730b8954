#include "device_loads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alone.h"
#include "fixture.h"
#include "on_device.h"
#include "weight_files.h"

ferrum_device device;
ferrum_pool pool;
ferrum_weights weights;
char path[64];

uint64_t allocated(void) {
    ferrum_statistics s = FERRUM_STATISTICS_INIT;
    MUST(ferrum_pool_get_statistics(pool, &s));
    return s.allocated.current;
}

void begin(uint64_t big_bytes) {
    snprintf(path, sizeof path, "/tmp/ferrum-device-loads-%d.safetensors",
             (int)getpid());
    ferrum_config config = FERRUM_CONFIG_INIT;
    config.host_memory_bytes = UINT64_C(512) << 20;
    MUST(ferrum_init(&config));
    MUST(ferrum_device_open(first_device(), &device));
    MUST(ferrum_pool_create(device, NULL, &pool));
    weight_file_write(path, big_bytes);
    weights = weight_file_open(path);
}

void end(void) {
    EXPECT(allocated() == 0);
    EXPECT(weight_leaks("tensor_set") == 0);
    MUST(ferrum_weights_close(weights, 0));
    MUST(ferrum_pool_destroy(pool, 0));
    MUST(ferrum_device_close(device, 0));
    MUST(ferrum_shutdown(0));
    EXPECT(unlink(path) == 0);
}

ferrum_weights_load_request request_for(const ferrum_weights_memory *memory) {
    ferrum_weights_load_request request = FERRUM_WEIGHTS_LOAD_REQUEST_INIT;
    request.memories = memory;
    request.memory_count = 1;
    request.staging_bytes = STAGING;
    return request;
}

ferrum_tensor_set load_into(const ferrum_weights_memory *memory) {
    ferrum_weights_load_request request = request_for(memory);
    ferrum_tensor_set set;
    MUST(ferrum_weights_load(weights, &request, &set));
    MUST(ferrum_tensor_set_wait(set, FERRUM_WAIT_FOREVER));
    return set;
}

ferrum_tensor_info found(ferrum_tensor_set set, const char *name) {
    ferrum_tensor_info info = FERRUM_TENSOR_INFO_INIT;
    MUST(ferrum_tensor_set_find(set, name, &info));
    return info;
}

void check_big(uint64_t address, uint64_t size) {
    unsigned char *big = malloc(size);
    for (uint64_t i = 0; i < size; i++)
        big[i] = (unsigned char)(i % 251);
    EXPECT(has_bytes(address, big, size));
    free(big);
}

void check_tensors(ferrum_tensor_set set) {
    static const float a[6] = {0, 1, 2, 3, 4, 5};
    static const int64_t b[2] = {7, -8};
    ferrum_tensor_info info = found(set, "a");
    EXPECT(strcmp(info.device, first_device()) == 0);
    EXPECT(has_bytes(info.address, a, sizeof a));
    EXPECT(has_bytes(found(set, "b").address, b, sizeof b));
    info = found(set, "big");
    check_big(info.address, info.size_bytes);
}

ferrum_vpool make_vpool(void) {
    ferrum_vpool_config config = FERRUM_VPOOL_CONFIG_INIT;
    config.page_bytes = device_page(device);
    config.capacity_bytes = UINT64_C(128) << 20;
    config.ready_pages = 0;
    ferrum_vpool vpool;
    MUST(ferrum_vpool_create(device, &config, &vpool));
    return vpool;
}

ferrum_elastic_pool make_elastic_pool(void) {
    ferrum_elastic_pool_config config = FERRUM_ELASTIC_POOL_CONFIG_INIT;
    config.page_bytes = device_page(device);
    config.limit_bytes = UINT64_C(64) << 20;
    config.ready_pages = 0;
    ferrum_elastic_pool shared;
    MUST(ferrum_elastic_pool_create(device, &config, &shared));
    ferrum_model_config model = FERRUM_MODEL_CONFIG_INIT;
    model.virtual_bytes = UINT64_C(128) << 20;
    MUST(ferrum_elastic_pool_register_model(shared, "chat", &model));
    return shared;
}
