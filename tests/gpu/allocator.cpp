// The allocator of PyTorch and CuPy, called as these frameworks call it, with
// streams and a context that the caller created.
#include "../../bindings/frameworks/ferrum_mem_allocator.h"

#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "driver.h"

namespace {

int ordinal;
CUcontext context;

CUdeviceptr address_of(void *memory) {
    return static_cast<CUdeviceptr>(reinterpret_cast<uintptr_t>(memory));
}

CUstream make_stream() {
    CUstream stream = nullptr;
    CUDA_OK(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

// Returns what a call writes to stderr. Otherwise the parts would report that
// text as a failure.
template <typename Call> std::string said_by(Call call) {
    char text[512] = {};
    FILE *file = std::tmpfile();
    int before = dup(STDERR_FILENO);
    CHECK(file != nullptr && before >= 0);
    dup2(fileno(file), STDERR_FILENO);
    call();
    dup2(before, STDERR_FILENO);
    close(before);
    std::rewind(file);
    size_t length = std::fread(text, 1, sizeof text - 1, file);
    std::fclose(file);
    return std::string(text, length);
}

ferrum_pool pool() {
    ferrum_pool found = {};
    OK(ferrum_allocator_pool(ordinal, &found));
    return found;
}

void memory_holds_bytes() {
    const size_t size = 3 << 20;
    std::vector<unsigned char> from(size), to(size);
    for (size_t i = 0; i < size; i++)
        from[i] = static_cast<unsigned char>(i * 31 >> 3);
    void *memory = ferrum_torch_alloc(size, ordinal, nullptr);
    CHECK(address_of(memory) % 512 == 0);
    CUDA_OK(CU(cuMemcpyHtoD)(address_of(memory), from.data(), size));
    CUDA_OK(CU(cuMemcpyDtoH)(to.data(), address_of(memory), size));
    CHECK(from == to);
    ferrum_torch_free(memory, size, ordinal, nullptr);
    CHECK(ferrum_torch_alloc(0, ordinal, nullptr) == nullptr);
    ferrum_torch_free(nullptr, 0, ordinal, nullptr);
}

// Memory is freed while queued work uses it. Its own stream can allocate it at
// once. Another stream gets it only after that work.
void freed_under_work() {
    gate held = GATE;
    CUstream one = make_stream(), two = make_stream();
    const size_t size = 1 << 20;
    unsigned char byte = 0;
    void *a = ferrum_torch_alloc(size, ordinal, one);
    CUDA_OK(CU(cuLaunchHostFunc)(one, gate_wait, &held));
    CUDA_OK(CU(cuMemsetD8Async)(address_of(a), 1, size, one));
    ferrum_torch_free(a, size, ordinal, one);
    void *b = ferrum_torch_alloc(size, ordinal, two);
    CHECK(a != b);
    CUDA_OK(CU(cuMemsetD8Async)(address_of(b), 2, size, two));
    void *c = ferrum_torch_alloc(size, ordinal, one);
    CHECK(c == a);
    gate_open(&held);
    CUDA_OK(CU(cuStreamSynchronize)(one));
    CUDA_OK(CU(cuStreamSynchronize)(two));
    CUDA_OK(CU(cuMemcpyDtoH)(&byte, address_of(b) + size - 1, 1));
    CHECK(byte == 2);
    ferrum_torch_free(b, size, ordinal, two);
    ferrum_torch_free(c, size, ordinal, one);
}

// A free also waits for a recorded stream. Until that stream has completed its
// work, even the stream of the memory cannot allocate the memory again.
void recorded_streams() {
    gate held = GATE;
    CUstream one = make_stream(), two = make_stream();
    const size_t size = 1 << 20;
    void *a = ferrum_torch_alloc(size, ordinal, one);
    ferrum_torch_record_stream(a, two);
    CUDA_OK(CU(cuLaunchHostFunc)(two, gate_wait, &held));
    ferrum_torch_free(a, size, ordinal, one);
    void *b = ferrum_torch_alloc(size, ordinal, one);
    CHECK(a != b);
    gate_open(&held);
    CUDA_OK(CU(cuStreamSynchronize)(two));
    ferrum_torch_free(b, size, ordinal, one);
    bool refused = false;
    try {
        ferrum_torch_record_stream(reinterpret_cast<void *>(0x1000), one);
    } catch (const std::runtime_error &) {
        refused = true;
    }
    CHECK(refused);
}

void the_cache_can_be_emptied() {
    ferrum_pool_info info = FERRUM_POOL_INFO_INIT;
    uint64_t released = 0;
    void *memory = ferrum_torch_alloc(64 << 20, ordinal, nullptr);
    ferrum_torch_free(memory, 64 << 20, ordinal, nullptr);
    CUDA_OK(CU(cuCtxSynchronize)());
    // The pool's own thread may release pages at the same time, and trim does
    // not count those. So repeat until no page is held.
    const double deadline = now_seconds() + 20;
    do {
        OK(ferrum_allocator_trim(ordinal, &released));
        OK(ferrum_pool_get_info(pool(), &info));
    } while (info.held_bytes != 0 && now_seconds() < deadline);
    CHECK(info.held_bytes == 0);
    ferrum_torch_reset();
}

std::string message_of(ptrdiff_t size, int device) {
    try {
        ferrum_torch_alloc(size, device, nullptr);
    } catch (const std::runtime_error &error) {
        return error.what();
    }
    return "";
}

void failed_allocations_throw() {
    CHECK(message_of(ptrdiff_t(1) << 60, ordinal).find("OUT_OF_MEMORY") !=
          std::string::npos);
    CHECK(message_of(16, 63).find("DEVICE_NOT_FOUND") != std::string::npos);
    CHECK(message_of(16, -1).find("no device") != std::string::npos);
    CHECK(message_of(16, 64).find("no device") != std::string::npos);
    CHECK(message_of(-1, ordinal).find("negative") != std::string::npos);
    ferrum_pool none;
    GIVES(FERRUM_ERROR_INVALID_ARGUMENT, ferrum_allocator_pool(-1, &none));
    GIVES(FERRUM_ERROR_INVALID_ARGUMENT,
          ferrum_allocator_pool(ordinal, nullptr));
}

void as_cupy_calls_it() {
    CUstream stream = make_stream();
    unsigned char byte = 0;
    void *memory = ferrum_cupy_malloc(stream, 1000, ordinal);
    CUDA_OK(CU(cuMemsetD8Async)(address_of(memory), 9, 1000, stream));
    CUDA_OK(CU(cuMemcpyDtoHAsync)(&byte, address_of(memory) + 999, 1, stream));
    CUDA_OK(CU(cuStreamSynchronize)(stream));
    CHECK(byte == 9);
    ferrum_cupy_free(stream, memory, ordinal);
    memory = ferrum_cupy_malloc(nullptr, 1000, ordinal);
    ferrum_cupy_free(nullptr, memory, ordinal);
}

// Each thread fills its blocks with its own byte, on its own stream.
void busy(unsigned number) {
    if (CU(cuCtxSetCurrent)(context) != CUDA_SUCCESS)
        abort();
    struct Block {
        void *memory;
        size_t size;
    };
    std::vector<Block> blocks;
    CUstream stream = nullptr;
    if (CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
        abort();
    unsigned state = number;
    for (int i = 0; i < 400; i++) {
        state = state * 1664525u + 1013904223u;
        if (blocks.size() > 20 || (!blocks.empty() && (state >> 16) % 2 == 0)) {
            size_t at = (state >> 8) % blocks.size();
            unsigned char byte = 0;
            Block block = blocks[at];
            CU(cuMemcpyDtoHAsync)(
                &byte, address_of(block.memory) + block.size - 1, 1, stream);
            CU(cuStreamSynchronize)(stream);
            if (byte != number)
                abort();
            ferrum_torch_free(block.memory, (ptrdiff_t)block.size, ordinal,
                              stream);
            blocks.erase(blocks.begin() + (ptrdiff_t)at);
            continue;
        }
        size_t size = 1 + (state >> 4) % 200000;
        void *memory = ferrum_torch_alloc((ptrdiff_t)size, ordinal, stream);
        if (CU(cuMemsetD8Async)(address_of(memory), (unsigned char)number, size,
                                stream) != CUDA_SUCCESS)
            abort();
        blocks.push_back({memory, size});
    }
    for (const Block &block : blocks)
        ferrum_torch_free(block.memory, (ptrdiff_t)block.size, ordinal, stream);
    CU(cuStreamSynchronize)(stream);
}

// Handle 2 names another stream in each thread. One thread queues work on the
// memory, and another thread frees it. A third thread gets this memory only
// after that work.
void streams_of_threads() {
    static gate held = GATE;
    static void *const per_thread = reinterpret_cast<void *>(uintptr_t(2));
    const size_t size = 1 << 20;
    static void *a, *b;
    unsigned char byte = 0;
    const auto on_thread = [](void (*run)()) {
        std::thread([run] {
            if (CU(cuCtxSetCurrent)(context) != CUDA_SUCCESS)
                abort();
            run();
        }).join();
    };
    a = ferrum_cupy_malloc(per_thread, size, ordinal);
    on_thread([] {
        CUDA_OK(CU(cuLaunchHostFunc)(CU_STREAM_PER_THREAD, gate_wait, &held));
        CUDA_OK(
            CU(cuMemsetD8Async)(address_of(a), 1, size, CU_STREAM_PER_THREAD));
    });
    on_thread([] { ferrum_cupy_free(per_thread, a, ordinal); });
    on_thread([] {
        b = ferrum_cupy_malloc(per_thread, size, ordinal);
        CUDA_OK(
            CU(cuMemsetD8Async)(address_of(b), 2, size, CU_STREAM_PER_THREAD));
    });
    CHECK(a != b);
    gate_open(&held);
    CUDA_OK(CU(cuCtxSynchronize)());
    CUDA_OK(CU(cuMemcpyDtoH)(&byte, address_of(b) + size - 1, 1));
    CHECK(byte == 2);
    ferrum_torch_record_stream(b, per_thread);
    ferrum_cupy_free(per_thread, b, ordinal);
    // The memory is released.
    CUDA_OK(CU(cuCtxSynchronize)());
    uint64_t released = 0;
    OK(ferrum_allocator_trim(ordinal, &released));
    CHECK(released >= size);
}

// A graph cannot have memory of its own on a per-thread stream. The error says
// so.
void a_thread_that_captures() {
    const ferrum_torch_graphs graphs = {0, 2};
    bool refused = false;
    ferrum_torch_begin_graph(ordinal, graphs, [](void *) { return true; });
    try {
        ferrum_torch_alloc(1 << 20, ordinal,
                           reinterpret_cast<void *>(uintptr_t(2)));
    } catch (const std::runtime_error &error) {
        refused =
            std::string(error.what()).find("per-thread") != std::string::npos;
    }
    CHECK(refused);
    ferrum_torch_end_graph(ordinal, graphs);
    ferrum_torch_release_graphs(ordinal, graphs);
}

void several_threads() {
    std::vector<std::thread> threads;
    for (unsigned i = 1; i <= 4; i++)
        threads.emplace_back(busy, i);
    for (std::thread &thread : threads)
        thread.join();
}

// Memory that a stream allocates during a capture belongs to the graph. The
// graph can use it each time that it runs, whatever was allocated since.
void memory_of_a_graph() {
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    CUstream stream = make_stream();
    const size_t size = 1 << 20;
    unsigned char byte = 0;
    CUdeviceptr result;
    CUDA_OK(CU(cuMemAlloc)(&result, size));
    // PyTorch makes the calls in this order.
    const ferrum_torch_graphs graphs = {0, 1};
    ferrum_torch_begin_graph(ordinal, graphs,
                             [stream](void *one) { return one == stream; });
    CUDA_OK(CU(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    void *a = ferrum_torch_alloc(size, ordinal, stream);
    CUDA_OK(CU(cuMemsetD8Async)(address_of(a), 5, size, stream));
    CUDA_OK(CU(cuMemcpyDtoDAsync)(result, address_of(a), size, stream));
    ferrum_torch_free(a, size, ordinal, stream);
    CUDA_OK(CU(cuStreamEndCapture)(stream, &graph));
    ferrum_torch_end_graph(ordinal, graphs);
    CUDA_OK(CU(cuGraphInstantiateWithFlags)(&exec, graph, 0));
    void *b = ferrum_torch_alloc(size, ordinal, stream);
    CHECK(a != b);
    CUDA_OK(CU(cuMemsetD8Async)(address_of(b), 6, size, stream));
    CUDA_OK(CU(cuGraphLaunch)(exec, stream));
    CUDA_OK(CU(cuMemcpyDtoHAsync)(&byte, result, 1, stream));
    CUDA_OK(CU(cuStreamSynchronize)(stream));
    CHECK(byte == 5);
    CUDA_OK(CU(cuMemcpyDtoH)(&byte, address_of(b), 1));
    CHECK(byte == 6);
    ferrum_torch_free(b, size, ordinal, stream);
    CUDA_OK(CU(cuGraphExecDestroy)(exec));
    CUDA_OK(CU(cuGraphDestroy)(graph));
    CUDA_OK(CU(cuMemFree)(result));
    uint64_t released = 0;
    ferrum_torch_release_graphs(ordinal, graphs);
    ferrum_torch_release_graphs(ordinal, graphs);
    OK(ferrum_allocator_trim(ordinal, &released));
    ferrum_statistics books = FERRUM_STATISTICS_INIT;
    OK(ferrum_pool_get_statistics(pool(), &books));
    CHECK(books.live_blocks.current == 0);
}

bool streams_capture() {
    ferrum_device device = {};
    ferrum_device_info info = FERRUM_DEVICE_INFO_INIT;
    OK(ferrum_device_open(device_id(), &device));
    OK(ferrum_device_get_info(device, &info));
    return (info.capabilities & FERRUM_CAPABILITY_CAPTURE) != 0;
}

// The number of graphs for which the pool of the device keeps memory.
int graphs_kept() {
    int kept = 0;
    for (uint64_t number = 1; number < 100; number++) {
        ferrum_graph_info info = FERRUM_GRAPH_INFO_INIT;
        kept +=
            ferrum_pool_capture_get_info(pool(), number, &info) == FERRUM_OK;
    }
    return kept;
}

const size_t part = 1 << 20;

// A graph that fills memory of its own and copies it to result. It is captured
// as PyTorch does it.
struct Work {
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    void capture(ferrum_torch_graphs name, CUstream stream, CUdeviceptr result,
                 unsigned char byte) {
        ferrum_torch_begin_graph(ordinal, name,
                                 [stream](void *one) { return one == stream; });
        CUDA_OK(
            CU(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        void *a = ferrum_torch_alloc(part, ordinal, stream);
        CUDA_OK(CU(cuMemsetD8Async)(address_of(a), byte, part, stream));
        CUDA_OK(CU(cuMemcpyDtoDAsync)(result, address_of(a), part, stream));
        ferrum_torch_free(a, part, ordinal, stream);
        CUDA_OK(CU(cuStreamEndCapture)(stream, &graph));
        ferrum_torch_end_graph(ordinal, name);
        instantiate();
    }
    void instantiate() {
        CUDA_OK(CU(cuGraphInstantiateWithFlags)(&exec, graph, 0));
    }
    void end() {
        CUDA_OK(CU(cuGraphExecDestroy)(exec));
        CUDA_OK(CU(cuGraphDestroy)(graph));
    }
};

CUdeviceptr make_result() {
    CUdeviceptr result = 0;
    CUDA_OK(CU(cuMemAlloc)(&result, part));
    CUDA_OK(CU(cuMemsetD8)(result, 0, part));
    return result;
}

bool idle(CUstream stream) { return CU(cuStreamQuery)(stream) == CUDA_SUCCESS; }

// A graph runs on a stream that never allocated memory. The memory that it uses
// is kept until its work has completed, also memory that was freed during the
// capture.
void released_under_work() {
    static gate held = GATE, gone = GATE;
    CUstream stream = make_stream(), unseen = make_stream();
    Work work;
    void *a = ferrum_torch_alloc(part, ordinal, stream);
    ferrum_torch_begin_graph(ordinal, {0, 2},
                             [stream](void *one) { return one == stream; });
    CUDA_OK(CU(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CUDA_OK(CU(cuMemsetD8Async)(address_of(a), 5, part, stream));
    ferrum_torch_free(a, part, ordinal, stream);
    CUDA_OK(CU(cuStreamEndCapture)(stream, &work.graph));
    ferrum_torch_end_graph(ordinal, {0, 2});
    work.instantiate();
    const int kept = graphs_kept();
    CUDA_OK(CU(cuLaunchHostFunc)(unseen, gate_wait, &held));
    CUDA_OK(CU(cuGraphLaunch)(work.exec, unseen));
    // The release must wait for the work. This thread lets the work complete
    // after one second. A release that does not wait returns earlier, and the
    // checks fail.
    std::thread opener([] {
        timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 1;
        pthread_mutex_lock(&gone.mutex);
        while (!gone.open &&
               pthread_cond_timedwait(&gone.changed, &gone.mutex, &until) == 0)
            continue;
        pthread_mutex_unlock(&gone.mutex);
        gate_open(&held);
    });
    ferrum_torch_release_graphs(ordinal, {0, 2});
    CHECK(idle(unseen));
    CHECK(graphs_kept() == kept - 1);
    gate_open(&gone);
    opener.join();
    CUDA_OK(CU(cuStreamSynchronize)(unseen));
    work.end();
}

// A graph is released while a stream captures. Its memory is kept until no
// stream captures, and the capture stays active.
void released_beside_a_capture() {
    CUstream stream = make_stream(), other = make_stream();
    CUdeviceptr result = make_result();
    CUgraph graph = nullptr;
    Work work;
    work.capture({0, 3}, stream, result, 5);
    const int kept = graphs_kept();
    ferrum_torch_free(ferrum_torch_alloc(part, ordinal, other), part, ordinal,
                      other);
    CUDA_OK(CU(cuStreamSynchronize)(other));
    CUDA_OK(CU(cuStreamBeginCapture)(other, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ferrum_torch_release_graphs(ordinal, {0, 3});
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUDA_OK(CU(cuStreamIsCapturing)(other, &status));
    CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CHECK(graphs_kept() == kept);
    CUDA_OK(CU(cuStreamEndCapture)(other, &graph));
    // A capture that was announced may begin at any moment.
    ferrum_torch_begin_graph(ordinal, {0, 4}, [](void *) { return false; });
    ferrum_torch_reset();
    CHECK(graphs_kept() == kept);
    ferrum_torch_end_graph(ordinal, {0, 4});
    CHECK(graphs_kept() == kept - 1);
    ferrum_torch_release_graphs(ordinal, {0, 4});
    CUDA_OK(CU(cuGraphDestroy)(graph));
    work.end();
    CUDA_OK(CU(cuMemFree)(result));
}

// A wait that fails proves nothing about the work, so a later call releases the
// graph.
void released_after_a_failure() {
    const char *path = getenv("FERRUM_CUDA_LIBRARY");
    void *library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW);
    void *symbol =
        library == nullptr ? nullptr : dlsym(library, "simcuda_fault");
    if (symbol == nullptr) {
        check_skip("calls of a real driver are not made to fail");
        return;
    }
    auto fault =
        reinterpret_cast<int (*)(const char *, unsigned long, int)>(symbol);
    CUstream stream = make_stream();
    CUdeviceptr result = make_result();
    Work work;
    work.capture({0, 12}, stream, result, 5);
    const int kept = graphs_kept();
    CHECK(fault("cuCtxSynchronize", 1, CUDA_ERROR_OUT_OF_MEMORY) == 0);
    ferrum_torch_release_graphs(ordinal, {0, 12});
    CHECK(graphs_kept() == kept);
    CHECK(fault("cuStreamQuery", 1, CUDA_ERROR_OUT_OF_MEMORY) == 0);
    uint64_t released = 0;
    OK(ferrum_allocator_trim(ordinal, &released));
    OK(ferrum_allocator_trim(ordinal, &released));
    CHECK(graphs_kept() == kept - 1);
    work.end();
    CUDA_OK(CU(cuMemFree)(result));
}

// Two graphs share one pool. The pool is released with the last of them.
void graphs_of_one_pool() {
    CUstream stream = make_stream();
    CUdeviceptr result = make_result();
    unsigned char byte = 0;
    const int kept = graphs_kept();
    Work first, second;
    first.capture({0, 5}, stream, result, 5);
    second.capture({0, 5}, stream, result, 6);
    ferrum_torch_release_graphs(ordinal, {0, 5});
    first.end();
    CHECK(graphs_kept() == kept + 2);
    void *other = ferrum_torch_alloc(part, ordinal, stream);
    CUDA_OK(CU(cuMemsetD8Async)(address_of(other), 9, part, stream));
    CUDA_OK(CU(cuGraphLaunch)(second.exec, stream));
    CUDA_OK(CU(cuMemcpyDtoHAsync)(&byte, address_of(other), 1, stream));
    CUDA_OK(CU(cuStreamSynchronize)(stream));
    CHECK(byte == 9);
    ferrum_torch_free(other, part, ordinal, stream);
    ferrum_torch_release_graphs(ordinal, {0, 5});
    CHECK(graphs_kept() == kept);
    second.end();
    CUDA_OK(CU(cuMemFree)(result));
}

// During one capture, a pool is ended and begun again, and another pool is used
// in between. All the memory belongs to the one graph, which is kept until both
// pools are released.
void pools_within_a_capture() {
    CUstream stream = make_stream();
    CUdeviceptr result = make_result();
    unsigned char byte = 0;
    const int kept = graphs_kept();
    auto meant = [stream](void *one) { return one == stream; };
    Work work;
    ferrum_torch_begin_graph(ordinal, {0, 6}, meant);
    CUDA_OK(CU(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    void *a = ferrum_torch_alloc(part, ordinal, stream);
    CUDA_OK(CU(cuMemsetD8Async)(address_of(a), 5, part, stream));
    ferrum_torch_end_graph(ordinal, {0, 6});
    ferrum_torch_begin_graph(ordinal, {0, 7}, meant);
    void *b = ferrum_torch_alloc(part, ordinal, stream);
    CUDA_OK(CU(cuMemcpyDtoDAsync)(address_of(b), address_of(a), part, stream));
    ferrum_torch_end_graph(ordinal, {0, 7});
    ferrum_torch_begin_graph(ordinal, {0, 6}, meant);
    void *c = ferrum_torch_alloc(part, ordinal, stream);
    CUDA_OK(CU(cuMemcpyDtoDAsync)(address_of(c), address_of(b), part, stream));
    CUDA_OK(CU(cuMemcpyDtoDAsync)(result, address_of(c), part, stream));
    for (void *one : {a, b, c})
        ferrum_torch_free(one, part, ordinal, stream);
    CUDA_OK(CU(cuStreamEndCapture)(stream, &work.graph));
    ferrum_torch_end_graph(ordinal, {0, 6});
    work.instantiate();
    CHECK(graphs_kept() == kept + 1);
    ferrum_torch_release_graphs(ordinal, {0, 6});
    ferrum_torch_release_graphs(ordinal, {0, 6});
    CHECK(graphs_kept() == kept + 1);
    void *other = ferrum_torch_alloc(part, ordinal, stream);
    CHECK(other != a && other != b && other != c);
    CUDA_OK(CU(cuMemsetD8Async)(address_of(other), 9, part, stream));
    CUDA_OK(CU(cuGraphLaunch)(work.exec, stream));
    CUDA_OK(CU(cuMemcpyDtoHAsync)(&byte, result, 1, stream));
    CUDA_OK(CU(cuStreamSynchronize)(stream));
    CHECK(byte == 5);
    CUDA_OK(CU(cuMemcpyDtoH)(&byte, address_of(other), 1));
    CHECK(byte == 9);
    ferrum_torch_free(other, part, ordinal, stream);
    ferrum_torch_release_graphs(ordinal, {0, 7});
    CHECK(graphs_kept() == kept);
    work.end();
    CUDA_OK(CU(cuMemFree)(result));
}

bool of_the_general_pool(void *memory) {
    uint64_t size = 0;
    return ferrum_pool_usable_size(pool(), reinterpret_cast<uintptr_t>(memory),
                                   &size) == FERRUM_OK;
}

uint64_t reserved_bytes() {
    ferrum_statistics books = FERRUM_STATISTICS_INIT;
    ferrum_device device = {};
    OK(ferrum_device_open(device_id(), &device));
    OK(ferrum_device_get_statistics(device, &books));
    return books.reserved.current;
}

// A stream that does not capture allocates for a pool. The memory comes from
// that pool and is kept until it is freed.
void a_pool_without_a_capture() {
    CUstream stream = make_stream(), other = make_stream();
    auto meant = [stream](void *one) { return one == stream; };
    ferrum_torch_reset();
    const uint64_t before = reserved_bytes();
    ferrum_torch_begin_graph(ordinal, {1, 8}, meant);
    void *a = ferrum_torch_alloc(part, ordinal, stream);
    void *b = ferrum_torch_alloc(part, ordinal, other);
    ferrum_torch_end_graph(ordinal, {1, 8});
    void *c = ferrum_torch_alloc(part, ordinal, stream);
    CHECK(!of_the_general_pool(a));
    CHECK(of_the_general_pool(b) && of_the_general_pool(c));
    ferrum_torch_record_stream(a, other);
    // When the pool is begun again under the same name, it can reuse the
    // memory.
    ferrum_torch_begin_graph(ordinal, {1, 8}, meant);
    ferrum_torch_free(a, part, ordinal, stream);
    CUDA_OK(CU(cuStreamSynchronize)(other));
    // An allocation queries only a few events, so the first one may not find
    // that the other stream has ended its work.
    void *again = nullptr;
    std::vector<void *> others;
    for (int i = 0; i < 100 && again != a; i++) {
        again = ferrum_torch_alloc(part, ordinal, stream);
        if (again != a)
            others.push_back(again);
    }
    CHECK(again == a);
    for (void *one : others)
        ferrum_torch_free(one, part, ordinal, stream);
    ferrum_torch_end_graph(ordinal, {1, 8});
    ferrum_torch_release_graphs(ordinal, {1, 8});
    ferrum_torch_release_graphs(ordinal, {1, 8});
    CUDA_OK(CU(cuMemsetD8)(address_of(again), 1, part));
    // A stream frees the memory while it captures, so the memory is kept for
    // the graph.
    Work work;
    ferrum_torch_begin_graph(ordinal, {0, 9}, meant);
    CUDA_OK(CU(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CUDA_OK(CU(cuMemsetD8Async)(address_of(again), 3, part, stream));
    ferrum_torch_free(again, part, ordinal, stream);
    CUDA_OK(CU(cuStreamEndCapture)(stream, &work.graph));
    ferrum_torch_end_graph(ordinal, {0, 9});
    work.instantiate();
    ferrum_torch_reset();
    CUDA_OK(CU(cuGraphLaunch)(work.exec, stream));
    CUDA_OK(CU(cuStreamSynchronize)(stream));
    work.end();
    ferrum_torch_free(b, part, ordinal, other);
    ferrum_torch_free(c, part, ordinal, stream);
    ferrum_torch_release_graphs(ordinal, {0, 9});
    CUDA_OK(CU(cuCtxSynchronize)());
    // The pool's own thread may release pages at the same time, and trim does
    // not count those. So repeat until they are released.
    const double deadline = now_seconds() + 20;
    do
        ferrum_torch_reset();
    while (reserved_bytes() > before && now_seconds() < deadline);
    CHECK(reserved_bytes() <= before);
}

// If a capture cannot have a pool, the call reports an error. It must not
// return memory that other work also gets.
void unsupported_graphs_throw() {
    CUstream one = make_stream(), two = make_stream();
    CUgraph graph = nullptr;
    const int kept = graphs_kept();
    ferrum_torch_begin_graph(ordinal, {0, 10}, [=](void *stream) {
        return stream == one || stream == two;
    });
    CUDA_OK(CU(cuStreamBeginCapture)(one, CU_STREAM_CAPTURE_MODE_RELAXED));
    CUDA_OK(CU(cuStreamBeginCapture)(two, CU_STREAM_CAPTURE_MODE_RELAXED));
    void *a = ferrum_torch_alloc(part, ordinal, one);
    bool refused = false;
    try {
        ferrum_torch_alloc(part, ordinal, two);
    } catch (const std::runtime_error &) {
        refused = true;
    }
    CHECK(refused);
    CUDA_OK(CU(cuStreamEndCapture)(two, &graph));
    CUDA_OK(CU(cuGraphDestroy)(graph));
    // An early end is no failure, and nothing of the graph remains.
    ferrum_torch_end_graph(ordinal, {0, 10});
    CUDA_OK(CU(cuStreamEndCapture)(one, &graph));
    CUDA_OK(CU(cuGraphDestroy)(graph));
    ferrum_torch_free(a, part, ordinal, one);
    ferrum_torch_release_graphs(ordinal, {0, 10});
    CHECK(graphs_kept() == kept);
    // If the callback throws instead of choosing the stream, an allocation
    // passes the exception on. A free only writes it to stderr.
    a = ferrum_torch_alloc(part, ordinal, one);
    ferrum_torch_begin_graph(ordinal, {0, 11}, [](void *) -> bool {
        throw std::logic_error("unknown");
    });
    bool thrown = false;
    try {
        ferrum_torch_alloc(part, ordinal, one);
    } catch (const std::logic_error &) {
        thrown = true;
    }
    CHECK(thrown);
    CHECK(said_by([&] {
              ferrum_torch_free(a, part, ordinal, one);
          }).find("was not freed: unknown") != std::string::npos);
    ferrum_torch_end_graph(ordinal, {0, 11});
    ferrum_torch_release_graphs(ordinal, {0, 11});
    ferrum_torch_free(a, part, ordinal, one);
}

} // namespace

int main() {
    ordinal = device_ordinal();
    check_name = "the caller's context";
    CUDA_OK(CU(cuInit)(0));
    CUDA_OK(CU(cuDevicePrimaryCtxRetain)(&context, ordinal));
    CUDA_OK(CU(cuCtxSetCurrent)(context));
    if (check_failures != 0)
        return 1;
    check_run("memory holds bytes", memory_holds_bytes);
    check_run("memory freed under work", freed_under_work);
    check_run("recorded streams", recorded_streams);
    check_run("the cache can be emptied", the_cache_can_be_emptied);
    check_run("failed allocations throw", failed_allocations_throw);
    check_run("as CuPy calls it", as_cupy_calls_it);
    check_run("streams of threads", streams_of_threads);
    check_run("a thread that captures", a_thread_that_captures);
    check_run("several threads", several_threads);
    if (!streams_capture())
        return check_end();
    check_run("memory of a graph", memory_of_a_graph);
    check_run("a graph released under work", released_under_work);
    check_run("a graph released beside a capture", released_beside_a_capture);
    check_run("a graph released after a failure", released_after_a_failure);
    check_run("graphs of one pool", graphs_of_one_pool);
    check_run("pools within a capture", pools_within_a_capture);
    check_run("a pool without a capture", a_pool_without_a_capture);
    check_run("unsupported graphs throw", unsupported_graphs_throw);
    return check_end();
}
