// Package manager allocates memory by handle: the memory manager of a device, its streams
// and events, and the factory that creates both.
//
// A Factory owns the handle tables of memory, streams and events of all devices, so that
// each part knows the handles of the others. A Manager owns the pools of the memory types
// of one device and the blocks in them. A StreamManager manages the streams and events of
// one device.
//
// The package never touches a byte of a block itself: copies and fills are work in a
// stream. It moves a block only in Defragment, and only a block that was requested as
// relocatable, is neither pinned nor mapped, and was used on no stream that has queued
// work. It never opens or closes a device, and starts no goroutine.
//
// # Work in flight
//
// Every block knows the streams that have used it, and the operations of this package that
// may not have completed. A free records one event on each of those streams that is not
// idle, and passes the events to the pool, which keeps the memory until all events have
// completed. The caller does not wait. Queueing a copy holds the locks of both blocks from
// the check that they are live until the copy is recorded in them. So a free comes either
// before the copy, and the copy is rejected, or after it, and waits for it.
//
// # Moving a block
//
// The address of a block is valid only under block.mu: a thread that queues work on a
// block holds that lock. A move holds it from the check that nothing uses the block,
// during the copy to the new place, until the address has changed. The copy runs on a
// stream of the manager that has no other work and waits for no event. So the copy
// completes, and so does the wait of a call for the block, even in a host function. A copy
// that takes longer than the budget becomes an operation on the block like any other, and
// its target waits for it in the pool. Results of an earlier search for movable blocks, in
// this call or in an earlier call whose budget ended, only give the order of the search:
// everything is checked again.
//
// # Mapping a block
//
// A mapping is recorded in its block before it is created. That keeps the block at its
// place and prevents its free. The mapping is created and written back with no lock held;
// another call for the same mapping waits for that. Copies for the host are queued work on
// the block like any other.
//
// # Memory of more than one block
//
// Two linked blocks have one memory, which belongs to the manager of the first. A block
// that ends passes the streams that have used it to the other block, and the last one
// releases the memory. The device of the second block forgets the memory when no work uses
// it there, at the latest when that device is closed. Adopted memory is in no pool; its
// block ends only while no queued work uses it.
//
// # Why waiting for a transfer slot cannot deadlock
//
// When the number of copies in flight is at the manager's bound, CopyAsync waits for the
// oldest one. It holds no lock meanwhile. An event exists only after it was recorded, so a
// stream can only wait for work that was queued before. So the waits form no cycle, and
// the oldest copy completes. It may take long in one case: when host functions of the
// caller are queued before it. A host function must not wait for its own stream: neither
// by a CopyAsync that gets no slot behind copies of that stream, nor by a synchronous call
// on a block that the stream uses.
//
// # Lock order
//
//  1. Manager.closeMu: one Close at a time; Relocator.turn: one call that moves blocks
//     at a time. Neither is held while the other is taken
//  2. block.mu; of two blocks, the older one first
//  3. stream.mu, then stream.endMu
//  4. device.mu, transfers.mu, Manager.mu, stream.failureMu, Factory.mu, event.mu:
//     none is held while another of these is taken, except event.mu before device.mu
//     and device.mu before the lock of a handle table. device.unclosedMu comes after
//     all of these
//  5. the locks of the pools, the engine and the driver
//
// No lock is held during the reclaim path (pool.Alloc may call the reclaim callbacks of
// the caller), while the closing of a manager waits, or while a stream drains; the stream
// of the moves is the exception. staging.mu is held while a staged copy runs, by a
// driver's worker that holds nothing else.
//
// # Files in reading order
//
// handles.go, stream.go, transfer.go, factory.go, stream_manager.go, operation.go, staging.go,
// transfers.go, memory_type.go, config.go, block.go, manager.go, counters.go, configure.go,
// defragment.go, collect.go, debug.go, support.go, pin.go, hint.go, pinned.go, allocate.go,
// access.go, link.go, event.go, native.go, close_hook.go, import.go, adopt.go, deallocate.go,
// queue.go, copy.go, copy_batch.go, prefetch.go, map.go, relocate.go, close.go, close_device.go, map_copy.go.
package manager
