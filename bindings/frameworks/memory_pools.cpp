#include "memory_pools.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <string>

namespace ferrum_frameworks {

namespace {

using Held = std::lock_guard<std::mutex>;

bool same(ferrum_pool one, ferrum_pool other) { return one.id == other.id; }

// For a stream that captures, the query fails with INVALID_STATE.
bool captures(ferrum_stream stream, ferrum_status *status) {
    uint32_t ready = 0;
    *status = ferrum_stream_is_ready(stream, &ready);
    if (*status != FERRUM_ERROR_INVALID_STATE)
        return false;
    *status = FERRUM_OK;
    return true;
}

// Destroys a pool if it is unused. It is BUSY while a block is live or a graph is not
// released. Does not wait for work on freed blocks.
bool destroyed(ferrum_pool pool) {
    ferrum_statistics books = FERRUM_STATISTICS_INIT;
    uint64_t released = 0;
    return ferrum_pool_trim(pool, 0, &released) == FERRUM_OK &&
           ferrum_pool_get_statistics(pool, &books) == FERRUM_OK &&
           books.active.current == 0 &&
           ferrum_pool_destroy(pool, 0) == FERRUM_OK;
}

// A function of the driver that the library has loaded.
template <typename Function> Function *driver(const char *name) {
    static void *library = [] {
        const char *path = std::getenv("FERRUM_CUDA_LIBRARY");
        return dlopen(path != nullptr && *path != 0 ? path : "libcuda.so.1",
                      RTLD_NOW | RTLD_NOLOAD);
    }();
    return library == nullptr
               ? nullptr
               : reinterpret_cast<Function *>(dlsym(library, name));
}

} // namespace

void MemoryPools::open(ferrum_device device, ferrum_pool general,
                       const ferrum_pool_config &config) {
    device_ = device;
    general_ = general;
    config_ = config;
}

bool MemoryPools::is_selected(void *native) {
    if (announced_count_ == 0)
        return false;
    Held held(lock_);
    return std::any_of(
        announced_.begin(), announced_.end(),
        [native](const Announced &one) { return one.selects(native); });
}

void MemoryPools::announce(ferrum_torch_graphs name,
                           std::function<bool(void *)> selects) {
    Held held(lock_);
    // An announcement that was never ended, for example after a failed capture, ends now.
    forget(name);
    announced_.push_back({name, std::move(selects)});
    announced_count_ = static_cast<int>(announced_.size());
    uses_[name]++;
}

void MemoryPools::forget(ferrum_torch_graphs name) {
    announced_.erase(
        std::remove_if(announced_.begin(), announced_.end(),
                       [&](const Announced &one) { return one.name == name; }),
        announced_.end());
    announced_count_ = static_cast<int>(announced_.size());
}

void MemoryPools::withdraw(ferrum_torch_graphs name) {
    Held held(lock_);
    forget(name);
    end_captured();
}

// A capture that is still running is ended by a later call.
void MemoryPools::end_captured() {
    for (Captured &one : captured_)
        if (!one.ended)
            one.ended =
                ferrum_pool_capture_end(one.pool, one.graph) == FERRUM_OK;
}

void MemoryPools::release(ferrum_torch_graphs name) {
    Held held(lock_);
    auto uses = uses_.find(name);
    if (uses == uses_.end() || --uses->second > 0)
        return;
    uses_.erase(uses);
    forget(name);
    for (Captured &one : captured_)
        one.names.erase(name);
    auto own = own_.find(name);
    if (own != own_.end()) {
        released_pools_.push_back(own->second);
        own_.erase(own);
    }
}

bool MemoryPools::nothing_captures(const Streams &seen) const {
    for (const Announced &one : announced_)
        if (!one.captured)
            return false;
    for (const Captured &one : captured_)
        if (!one.ended)
            return false;
    for (ferrum_stream stream : seen) {
        ferrum_status status;
        if (captures(stream, &status))
            return false;
    }
    return true;
}

// It is unknown on which streams graphs have run, and some of these streams never
// allocated anything. So wait for all work of the context.
bool MemoryPools::wait_for_context() const {
    auto *push = driver<int(void *)>("cuCtxPushCurrent_v2");
    auto *pop = driver<int(void **)>("cuCtxPopCurrent_v2");
    auto *wait = driver<int()>("cuCtxSynchronize");
    uint64_t context = 0;
    if (push == nullptr || pop == nullptr || wait == nullptr ||
        ferrum_device_get_native(device_, &context) != FERRUM_OK ||
        push(reinterpret_cast<void *>(static_cast<uintptr_t>(context))) != 0)
        return false;
    int waited = wait();
    void *popped = nullptr;
    pop(&popped);
    return waited == 0;
}

void MemoryPools::settle(const Streams &seen) {
    Held held(lock_);
    end_captured();
    auto is_released = [](const Captured &one) { return one.names.empty(); };
    bool graphs = std::any_of(captured_.begin(), captured_.end(), is_released);
    if (graphs && nothing_captures(seen) && wait_for_context())
        captured_.remove_if([&](const Captured &one) {
            return is_released(one) &&
                   ferrum_pool_capture_release(one.pool, one.graph, {}) ==
                       FERRUM_OK;
        });
    released_pools_.erase(std::remove_if(released_pools_.begin(),
                                         released_pools_.end(), destroyed),
                          released_pools_.end());
}

ferrum_status MemoryPools::own_pool(ferrum_torch_graphs name,
                                    ferrum_pool *out) {
    auto found = own_.find(name);
    if (found != own_.end()) {
        *out = found->second;
        return FERRUM_OK;
    }
    std::string title = "framework/pool " + std::to_string(name.first) + "." +
                        std::to_string(name.second);
    ferrum_pool_config config = config_;
    config.name = title.c_str();
    ferrum_status status = ferrum_pool_create(device_, &config, out);
    if (status == FERRUM_OK)
        own_.emplace(name, *out);
    return status;
}

// Announces the capture of a stream to a pool, and keeps the graph for the name.
ferrum_status MemoryPools::capture(ferrum_pool pool, Announced &announced,
                                   ferrum_stream stream) {
    const ferrum_torch_graphs name = announced.name;
    uint64_t shared = 0, graph = 0;
    bool is_running = false;
    for (Captured &one : captured_)
        if (same(one.pool, pool) && one.names.count(name) != 0) {
            shared = one.graph;
            is_running = is_running || !one.ended;
        }
    ferrum_status status =
        ferrum_pool_capture_begin(pool, stream, shared, &graph);
    if (status == FERRUM_OK)
        captured_.push_back({pool, graph, false, {name}});
    else if (status != FERRUM_ERROR_ALREADY_EXISTS)
        return status;
    announced.captured = true;
    // The capture belongs to another name: keep its graph for both names.
    if (status == FERRUM_ERROR_ALREADY_EXISTS && !is_running)
        for (Captured &one : captured_)
            if (same(one.pool, pool) && !one.ended)
                one.names.insert(name);
    return FERRUM_OK;
}

// The pool of a stream's allocation: the latest announcement that selects the stream
// counts.
ferrum_status MemoryPools::pool_for(void *native, ferrum_stream stream,
                                    ferrum_pool *out) {
    *out = general_;
    for (size_t i = announced_.size(); i-- > 0;) {
        Announced &one = announced_[i];
        if (!one.selects(native))
            continue;
        ferrum_status status;
        if (captures(stream, &status))
            return capture(general_, one, stream);
        return status == FERRUM_OK ? own_pool(one.name, out) : status;
    }
    return FERRUM_OK;
}

ferrum_status MemoryPools::alloc(void *native, ferrum_stream stream,
                                 uint64_t size_bytes,
                                 ferrum_address *address_out) {
    Held held(lock_);
    ferrum_pool pool;
    ferrum_status status = pool_for(native, stream, &pool);
    if (status == FERRUM_OK)
        status = ferrum_pool_alloc(pool, size_bytes, stream, address_out);
    if (status == FERRUM_OK && !same(pool, general_)) {
        placed_.emplace(*address_out, pool);
        placed_count_ = static_cast<int>(placed_.size());
    }
    return status;
}

ferrum_pool MemoryPools::holder_of(ferrum_address address) {
    auto found = placed_.find(address);
    return found == placed_.end() ? general_ : found->second;
}

// A stream that captures may free a block that belongs to no graph. The pool must know of
// the capture then.
ferrum_status MemoryPools::free(void *native, ferrum_stream stream,
                                ferrum_address address) {
    Held held(lock_);
    ferrum_pool pool = holder_of(address);
    ferrum_status status = FERRUM_OK;
    for (size_t i = announced_.size(); i-- > 0;)
        if (announced_[i].selects(native)) {
            if (captures(stream, &status))
                status = capture(pool, announced_[i], stream);
            break;
        }
    if (status == FERRUM_OK)
        status = ferrum_pool_free(pool, address, stream);
    if (status == FERRUM_OK && placed_.erase(address) != 0)
        placed_count_ = static_cast<int>(placed_.size());
    return status;
}

ferrum_status MemoryPools::record_stream(ferrum_stream stream,
                                         ferrum_address address) {
    Held held(lock_);
    return ferrum_pool_record_stream(holder_of(address), address, stream);
}

} // namespace ferrum_frameworks
