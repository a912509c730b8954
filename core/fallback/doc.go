// Package fallback is the memory of one device seen through one small interface,
// whatever backend it is of, with a second place to go to when it is full.
//
// GpuMemoryPool is the interface. DevicePool satisfies it for any open device: free
// buffers in buckets by powers of two (GenericMemoryPool) before a core/pool, within
// the bounds of a MemoryConfig. A Manager owns a DevicePool and, where the
// configuration allows it, a pool on the host device: a buffer for which the device
// has no room is made there, and goes to the device once there is. FallbackBuffer is
// such a buffer, over any two kinds of storage. AllocationTracker knows live buffers
// by id, tag and age; it is there only when asked for, and costs nothing when not.
//
// The package never touches a byte of a buffer itself: copies are work of the
// device's default stream, and waited for. It asks no driver for memory but through
// core/pool and the engine, moves no buffer that is pinned, and starts no goroutine.
//
// What a thread has queued on other streams than the one that it names in a call it
// waits for by itself, as with the blocks of core/pool.
//
// Lock order: Manager.returning, then FallbackBuffer.mu, then Manager.mu, then
// DevicePool.growth, then the locks of core/pool and the engine.
// GenericMemoryPool.mu and AllocationTracker.mu are leaves.
//
// # Files in reading order
//
// metadata.go, sizes.go, tracker.go, dtype.go, heap.go, stats.go, config.go, pool.go,
// generic.go, manager.go, device_pool.go, fallback_buffer.go, fallback_move.go, sides.go,
// allocate.go, access.go, end.go.
package fallback
