// Package replay plays a trace against a pool and measures the memory of a serving engine
// under this load: live bytes, the highest address, reserved bytes, failed requests, and the
// cost of a call.
//
// # Measurements
//
// Live is the sum of the requested bytes of the live blocks. A block that several requests
// share counts once.
//
// Without a limit the pool has more addresses than the trace can need, and its memory is
// never touched. So the peak of a replay may exceed the memory of the machine. Reserved and
// physical are the pages of 2 MiB that the pool has: those that a block touches, and idle
// pages. The pool releases idle pages in the time of the trace, by the rule of its worker:
// pages that were idle for a window, except 8 pages, or one for every 64 in use if that is
// less. If the time of the trace is not in seconds, the pool releases them whenever the time
// advances. On a device without virtual memory the pool is one plain range, which releases
// no page: both values are then the highest address used so far, rounded up to a page.
//
// With a limit the pool works as in service, and its maximum is the limit. In a paged pool
// the limit applies to the mapped pages, and reserved and physical are these pages. With
// pool.PagingOff, and on a device that cannot map pages, the pool grows by segments.
// Reserved is then the sum of the segments. Physical is the same, because a device allocates
// the whole memory of a segment at once. A request fails if it is not served at once. It is
// then dropped, and its blocks are freed.
//
// High water is the highest address used, counted from the start of the segment. For several
// segments it is the sum of their highest addresses, each counted from the start of its
// segment. Fragmentation is the highest value of high water divided by the highest value of
// live.
//
// The cost of a pair is the time of the call that allocated a block plus the time of the call
// that freed it, on the monotonic clock. The median time of reading the clock, measured just
// before in the same run, is subtracted.
//
// # Several models
//
// RunModels merges the traces of several models in order of time and plays them through
// virtual memory under one limit: one pool that all models share (elastic), or one pool for
// each model (static). Physical is the pages behind live blocks. Reserved is the memory that
// was allocated from the device; it includes pages that are kept for the next allocation. The
// steps of the pools' workers run in the time of the trace, so only the times of calls depend
// on the machine. A request that waits for memory starts, or continues, later by the time of
// its wait. FindLimits finds the smallest limits.
//
// # Map of addresses
//
// The map has a rectangle for each block: its addresses, and the time from its allocation to
// its free. Adjacent blocks that were allocated and freed together for one request are one
// rectangle. The map keeps a bounded number of rectangles, those with the largest
// bytes × time, and states how much it omits.
//
// # Ownership
//
// A run owns the engine that Options.Open opened for it, its pool and all blocks. It frees
// all of them before Run returns, also after an error. It never touches the memory, and its
// pool starts no goroutine.
//
// Lock order: the package has no locks.
//
// # Files in reading order
//
// histogram.go, result.go, address_map.go, player.go, pool_memory.go, meter.go, replay.go, feed.go,
// models.go, models_player.go, models_demand.go, models_result.go, models_meter.go,
// models_run.go, models_limits.go.
package replay
