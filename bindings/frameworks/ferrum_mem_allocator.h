/* Pools of ferrum_mem as the allocator of PyTorch and CuPy: a small library that
 * they load by its path, libferrum_mem_allocator.so. README.md shows how.
 *
 * There is one pool for each CUDA device, made at the first use of the device and
 * kept until the process ends. Work that uses freed memory is waited for by the
 * order of streams: memory that was freed on a stream goes to that stream again at
 * once, and to another one only when the work that was queued by then is done. The
 * per-thread default stream, 2, is another one in each thread: from there memory
 * goes to nobody before the work of all threads' default streams is done.
 *
 * All functions may be called from any thread. Those that are told to allocate
 * throw std::runtime_error, with the library's message, when they cannot: both
 * frameworks turn that into an exception of Python. */
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
/** For set_record_stream_fn of that allocator: another stream uses it, too. */
FERRUM_ALLOCATOR_API void ferrum_torch_record_stream(void *address,
                                                     void *stream);
/** For set_reset_fn: gives back everything that is not in use, on all devices. */
FERRUM_ALLOCATOR_API void ferrum_torch_reset(void);

#ifdef __cplusplus
/* For set_begin_allocate_to_pool, set_end_allocate_to_pool_fn and set_release_pool,
 * which PyTorch calls around the capture of a graph, or the use of a memory pool, and
 * when that is gone. In between, what the streams that are meant allocate while they
 * capture is the graph's own; while they do not, it comes from a pool of that name. A
 * stream that captures and can have no memory of its own is refused: that is thrown. A
 * pool may be ended and begun again, and another one begun, while one capture goes on: the
 * graph is kept for all of them.
 *
 * Each begin has its release, and with the last one all under the name is let go: once
 * all work of the context is done, which is waited for, as graphs may have run on streams
 * that never allocated anything. While a stream that allocates here captures, or a capture
 * is announced, or when the wait fails, nothing is waited for, and it stays until a later
 * end, release, reset or trim. A release does not throw. */
using ferrum_torch_graphs = std::pair<unsigned long long, unsigned long long>;
FERRUM_ALLOCATOR_API void
ferrum_torch_begin_graph(int device, ferrum_torch_graphs graphs,
                         std::function<bool(void *)> is_of_capture);
FERRUM_ALLOCATOR_API void ferrum_torch_end_graph(int device,
                                                 ferrum_torch_graphs graphs);
FERRUM_ALLOCATOR_API void
ferrum_torch_release_graphs(int device, ferrum_torch_graphs graphs);
#endif

/** For cupy.cuda.CFunctionAllocator, whose first argument is stream: the
 *  cudaStream_t that CuPy works on, 0 for its default: that of the thread where
 *  CUPY_CUDA_PER_THREAD_DEFAULT_STREAM is set and not 0. */
FERRUM_ALLOCATOR_API void *ferrum_cupy_malloc(void *stream, size_t size_bytes,
                                              int device);
FERRUM_ALLOCATOR_API void ferrum_cupy_free(void *stream, void *address,
                                           int device);

/** The pool of a device, made if it is not there yet. */
FERRUM_ALLOCATOR_API ferrum_status ferrum_allocator_pool(int device,
                                                         ferrum_pool *pool_out);

/** Gives back to the device what its pool holds and nothing uses. */
FERRUM_ALLOCATOR_API ferrum_status
ferrum_allocator_trim(int device, uint64_t *released_bytes_out);

#ifdef __cplusplus
}
#endif

#endif
