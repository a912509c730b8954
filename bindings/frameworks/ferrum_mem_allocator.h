/* Pools of ferrum_mem as the allocator of PyTorch and CuPy: a small library that they
 * load by its path, libferrum_mem_allocator.so. README.md describes its use.
 * 
 * There is one pool for each CUDA device. It is created at the first use of the device
 * and kept until the process ends. The order of streams protects freed memory: memory
 * that was freed on a stream is reused on that stream at once, and on another stream
 * only after the work that was queued at the free. The per-thread default stream, 2, is
 * a different stream in each thread. Memory that was freed there is reused only after
 * the work of the default streams of all threads.
 * 
 * All functions may be called from any thread. If an allocation fails, it throws
 * std::runtime_error with the library's message. Both frameworks turn that into a
 * Python exception. */
#ifndef FERRUM_MEM_ALLOCATOR_H
#define FERRUM_MEM_ALLOCATOR_H

#include <ferrum_mem.h>
#include <stddef.h>

#ifdef __cplusplus
#include <functional>
#include <utility>
extern "C" {
#endif

#define FERRUM_ALLOCATOR_API __attribute__((visibility("default")))

/** For torch.cuda.memory.CUDAPluggableAllocator. stream: a cudaStream_t. */
FERRUM_ALLOCATOR_API void *ferrum_torch_alloc(ptrdiff_t size_bytes, int device,
                                              void *stream);
FERRUM_ALLOCATOR_API void ferrum_torch_free(void *address, ptrdiff_t size_bytes,
                                            int device, void *stream);
/** For set_record_stream_fn of that allocator: another stream uses the memory too. */
FERRUM_ALLOCATOR_API void ferrum_torch_record_stream(void *address,
                                                     void *stream);
/** For set_reset_fn: releases all unused memory on all devices. */
FERRUM_ALLOCATOR_API void ferrum_torch_reset(void);

#ifdef __cplusplus
/* For set_begin_allocate_to_pool, set_end_allocate_to_pool_fn and set_release_pool.
 * PyTorch calls begin and end around the capture of a graph, or around the use of a
 * memory pool, and release when the graph or pool is destroyed. Between begin and end,
 * is_of_capture selects the streams. While a selected stream captures, its allocations
 * belong to the graph. While it does not capture, they come from a pool of that name.
 * An allocation throws if its stream captures and cannot have memory of its own. During
 * one capture a pool may be ended and begun again, and another pool may be begun: the
 * graph is then kept for all of them.
 * 
 * Each begin has its release. The last release of a name frees all memory of the name.
 * It first waits for all work of the context, because graphs may have run on streams
 * that never allocated anything. It does not wait while a stream that allocates here
 * captures, or while a capture is announced. In these cases, or if the wait fails, the
 * memory stays until a later end, release, reset or trim. A release does not throw. */
using ferrum_torch_graphs = std::pair<unsigned long long, unsigned long long>;
FERRUM_ALLOCATOR_API void
ferrum_torch_begin_graph(int device, ferrum_torch_graphs graphs,
                         std::function<bool(void *)> is_of_capture);
FERRUM_ALLOCATOR_API void ferrum_torch_end_graph(int device,
                                                 ferrum_torch_graphs graphs);
FERRUM_ALLOCATOR_API void
ferrum_torch_release_graphs(int device, ferrum_torch_graphs graphs);
#endif

/** For cupy.cuda.CFunctionAllocator, whose first argument is stream: the cudaStream_t
 *  that CuPy works on, or 0 for CuPy's default stream. That is the thread's default
 *  stream if CUPY_CUDA_PER_THREAD_DEFAULT_STREAM is set and not 0. */
FERRUM_ALLOCATOR_API void *ferrum_cupy_malloc(void *stream, size_t size_bytes,
                                              int device);
FERRUM_ALLOCATOR_API void ferrum_cupy_free(void *stream, void *address,
                                           int device);

/** Returns the pool of a device. The first call creates it. */
FERRUM_ALLOCATOR_API ferrum_status ferrum_allocator_pool(int device,
                                                         ferrum_pool *pool_out);

/** Releases the unused memory of a device's pool to the device. */
FERRUM_ALLOCATOR_API ferrum_status
ferrum_allocator_trim(int device, uint64_t *released_bytes_out);

#ifdef __cplusplus
}
#endif

#endif
