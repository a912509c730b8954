/*
 * A program that uses an installed ferrum_mem. It checks that the header and
 * the library that it found have the same version, and that the library works.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <ferrum_mem.h>

static int failed(const char *what) {
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    (void)ferrum_last_error(&error);
    fprintf(stderr, "%s: %s: %s\n", what, ferrum_status_name(error.status),
            error.message);
    return 1;
}

/* The helper program that queries the vendor libraries is installed with the
 * library. The library must find and start it there. */
static int finds_its_helper(void) {
    static char backends[1 << 16];
    size_t length;
    if (ferrum_backends_json(backends, sizeof backends, &length) != FERRUM_OK)
        return !failed("ferrum_backends_json");
    if (strstr(backends, "\"cuda\"") == NULL ||
        strstr(backends, "\"helper_unavailable\"") != NULL) {
        fprintf(stderr, "vendors were not asked: %s\n", backends);
        return 0;
    }
    return 1;
}

int main(void) {
    char version[32];
    ferrum_config config = FERRUM_CONFIG_INIT;
    ferrum_device device;
    ferrum_pool pool;
    ferrum_address address;
    const ferrum_stream default_stream = {0};

    (void)snprintf(version, sizeof version, "%d.%d.%d", FERRUM_VERSION_MAJOR,
                   FERRUM_VERSION_MINOR, FERRUM_VERSION_PATCH);
    if (strcmp(version, ferrum_version_string()) != 0) {
        fprintf(stderr, "header %s, library %s\n", version,
                ferrum_version_string());
        return 1;
    }
    config.host_memory_bytes = UINT64_C(64) << 20;
    if (ferrum_init(&config) != FERRUM_OK)
        return failed("ferrum_init");
    if (!finds_its_helper())
        return 1;
    if (ferrum_device_open("cpu:0", &device) != FERRUM_OK)
        return failed("ferrum_device_open");
    if (ferrum_pool_create(device, NULL, &pool) != FERRUM_OK)
        return failed("ferrum_pool_create");
    if (ferrum_pool_alloc(pool, 4096, default_stream, &address) != FERRUM_OK)
        return failed("ferrum_pool_alloc");
    memset((void *)(uintptr_t)address, 7, 4096);
    if (ferrum_pool_free(pool, address, default_stream) != FERRUM_OK)
        return failed("ferrum_pool_free");
    if (ferrum_pool_destroy(pool, 0) != FERRUM_OK)
        return failed("ferrum_pool_destroy");
    if (ferrum_device_close(device, 0) != FERRUM_OK)
        return failed("ferrum_device_close");
    if (ferrum_shutdown(0) != FERRUM_OK)
        return failed("ferrum_shutdown");
    printf("ferrum_mem %s, ABI %" PRIu32 "\n", version, ferrum_abi_version());
    return 0;
}
