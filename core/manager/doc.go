// Package manager is memory by handle: the memory manager of a device, its
// streams and events, and the factory that makes both.
//
// A Factory owns the tables of the handles of memory, streams and events of all
// devices, so a handle that one view gave out is known to the others. A Manager
// owns the pools of the memory types of one device and the blocks in them. A
// StreamManager is the view of one device's streams and events.
//
// The package never touches a byte of a block itself: copies and fills are work
// in a stream. It moves a block only in Defragment, and only one that was asked for
// as relocatable, is not pinned or mapped, and was used on no stream that has work
// queued. It never opens or closes a device, and starts no goroutine.
//
// # Work in flight
//
// Every block knows the streams that have used it and the operations of this
// package that are not known to be done. A free records one event on each of
// those streams that is not idle and hands the events to the pool, which keeps
// the memory until all have passed. The caller waits for nothing. A copy that is
// queued holds the lock of its blocks from the check that they are alive until
// it is entered in them, so a free comes either before it, and the copy is
// refused, or after it, and waits for it.
//
// # Moving a block
//
// Only block.mu makes a block's address mean anything: whoever queues work on a
// block does it under that lock. A move holds it from the check that nobody uses
// the block, over the copy to the new place, to the change of the address. The copy
// runs on a stream of the manager that nothing else is queued on and that waits for
// no event, so it ends, and so does the wait of a call that wants the block, even
// from a host function. A copy that takes longer than the budget is left to itself,
// as an operation on the block like any other, and its target waits for it in the
// pool. What was found out of blocks that may move, in this call or in one before
// whose budget was over, only says where to look: all of it is looked at again.
//
// # Mapping a block
//
// A mapping is entered in its block before it is made, which keeps the block where it
// is and from being given back; it is made and written back with no lock held, and
// whoever wants the same one meanwhile waits for it. Copies for the host are queued
// work on the block like any other.
//
// # Memory that is not one block's alone
//
// Two linked blocks have one memory, which belongs to the manager of the first. A
// block that goes leaves the streams that have used it to the other, and the last one
// gives the memory back. The device of the second forgets it once no work uses it
// there: at the latest when that device is closed. Adopted memory is in no pool; its
// block goes only while no work is queued on it.
//
// # Why waiting for a turn cannot hang
//
// CopyAsync waits, when as many copies are in flight as the manager allows, for
// the oldest one. No lock is held meanwhile. An event exists only once it has
// been recorded, so a stream can only wait for work that was queued before; the
// waits form no circle, and the oldest copy gets done. It may take long in one
// case: when host functions of the caller are queued before it. A host function
// that itself waits for its own stream, by a CopyAsync that finds no turn behind
// copies of that stream or by a synchronous call on a block that the stream
// uses, waits for itself; host functions may not do that.
//
// # Lock order
//
//  1. Manager.closeMu: one Close at a time; Relocator.turn: one call that moves
//     blocks at a time. Neither is held while the other is taken
//  2. block.mu; of two blocks, the one that was made first
//  3. stream.mu
//  4. device.mu, transfers.mu, Manager.mu, stream.failureMu, Factory.mu,
//     event.mu: none is held while another of these is taken, but event.mu
//     before device.mu and device.mu before the lock of a handle table
//     device.unclosedMu comes after all of these
//  5. the locks of the pools, the engine and the driver
//
// Nothing is held while memory is looked for (pool.Alloc may call the reclaim
// callbacks of the caller), while a manager's closing waits, or while a stream
// runs dry, but for the stream of the moves. staging.mu is held while a staged copy runs, by a driver's worker
// that holds nothing else.
//
// # Files in reading order
//
// handles.go, stream.go, transfer.go, factory.go, stream_manager.go, operation.go, staging.go,
// transfers.go, memory_type.go, config.go, block.go, manager.go, books.go, configure.go,
// defragment.go, collect.go, debug.go, support.go, pin.go, hint.go, pinned.go, allocate.go,
// access.go, link.go, event.go, native.go, close_hook.go, import.go, adopt.go, deallocate.go,
// queue.go, copy.go, copy_batch.go, prefetch.go, map.go, relocate.go, close.go, close_device.go, map_copy.go.
package manager
