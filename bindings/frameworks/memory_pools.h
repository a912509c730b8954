// What PyTorch calls memory pools, on one device: private to graphs that were captured
// under their names, or pools of their own for streams that do not capture
// (torch.cuda.use_mem_pool). Part of libferrum_mem_allocator.so, and not installed.
//
// A name is announced before a capture begins, so a graph of the pool begins with the
// first allocation or free of a stream that captures. It is released as often as it was
// announced; with the last time everything under it is let go, once no work can use it.
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
    // Streams that the allocator has seen; their handles stay good.
    using Streams = std::vector<ferrum_stream>;

    /** Sets the device up; before any other call. */
    void open(ferrum_device device, ferrum_pool general,
              const ferrum_pool_config &config);

    /** Whether nothing is announced, and no block is in a pool of its own. */
    bool unused() const { return announced_count_ == 0 && placed_count_ == 0; }

    /** Whether an announcement means a stream. */
    bool means(void *native);
    void announce(ferrum_torch_graphs name,
                  std::function<bool(void *)> is_meant);
    /** Ends the announcement of a name. */
    void withdraw(ferrum_torch_graphs name);
    void release(ferrum_torch_graphs name);
    /** Lets go of what was released and could not be let go before; seen are all
     *  streams of the device that the allocator knows. Never waits while one of
     *  them captures, or a capture is announced. */
    void settle(const Streams &seen);

    /** Allocates where announcements say. */
    ferrum_status alloc(void *native, ferrum_stream stream, uint64_t size_bytes,
                        ferrum_address *address_out);
    ferrum_status free(void *native, ferrum_stream stream,
                       ferrum_address address);
    ferrum_status record_stream(ferrum_stream stream, ferrum_address address);

  private:
    struct Announced {
        ferrum_torch_graphs name;
        std::function<bool(void *)> is_meant;
        // Whether a capture has begun under it.
        bool captured = false;
    };
    // What a pool keeps for a graph.
    struct Captured {
        ferrum_pool pool;
        uint64_t graph;
        bool ended;
        // Empty: it is to be released.
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

    // Held for all below.
    std::mutex lock_;
    std::vector<Announced> announced_;
    std::map<ferrum_torch_graphs, int> uses_;
    std::list<Captured> captured_;
    std::map<ferrum_torch_graphs, ferrum_pool> own_;
    std::vector<ferrum_pool> leaving_;
    // Which pool of its own a block is in.
    std::unordered_map<ferrum_address, ferrum_pool> placed_;
};

} // namespace ferrum_frameworks

#endif
