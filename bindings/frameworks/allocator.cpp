#include "memory_pools.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

namespace {

constexpr int devices_max = 64;
// Both frameworks expect this alignment from their own allocators.
constexpr uint64_t alignment_bytes = 512;
// The handle of CUDA's legacy default stream. Frameworks pass 0 for it.
constexpr uint64_t legacy_stream = 1;
// The handle of the default stream of the calling thread.
constexpr uint64_t per_thread_stream = 2;

struct Device {
    std::once_flag once;
    std::atomic<bool> made{false};
    ferrum_status status = FERRUM_OK;
    std::string message;
    ferrum_device handle = {};
    ferrum_pool pool = {};
    std::shared_mutex lock;
    std::unordered_map<uint64_t, ferrum_stream> streams;
    ferrum_stream idle = {}; // no work is ever queued there
    ferrum_frameworks::MemoryPools pools;
};

Device devices[devices_max];

std::string last_message() {
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    ferrum_last_error(&error);
    return std::string(ferrum_status_name(error.status)) + ": " + error.message;
}

void make(Device &device, int ordinal) {
    const std::string id = "cuda:" + std::to_string(ordinal);
    ferrum_pool_config config = FERRUM_POOL_CONFIG_INIT;
    config.alignment_bytes = alignment_bytes;
    config.name = "framework";
    // Never shut down: the frameworks free memory until the process ends.
    device.status = ferrum_init(nullptr);
    if (device.status == FERRUM_OK)
        device.status = ferrum_device_open(id.c_str(), &device.handle);
    if (device.status == FERRUM_OK)
        device.status =
            ferrum_pool_create(device.handle, &config, &device.pool);
    if (device.status != FERRUM_OK)
        device.message = last_message();
    else
        device.pools.open(device.handle, device.pool, config);
    device.made = device.status == FERRUM_OK;
}

Device *find(int ordinal) {
    if (ordinal < 0 || ordinal >= devices_max)
        return nullptr;
    Device &device = devices[ordinal];
    std::call_once(device.once, make, std::ref(device), ordinal);
    return &device;
}

// The stream whose order protects freed memory. It is never destroyed, because frameworks
// reuse their streams.
ferrum_status stream_of(Device &device, void *native, ferrum_stream *out) {
    uint64_t key = reinterpret_cast<uintptr_t>(native);
    // The legacy stream waits for the work of every thread's stream.
    if (key == 0 || key == per_thread_stream)
        key = legacy_stream;
    {
        std::shared_lock<std::shared_mutex> reading(device.lock);
        auto found = device.streams.find(key);
        if (found != device.streams.end()) {
            *out = found->second;
            return FERRUM_OK;
        }
    }
    std::unique_lock<std::shared_mutex> writing(device.lock);
    auto found = device.streams.find(key);
    if (found != device.streams.end()) {
        *out = found->second;
        return FERRUM_OK;
    }
    ferrum_foreign_stream foreign = FERRUM_FOREIGN_STREAM_INIT;
    foreign.native_handle = key;
    ferrum_status status = ferrum_stream_adopt(device.handle, &foreign, out);
    if (status == FERRUM_OK)
        device.streams.emplace(key, *out);
    return status;
}

// The stream of an allocation. The default streams of threads share one handle, so memory
// that one thread freed must not be reused by another at once. Their allocations use a
// separate stream that is always idle. On it memory is reused only after the work that
// the legacy stream waited for at the free.
ferrum_status stream_for(Device &device, void *native, ferrum_stream *out) {
    if (reinterpret_cast<uintptr_t>(native) != per_thread_stream)
        return stream_of(device, native, out);
    {
        std::shared_lock<std::shared_mutex> reading(device.lock);
        *out = device.idle;
    }
    if (out->id != 0)
        return FERRUM_OK;
    std::unique_lock<std::shared_mutex> writing(device.lock);
    ferrum_status status = FERRUM_OK;
    if (device.idle.id == 0)
        status = ferrum_stream_create(device.handle, &device.idle);
    *out = device.idle;
    return status;
}

// CuPy passes 0 for its default stream in both modes. CuPy reads the variable when it is
// imported.
void *cupy_stream(void *native) {
    static const bool per_thread = [] {
        const char *mode = std::getenv("CUPY_CUDA_PER_THREAD_DEFAULT_STREAM");
        return mode != nullptr && std::atoi(mode) != 0;
    }();
    return native == nullptr && per_thread
               ? reinterpret_cast<void *>(uintptr_t(per_thread_stream))
               : native;
}

// All known streams. Called while no lock of the pools is held.
ferrum_frameworks::MemoryPools::Streams seen(Device &device) {
    std::shared_lock<std::shared_mutex> reading(device.lock);
    ferrum_frameworks::MemoryPools::Streams all;
    for (const auto &one : device.streams)
        all.push_back(one.second);
    return all;
}

void settle(Device &device) { device.pools.settle(seen(device)); }

ferrum_status allocate_on(Device &device, void *native, ferrum_stream stream,
                          size_t size_bytes, ferrum_address *address) {
    if (device.pools.unused())
        return ferrum_pool_alloc(device.pool, size_bytes, stream, address);
    return device.pools.alloc(native, stream, size_bytes, address);
}

void *allocate(size_t size_bytes, int ordinal, void *native) {
    if (size_bytes == 0)
        return nullptr;
    Device *device = find(ordinal);
    if (device == nullptr)
        throw std::runtime_error("ferrum_mem: there is no device cuda:" +
                                 std::to_string(ordinal));
    if (device->status != FERRUM_OK)
        throw std::runtime_error("ferrum_mem: " + device->message);
    ferrum_stream stream;
    ferrum_address address;
    // The memory of a graph needs the capture of its stream, and the idle stream does not
    // capture.
    if (reinterpret_cast<uintptr_t>(native) == per_thread_stream &&
        device->pools.is_selected(native))
        throw std::runtime_error(
            "ferrum_mem: the per-thread default stream supports no "
            "memory pools and graphs: use another stream");
    ferrum_status status = stream_for(*device, native, &stream);
    if (status == FERRUM_OK)
        status = allocate_on(*device, native, stream, size_bytes, &address);
    if (status == FERRUM_ERROR_OUT_OF_MEMORY) {
        // Free the memory of released graphs, and try again.
        settle(*device);
        status = allocate_on(*device, native, stream, size_bytes, &address);
    }
    if (status != FERRUM_OK)
        throw std::runtime_error("ferrum_mem: " + last_message());
    return reinterpret_cast<void *>(static_cast<uintptr_t>(address));
}

ferrum_status deallocate_on(Device &device, void *native,
                            ferrum_address address) {
    ferrum_stream stream;
    ferrum_status status = stream_of(device, native, &stream);
    if (status != FERRUM_OK)
        return status;
    // The memory that a graph uses is freed with the release of the graph.
    return device.pools.unused()
               ? ferrum_pool_free(device.pool, address, stream)
               : device.pools.free(native, stream, address);
}

ferrum_status record_on(Device &device, ferrum_address address,
                        ferrum_stream stream) {
    return device.pools.unused()
               ? ferrum_pool_record_stream(device.pool, address, stream)
               : device.pools.record_stream(stream, address);
}

// A free cannot throw, because destructors call it. It reports errors on stderr.
void deallocate(void *address, int ordinal, void *native) noexcept {
    if (address == nullptr)
        return;
    std::string why;
    try {
        Device *device = find(ordinal);
        if (device == nullptr)
            why = "there is no device cuda:" + std::to_string(ordinal);
        else if (device->status != FERRUM_OK)
            why = device->message;
        else if (deallocate_on(*device, native,
                               reinterpret_cast<uintptr_t>(address)) !=
                 FERRUM_OK)
            why = last_message();
    } catch (const std::exception &problem) {
        why = problem.what();
    } catch (...) {
        why = "the framework did not report the capture of its stream";
    }
    if (!why.empty())
        std::fprintf(stderr, "ferrum_mem: %p was not freed: %s\n", address,
                     why.c_str());
}

} // namespace

void *ferrum_torch_alloc(ptrdiff_t size_bytes, int device, void *stream) {
    if (size_bytes < 0)
        throw std::runtime_error("ferrum_mem: size_bytes is negative: " +
                                 std::to_string(size_bytes));
    return allocate(static_cast<size_t>(size_bytes), device, stream);
}

void ferrum_torch_free(void *address, ptrdiff_t, int device, void *stream) {
    deallocate(address, device, stream);
}

// The call does not state the device of the address; only the pool of that device knows
// it.
void ferrum_torch_record_stream(void *address, void *native) {
    if (address == nullptr)
        return;
    for (Device &device : devices) {
        ferrum_stream stream;
        if (device.made && stream_of(device, native, &stream) == FERRUM_OK &&
            record_on(device, reinterpret_cast<uintptr_t>(address), stream) ==
                FERRUM_OK)
            return;
    }
    throw std::runtime_error("ferrum_mem: record_stream: " + last_message());
}

void ferrum_torch_reset(void) {
    uint64_t released_bytes;
    for (Device &device : devices)
        if (device.made) {
            settle(device);
            ferrum_pool_trim(device.pool, 0, &released_bytes);
        }
}

void ferrum_torch_begin_graph(int ordinal, ferrum_torch_graphs graphs,
                              std::function<bool(void *)> selects) {
    Device *device = find(ordinal);
    if (device != nullptr && device->status == FERRUM_OK)
        device->pools.announce(graphs, std::move(selects));
}

void ferrum_torch_end_graph(int ordinal, ferrum_torch_graphs graphs) {
    Device *device = find(ordinal);
    if (device == nullptr || device->status != FERRUM_OK)
        return;
    device->pools.withdraw(graphs);
    settle(*device);
}

void ferrum_torch_release_graphs(int ordinal, ferrum_torch_graphs graphs) {
    Device *device = find(ordinal);
    if (device == nullptr || device->status != FERRUM_OK)
        return;
    device->pools.release(graphs);
    settle(*device);
}

void *ferrum_cupy_malloc(void *stream, size_t size_bytes, int device) {
    return allocate(size_bytes, device, cupy_stream(stream));
}

void ferrum_cupy_free(void *stream, void *address, int device) {
    deallocate(address, device, cupy_stream(stream));
}

ferrum_status ferrum_allocator_pool(int device, ferrum_pool *pool_out) {
    Device *found = find(device);
    if (found == nullptr || pool_out == nullptr)
        return FERRUM_ERROR_INVALID_ARGUMENT;
    if (found->status == FERRUM_OK)
        *pool_out = found->pool;
    return found->status;
}

ferrum_status ferrum_allocator_trim(int device, uint64_t *released_bytes_out) {
    ferrum_pool pool;
    ferrum_status status = ferrum_allocator_pool(device, &pool);
    if (status != FERRUM_OK)
        return status;
    settle(devices[device]);
    return ferrum_pool_trim(pool, 0, released_bytes_out);
}
