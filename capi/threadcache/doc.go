// Package threadcache is the thread caches in front of pools, written in C. They serve
// most allocations and frees of small blocks without entering Go.
//
// The package owns the blocks that pools have leased to it, and the blocks that each
// thread keeps. It knows pools and streams only by their handles. library.h declares what
// it calls in the library: leases, streams, and the thread's error. Package capi
// implements these functions; in tests/cache a core in C does. The package never calls a
// function of the program, and records errors only for calls that it serves itself.
//
// Lock order: there is one mutex (fm_lock in C). Go may hold locks of its own while it
// waits for this mutex. No code here calls Go with the mutex held.
//
// # Why
//
// A call from C into Go costs several times as much as an allocation should. So the Go
// core leases blocks to the cache of a pool, and most calls complete in C without a lock,
// a locked instruction or a system call.
//
// # Blocks
//
// A leased block has a record of 16 bytes (fm_block): its address, and one word (meta)
// that states whether the block is live or idle. The records are in an array and are named
// by their index. A hash table of 4-byte entries maps an address to an index. An entry
// holds 8 bits of the hash, so that a lookup seldom reads a wrong record. The table is
// written only when blocks are leased or returned. So threads that work with their own
// blocks do not write to the same cache lines of the table. The same holds for records:
// each of the first few thousand records has a cache line of its own; later records share
// a line with other records that the same thread leased. When there are many blocks, and
// threads seldom meet in a line, the first records share their lines too.
//
//	meta   63..40 holder   39..32 class   31..20 tag   19..0 slack
//
// The top bit of holder is set for an idle block; the other bits are then the number of
// its magazine. For a live block, holder is the number of its stream. slack is the size of
// the block's class minus the requested size.
//
// # Magazines, lanes and depots
//
// An idle block is in a magazine, a short stack of indices of one size class; the meta of
// the block names the magazine. Threads exchange whole magazines, without reading the
// blocks in them. A lane is the set of magazines of one thread for one pool and one
// stream: for each class the magazine in use and a second one, so that a thread that
// allocates and frees around the end of a magazine does not exchange one each time. A
// depot is the store of full magazines of one pool and one stream, shared by all threads.
// Each pool has one more depot for blocks that any stream may use. A block that was freed
// on a stream may be reused at once by later work of that stream, but not by work of
// another stream. So it stays in the stores of its stream, whichever thread freed it,
// until the Go core takes it back and waits for its event.
//
// # Streams
//
// A block belongs to the stream of its request. Every free of the block waits for the work
// of that stream. So the meta of a live block has the number of its stream, and each lane
// and depot has the number of theirs. A free is a hit when the two numbers are equal. A
// block that is freed on another stream goes to the depot of either stream, if the core
// reports that the other one has no queued work. Otherwise the block goes back to the
// core, which makes it wait for both streams (order.c). A stream number is reused after
// its stream was destroyed, although blocks may still have that number. This is correct: a
// destroyed stream has no queued work, so its blocks may also count as blocks of the new
// stream.
//
// # Hits and misses
//
// A hit pops or pushes one index and writes one meta. No mutex is needed when the lane
// switches between its two magazines, or when it uses the next larger class. A miss
// exchanges magazines with the depot, or leases blocks. When a lane holds too much, the
// surplus goes to the depot; when a depot holds too much, it goes back to the core. Blocks
// of classes that the thread does not allocate move in parcels, which hold blocks of any
// class until another thread sorts them (parcel.c).
//
// # Who may touch what
//
// One mutex (fm_lock) guards everything here. Its owner may do everything except two
// things: touch the lanes of other threads, and move what lanes read (records, tables,
// lanes themselves). For these it first stops the threads: it sets fm_stop, forces a
// memory barrier in all threads, and waits until no thread is busy. A thread may touch its
// own lanes either with the mutex, or while it is busy:
//
//	thread:   busy = 1; compiler barrier; if stop, then: busy = 0, take the
//	          mutex; else: pop or push; busy = 0 (release)
//	stopper:  lock; stop = 1; membarrier; wait until busy is 0 (acquire)
//	          everywhere; work; stop = 0 (release); unlock
//
// # Why both never work at the same time
//
// membarrier makes every thread execute a full barrier between the stopper's write of stop
// and its read of busy. If the thread writes busy before its barrier, the stopper sees it
// and waits. If the thread writes busy after its barrier, it also reads stop after the
// barrier and sees 1. In both cases the two do not work at the same time. The release and
// the acquire of busy make the thread's work visible to the stopper; those of stop make
// the stopper's work visible to the thread. Where membarrier is not available (an old
// kernel, a system call filter, or ThreadSanitizer, which cannot see it), busy is
// exchanged and stop is read with sequential consistency. That orders the two in the
// thread itself, at the cost of a locked instruction.
//
// While a thread is busy, it calls nothing that waits. With the mutex held, no code here
// calls Go. So neither can be part of a deadlock with the locks of the core.
//
// # Blocks that are freed twice
//
// A free first reads that the block is live and then writes that it is idle. Two frees of
// one block at the same time may both read that it is live. Both then push the block; the
// magazine that meta names in the end owns it. An entry is valid only if meta names its
// magazine. The other entry is recognized and dropped when it is popped, and the live
// blocks are then counted again for the counters. A block that was freed once more may
// have several entries in one magazine. The thread that pops one of them writes the meta
// before it reads the next entry, or removes the block. So a block cannot be allocated
// twice or returned twice. A free that is delayed while its block is freed and allocated
// again ends that new life. A free that is delayed until its block has left the cache
// writes the meta of an unused record, which no thread reads: a record gets a new block only
// after all threads were stopped once since its last block left. So a free ends only the
// life of the block that it names.
//
// # Fork
//
// A forked child never reaches this code: the gate rejects its calls, and the end of its
// thread checks the gate.
//
// # Files in reading order
//
// Of C: cache.h declares the calls, library.h what they need of the library; types.h, parts.h,
// hit.h (a hit, inline in the public functions), lane.c, flow.c, depot.c, parcel.c,
// store.c, table.c, order.c, core.c, pools.c, threads.c, stop.c, batch.c, books.c. Of Go:
// threadcache.go.
package threadcache
