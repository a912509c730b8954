// Package replay plays a trace against a pool and measures what the memory of
// a serving engine would have done: what was alive, how far up the addresses
// reached, what was reserved, what failed, and what a call cost.
//
// # What is measured
//
// Live is the sum of the requested bytes of the blocks that are alive; a block
// that several requests share counts once.
//
// Without a limit the pool has more addresses than the trace can need, and its
// memory is never touched, so a replay may peak above the memory of the machine.
// Reserved and physical are the pages of 2 MiB that the pool has: those that a
// block touches, and idle ones. The pool gives back in the time of the trace what its
// worker would: what was idle for a window, but for 8 pages, or one for 64 in use
// where that is less; whenever time passes where that of the trace is no seconds. On
// a device without virtual memory the pool is one plain range, which gives no page
// back: both are the highest address used so far, rounded up to a page.
//
// With a limit the pool is as it is in service, and its maximum is the limit. Over pages
// the limit is of the pages that the pool has mapped, and reserved and physical are
// these. With pool.PagingOff, and where the device cannot map pages, the pool grows by
// segments. Reserved is then the sum of the segments, and physical is the same, because
// a device gives a segment its memory whole. A request has failed when it was not
// served at once. It is then dropped, and its blocks are freed.
//
// High water is the highest address used, counted from the start of the
// segment; where the pool has several segments, as if they lay end to end, each
// used up to its own highest address. Fragmentation is the highest value of it
// divided by the highest value of live.
//
// A pair is the time of the call that allocated a block plus the time of the
// call that freed it, on the monotonic clock, less the median time that reading
// the clock itself takes, measured in the same run just before.
//
// # Several models
//
// RunModels merges the traces of several models in order of time and plays them
// through virtual memory under one limit: one pool that all share (elastic), or one of
// its own for each (static). Physical is the pages behind live blocks, reserved what was
// had from the device, which has pages in it that are kept for the next allocation. The
// steps of the pools' workers are done in the time of the trace, so nothing but the
// times of calls depends on the machine. A request that waits for its memory starts, or
// goes on, later by as long as it waited. FindLimits finds the smallest limits.
//
// # Map of addresses
//
// The map has a rectangle for each block: its addresses, and the time from its
// allocation to its free. Blocks that lie side by side and were allocated and freed
// together for one request are one rectangle. The map keeps a bounded number of
// rectangles, those with the largest bytes × time, and says how much it leaves out.
//
// # What the package owns
//
// A run owns the engine that Options.Open made for it, its pool and all blocks,
// and gives all of it back before Run returns, whatever the outcome. It never
// touches the memory, and has the pool start no goroutine.
//
// Lock order: the package has no locks.
//
// # Files in reading order
//
// histogram.go, result.go, address_map.go, player.go, pool_memory.go, meter.go, replay.go, feed.go,
// models.go, models_player.go, models_demand.go, models_result.go, models_meter.go,
// models_run.go, models_limits.go.
package replay
