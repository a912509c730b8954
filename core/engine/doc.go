// Package engine is one open device as the pools see it: where segments come
// from, the limit over all of them, the order of what is tried when memory runs
// out, the reclaim and pressure callbacks, and the books of the device.
//
// It owns the device, the list of pools and registrations, and the workers that
// callbacks run on. It never hands out blocks (pools do), never looks inside a
// segment and never keeps memory that no pool holds.
//
// # Lock order
//
// Above the engine stand the locks of a pool: Pool.layout (one thread changes
// a pool's list of segments), then its lock of the books and blocks. A thread holds
// the locks of one pool at most. It calls Reserve, Release and Discard under
// Pool.layout, Capacity under both, and everything else, Changed and
// SegmentsChanged included, under none.
//
// Engine.watchers comes before the locks of a pool.
//
// Below are the engine's own: Engine.bandwidth (one measurement at a time), then
// Engine.watch.mu, then Engine.mu. None is held while a method of a Pool is
// called. So a pool that runs out may make its siblings give up segments: it has
// let go of its own locks by then, and each sibling takes its own. Driver calls
// are made under Engine.bandwidth (the measurement) and Engine.watch.mu
// (Device.Memory only), never under Engine.mu. The locks of the refusals and
// of the discards are leaves.
//
// Callbacks and the log run with none of these held. The token of a reclaim
// round is not a lock in this order: only a thread that holds no lock waits for
// it, and a thread inside a reclaim callback never does.
//
// # Files in reading order
//
// asleep.go, discard.go, segment.go, pools.go, shown.go, watch.go, refusals.go, engine.go,
// source.go, reading.go, limit.go, memory.go, pressure.go, show.go, segments.go, bandwidth.go,
// pages.go, addresses.go, register.go, registration.go, close.go, report.go, reclaim.go,
// find_room.go.
package engine
