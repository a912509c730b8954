// Package pool allocates blocks of device memory by address. It is the hot path of the
// product.
//
// A pool owns the segments from its engine, a placement strategy for each segment with a
// table of its blocks, the counters, the blocks in flight, and the leases of the thread
// caches in front of it. A block in flight was freed while queued work might still use it.
// It is not live. It can be allocated at once only for the stream whose work it waits for,
// and for any other stream after the events of its free have completed. A pool never
// touches the memory itself; its debug mode uses package memcheck for that. Later calls
// take in the blocks whose events have completed. A paged pool (paging.go) maps pages
// where blocks lie. While it has more idle pages than it keeps, it has one goroutine,
// which releases them and ends, at the latest with Close. While streams capture, their
// allocations come from private pools of their graphs (graphs.go).
//
// A pool is built of values. Each has its own state and knows only what lies below it: the
// heap (heap.go: blocks, and blocks that wait), the streams of its blocks
// (block_stream.go), the supply (grow.go: growth and release of memory), the leases of the
// thread caches (leases.go), and the frees (retire.go: the ends of blocks). Pool joins
// them with the graphs and is the interface for callers.
//
// # Lock order
//
// supply.layout or leases.census, never both, then heap.mu, then the locks of the engine
// and the driver.
//
//   - The locks of package graphs: the registry's lock comes before the locks of the
//     pool that graphs were captured for and of their private pools, and a graph's
//     lock after all of them.
//   - supply.layout: one thread at a time adds or releases segments and pages. It is
//     held during Engine.Reserve and Engine.Release and during calls of
//     device.VirtualMemory, which may take milliseconds. It is never held during
//     Engine.FindRoom, so never while a sibling pool or a callback works.
//   - leases.census: one thread at a time counts the blocks of the caches, or takes a
//     block over from them, with Cache.Counts, Each, Adopt and Drop. The pool's own
//     counters do not change meanwhile (heap.frozen): a thread that has to change them
//     waits, and goes before the next census. Lease and ReturnLeased do not wait, so that
//     a cache may call them with its own locks held.
//   - heap.mu: blocks, counters, list of segments, blocks in flight. Only driver calls
//     that do not wait are made under it (Event.Done, Event.Close), and no call of
//     Cache. Taking it recalls lent tables (lend.go).
//
// A thread holds the locks of one pool at most. Engine.Changed, Engine.SegmentsChanged and
// the log are called with none of them. The totals of package track are locked below
// heap.mu.
//
// # Files in reading order
//
// config.go, page_state.go, heap.go, leases.go, pool.go, request.go, infos.go, debug.go,
// segment.go, block.go, block_stream.go, lend.go, grow.go, page_return.go, page_worker.go,
// pending_free.go, page_space.go, paging.go, poll.go, census.go, place.go, retire_fly.go,
// debug_report.go, retain.go, graph_private.go, lookup.go, graph_route.go, cache.go, walk.go,
// brief.go, retire.go, wait.go, lease.go, close.go, graph_parked.go, record.go, relocate.go,
// retire_many.go, graphs.go, snapshot.go, page_batch.go, page_caches.go, batch.go, free.go,
// relocate_steps.go, relocate_survey.go, relocate_choose.go, trim.go, slow.go, page_choosy.go,
// alloc.go, page_map.go, page_grow.go, new.go, reset.go, relocate_holes.go, relocate_place.go.
package pool
