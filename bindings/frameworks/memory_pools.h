// Memory pools of PyTorch on one device: private memory of graphs that were captured
// under a name, or separate pools for streams that do not capture
// (torch.cuda.use_mem_pool). Part of libferrum_mem_allocator.so, and not installed.
//
// A name is announced before a capture begins, so a graph of the pool begins with the
// first allocation or free of a stream that captures. A name is released as often as it
// was announced. With the last release all its memory is freed, after the last work that
// can use it.
#ifndef FERRUM_MEMORY_POOLS_H
#define FERRUM_MEMORY_POOLS_H

#include "ferrum_mem_allocator.h"

#include <atomic>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

namespace ferrum_frameworks {

class MemoryPools {
  public:
    // Streams that the allocator knows. Their handles stay valid.
    using Streams = std::vector<ferrum_stream>;

    /** Sets the device. Must be called first. */
    void open(ferrum_device device, ferrum_pool general,
              const ferrum_pool_config &config);

    /** Whether nothing is announced, and no block is in a separate pool. */
    bool unused() const { return announced_count_ == 0 && placed_count_ == 0; }

    /** Whether an announcement selects the stream. */
    bool is_selected(void *native);
    void announce(ferrum_torch_graphs name,
                  std::function<bool(void *)> selects);
    /** Ends the announcement of a name. */
    void withdraw(ferrum_torch_graphs name);
    void release(ferrum_torch_graphs name);
    /** Frees released memory that could not be freed before. seen has all streams of the
     *  device that the allocator knows. The call does not wait while one of them captures,
     *  or a capture is announced. */
    void settle(const Streams &seen);

    /** Allocates from the pool that the announcements select. */
    ferrum_status alloc(void *native, ferrum_stream stream, uint64_t size_bytes,
                        ferrum_address *address_out);
    ferrum_status free(void *native, ferrum_stream stream,
                       ferrum_address address);
    ferrum_status record_stream(ferrum_stream stream, ferrum_address address);

  private:
    struct Announced {
        ferrum_torch_graphs name;
        std::function<bool(void *)> selects;
        // Whether a capture has begun under this announcement.
        bool captured = false;
    };
    // A graph of a pool.
    struct Captured {
        ferrum_pool pool;
        uint64_t graph;
        bool ended;
        // If it is empty, the graph must be released.
        std::set<ferrum_torch_graphs> names;
    };
    ferrum_status own_pool(ferrum_torch_graphs name, ferrum_pool *out);
    ferrum_status capture(ferrum_pool pool, Announced &announced,
                          ferrum_stream stream);
    ferrum_status pool_for(void *native, ferrum_stream stream,
                           ferrum_pool *out);
    ferrum_pool holder_of(ferrum_address address);
    void forget(ferrum_torch_graphs name);
    void end_captured();
    bool nothing_captures(const Streams &seen) const;
    bool wait_for_context() const;

    ferrum_device device_ = {};
    ferrum_pool general_ = {};
    ferrum_pool_config config_ = FERRUM_POOL_CONFIG_INIT;
    std::atomic<int> announced_count_{0}, placed_count_{0};

    // Guards all members below.
    std::mutex lock_;
    std::vector<Announced> announced_;
    std::map<ferrum_torch_graphs, int> uses_;
    std::list<Captured> captured_;
    std::map<ferrum_torch_graphs, ferrum_pool> own_;
    std::vector<ferrum_pool> released_pools_;
    // The separate pool of each block that is in one.
    std::unordered_map<ferrum_address, ferrum_pool> placed_;
};

} // namespace ferrum_frameworks

#endif
