// Package threadcache is the thread caches in front of pools, written in C: they serve most
// allocations and frees of small blocks without entering Go.
//
// It owns the blocks that pools have leased to it, and what each thread keeps of them. It
// knows neither pools nor streams, but their handles. What it calls of the library that it
// is linked into (leases, streams, the thread's error) library.h declares: package capi
// implements it, and in tests/cache a core in C does. It never calls a function of the
// program, and keeps no error but of calls that it does itself.
//
// Lock order: there is one mutex (fm_lock in C). Go may be waiting for it with locks of its
// own. Nothing here calls Go with it held.
//
// # Files in reading order
//
// Of C: cache.h is what others call, library.h what is called of them; types.h, parts.h,
// hit.h (a hit, inline in the public functions), lane.c, flow.c, depot.c, parcel.c,
// store.c, table.c, order.c, core.c, pools.c, threads.c, stop.c, batch.c, books.c. Of Go:
// threadcache.go.
//
// # Why
//
// A call from C into Go costs several times what an allocation may cost. So the Go core
// leases blocks to the cache of a pool, and most calls end here, in C, without a lock, a
// locked instruction or a system call.
//
// # Blocks
//
// A leased block has a record of 16 bytes (fm_block): its address and one word (meta) that
// says whether it is live or idle. Records lie in an array and are named by their index. A
// hash table of 4-byte entries finds the index of an address. Entries hold 8 bits of the
// hash, so that a probe seldom looks at a record in vain. The table is only written when
// blocks come and go, so that threads that work with their own blocks share none of its
// lines for writing. Nor of records: the first few thousand have a line each, later ones
// share theirs with others that the same thread has leased. With many blocks, where
// threads seldom meet in a line, the first ones share theirs too.
//
//	meta   63..40 holder   39..32 class   31..20 tag   19..0 slack
//
// The top bit of holder is set for an idle block, and the rest is then the number of the
// magazine it is in. Of a live block it is the number of its stream. slack is the size of
// the block's class less what was asked for.
//
// # Magazines, lanes and depots
//
// An idle block lies in a magazine, a short stack of indices of one size class, and the
// block's meta says in which one. Whole magazines change hands, without a look at the
// blocks in them. A lane is what one thread has for one pool and stream: for each class
// the magazine that it works with, and one more, so that a thread that goes up and down by
// one does not need another each time. A depot is the store of full magazines of a pool
// and stream that all threads share; each pool has one more for blocks that any stream may
// have. A block that was freed on a stream may be used again by that stream's next work at
// once, but not by another's: so it stays in stores of its stream, whoever freed it, until
// the Go core takes it back and lets its event pass.
//
// # Streams
//
// A block belongs to the stream that it was asked for on, and waits for its work, whoever
// frees it. So a live block has the number of its stream in its meta, a lane and a depot
// have that of theirs, and a free hits when the two are the same. One that is freed on
// another stream goes into the depot of its own, or of the other, if the core says that
// the one which does not get it has no work queued; else it is for the core, which puts it
// behind both (order.c). A number is used again once its stream is forgotten, though
// blocks may still have it: a stream that is gone has run dry, so to take them for
// another's is right as well.
//
// # Hits and misses
//
// A hit pops or pushes one index and writes one meta. When the lane works with the wrong
// one of its two magazines, or borrows from the next larger class, that still needs no
// mutex. A miss swaps magazines with the depot, or leases. What is too much in a lane goes
// to the depot, what is too much in a depot goes back to the core. Of classes that a
// thread never asks for it goes in parcels, which hold blocks of any class until somebody
// sorts them (parcel.c).
//
// # Who may touch what
//
// One mutex (fm_lock) guards everything here. Its owner may do all of it but touch the
// lanes of other threads and move what lanes look at (records, tables, lanes themselves).
// For that it stops the threads: fm_stop is set, a barrier is forced upon all threads, and
// each is waited for until it is not busy. A thread may touch its own lanes either with
// the mutex, or while it is busy:
//
//	thread:   busy = 1; compiler barrier; if stop, then: busy = 0, take the
//	          mutex; else: pop or push; busy = 0 (release)
//	stopper:  lock; stop = 1; membarrier; wait until busy is 0 (acquire)
//	          everywhere; work; stop = 0 (release); unlock
//
// # Why the two never work at once
//
// membarrier makes every thread run a full barrier somewhere between the stopper's writing
// stop and its reading busy. If the thread's write of busy comes before its barrier, the
// stopper sees it and waits. If it comes after, so does the thread's read of stop, which
// then sees 1. Either way the two do not work at once. The release and acquire of busy
// carry the thread's work to the stopper, those of stop carry the stopper's work back.
// Without membarrier (an old kernel, a filter, or ThreadSanitizer, which cannot see it)
// busy is exchanged and stop read with sequential consistency, which orders the two in the
// thread itself, at the price of a locked instruction.
//
// While busy, a thread calls nothing that waits. With the mutex held, nothing here calls
// Go. So neither can be part of a deadlock with the core's locks.
//
// # Blocks that are freed twice
//
// A free looks whether the block is live and then writes that it is idle. Two frees of one
// block at the very same time may both see it live. Both then push it; the magazine that
// meta names in the end is the one that has it. An entry is good only if meta names its
// magazine: the other one is recognised when it is popped, is dropped, and the live blocks
// are counted anew for the books. A block that was freed again may have several entries in
// one magazine. Whoever pops one writes the meta before the next is looked at, or takes
// the block out, so it cannot be handed out twice, nor given back twice. A free that was
// slower than a whole further life of the block ends that life. One that was slower than
// its block was here at all writes the meta of a record that is no block's, which nobody
// reads: a record has another block only once the threads have been stopped after its last
// one left. So a free ends no life but of the block that it names.
//
// # Fork
//
// A child never comes here: the gate refuses its calls, and the end of its thread looks at
// the gate.
package threadcache
