// Package engine is the state of one open device as the pools see it: the source of
// segments, the limit over all of them, the reclaim path, the reclaim and pressure
// callbacks, and the counters of the device.
//
// It owns the device, the list of pools and registrations, and the workers that run
// callbacks. It never allocates blocks (pools do), never reads inside a segment, and keeps
// no memory that no pool holds.
//
// # Lock order
//
// The locks of a pool come before those of the engine: Pool.layout (one thread changes the
// list of segments), then the lock of the pool's counters and blocks. A thread holds the
// locks of one pool at most. It calls Reserve, Release and Discard under Pool.layout,
// Capacity under both, and everything else, Changed and SegmentsChanged included, under
// none.
//
// Engine.watchers comes before the locks of a pool.
//
// The engine's own locks come after them: Engine.bandwidth (one measurement at a time),
// then Engine.watch.mu, then Engine.mu. None of them is held while a method of a Pool is
// called. So a pool that runs out of memory may call its sibling pools: it has released
// its own locks, and each sibling takes its own. Driver calls are made under
// Engine.bandwidth (the measurement) and Engine.watch.mu (only Device.Memory), never under
// Engine.mu. The locks of the refusals and of the discards are leaves.
//
// Callbacks and the log run with none of these held. The token of a reclaim round is not a
// lock in this order: only a thread without locks waits for it, and a thread inside a
// reclaim callback never does.
//
// # Files in reading order
//
// asleep.go, discard.go, segment.go, pools.go, published.go, watch.go, refusals.go, engine.go,
// source.go, reading.go, limit.go, memory.go, pressure.go, publish.go, segments.go, bandwidth.go,
// pages.go, addresses.go, register.go, registration.go, close.go, report.go, reclaim.go,
// find_room.go.
package engine
