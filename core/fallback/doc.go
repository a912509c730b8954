// Package fallback allocates buffers of one device through one small interface, for any
// backend, and falls back to the host when the device is full.
//
// GpuMemoryPool is the interface. DevicePool implements it for any open device: free
// buffers in buckets by powers of two (GenericMemoryPool) in front of a core/pool, within
// the bounds of a MemoryConfig. A Manager owns a DevicePool and, if its settings allow it,
// a pool on the host device. A buffer for which the device has no room is created on the
// host, and moves to the device when there is room. FallbackBuffer is such a buffer, over
// any two kinds of storage. AllocationTracker records live buffers by id, tag and age; it
// exists only on request and otherwise costs nothing.
//
// The package never touches a byte of a buffer itself: copies are work of the device's
// default stream, and the package waits for them. It allocates memory only through
// core/pool and the engine, moves no pinned buffer, and starts no goroutine.
//
// A caller that has queued work on other streams than the one that it names must wait for
// that work itself, as with the blocks of core/pool.
//
// Lock order: Manager.returning, then FallbackBuffer.mu, then Manager.mu, then
// DevicePool.growth, then the locks of core/pool and the engine. GenericMemoryPool.mu and
// AllocationTracker.mu are leaves.
//
// # Files in reading order
//
// metadata.go, sizes.go, tracker.go, dtype.go, heap.go, stats.go, config.go, pool.go,
// generic.go, manager.go, device_pool.go, fallback_buffer.go, fallback_move.go, sides.go,
// allocate.go, access.go, end.go.
package fallback
