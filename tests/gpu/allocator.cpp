// The allocator of PyTorch and CuPy, called as they call it, with streams and a
// context that are the caller's.
#include "../../bindings/frameworks/ferrum_mem_allocator.h"

#include <stdexcept>
#include <string>
#include <thread>
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

// Memory that was freed under queued work goes to its own stream at once, and to
// another one only after that work.
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

// A stream that is recorded is waited for as well, also by the memory's own one.
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
    // Pages that the pool's own thread gives back just now are not the trim's.
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

void what_cannot_be_had_is_thrown() {
    CHECK(message_of(ptrdiff_t(1) << 60, ordinal).find("OUT_OF_MEMORY") !=
          std::string::npos);
    CHECK(message_of(16, 63).find("DEVICE_NOT_FOUND") != std::string::npos);
    CHECK(message_of(16, -1).find("no device") != std::string::npos);
    CHECK(message_of(16, 64).find("no device") != std::string::npos);
    CHECK(message_of(-1, ordinal).find("below 0") != std::string::npos);
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

// Each thread fills what it has with its own byte, on its own stream.
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

// Handle 2 is another stream in each thread: what one freed behind its work goes
// to another only after that work, also where a third one freed it.
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
    // The memory comes back.
    CUDA_OK(CU(cuCtxSynchronize)());
    uint64_t released = 0;
    OK(ferrum_allocator_trim(ordinal, &released));
    CHECK(released >= size);
}

// A graph cannot have memory of its own there, and that is said.
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
}

void several_threads() {
    std::vector<std::thread> threads;
    for (unsigned i = 1; i <= 4; i++)
        threads.emplace_back(busy, i);
    for (std::thread &thread : threads)
        thread.join();
}

// What a stream allocates while it captures belongs to the graph: it is there
// each time that the graph runs, whatever was allocated since.
void memory_of_a_graph() {
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    CUstream stream = make_stream();
    const size_t size = 1 << 20;
    unsigned char byte = 0;
    CUdeviceptr result;
    CUDA_OK(CU(cuMemAlloc)(&result, size));
    // In the order in which PyTorch does so.
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
    check_run("what cannot be had is thrown", what_cannot_be_had_is_thrown);
    check_run("as CuPy calls it", as_cupy_calls_it);
    check_run("streams of threads", streams_of_threads);
    check_run("a thread that captures", a_thread_that_captures);
    check_run("several threads", several_threads);
    check_run("memory of a graph", memory_of_a_graph);
    return check_end();
}
