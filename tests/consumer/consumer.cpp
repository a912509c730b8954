// The same from C++11. The header is also valid C++. Exceptions may pass
// through the callers of the library, because the library keeps none of their
// resources.
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <string>

#include <ferrum_mem.h>

static void check(ferrum_status status, const char *what) {
    if (status == FERRUM_OK)
        return;
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    ferrum_last_error(&error);
    throw std::runtime_error(std::string(what) + ": " + error.message);
}

int main() try {
    ferrum_config config = FERRUM_CONFIG_INIT;
    config.host_memory_bytes = UINT64_C(64) << 20;
    check(ferrum_init(&config), "ferrum_init");

    ferrum_device device;
    ferrum_manager manager;
    ferrum_memory memory;
    check(ferrum_device_open("cpu:0", &device), "ferrum_device_open");
    check(ferrum_manager_create(device, nullptr, &manager),
          "ferrum_manager_create");
    check(ferrum_manager_alloc(manager, 16, &memory), "ferrum_manager_alloc");

    const char sent[16] = "through a block";
    char received[16] = "";
    check(ferrum_memory_write(memory, 0, sent, sizeof sent),
          "ferrum_memory_write");
    check(ferrum_memory_read(memory, 0, received, sizeof received),
          "ferrum_memory_read");
    if (std::memcmp(sent, received, sizeof sent) != 0)
        throw std::runtime_error("the block returned other bytes");

    check(ferrum_memory_free(memory), "ferrum_memory_free");
    check(ferrum_manager_destroy(manager, 0), "ferrum_manager_destroy");
    check(ferrum_device_close(device, 0), "ferrum_device_close");
    check(ferrum_shutdown(0), "ferrum_shutdown");
    std::cout << "ferrum_mem " << ferrum_version_string() << " from C++\n";
    return 0;
} catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return 1;
}
