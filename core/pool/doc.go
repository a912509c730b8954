// Package pool hands out blocks of device memory by address: the hot path of
// the product.
//
// A pool owns segments that it takes from its engine, one placement strategy
// for each with a table of what is known of its blocks, the books, the blocks in
// flight, and what it has leased to the thread caches in front of it. A block in
// flight was freed while work that may use it was still queued: it is no longer
// live, and is handed out at once only to the stream whose work it waits for,
// and to any other once the events of its free have passed. A pool never touches
// the memory itself (its debug mode has package memcheck do so). Freed blocks are
// taken in by later calls. A pool with pages (paging.go) maps them where blocks
// come to lie; while more of them are idle than are to stay it has one goroutine,
// which gives them back and ends, at the latest with Close. While streams capture, what they
// allocate is of private pools of their graphs (graphs.go).
//
// It is built of values, each with its state, that know what stands below them and nothing
// above: the heap (heap.go: what is where, and what of it waits), the streams of its blocks
// (block_stream.go), the supply (grow.go: how memory comes and goes), and the leases of the
// thread caches (leases.go), and the frees (retire.go: the ends of blocks). Pool joins them
// with the graphs, and is what callers see.
//
// # Lock order
//
// supply.layout or leases.census, never both, then heap.mu, then the locks of the
// engine and the driver.
//
//   - The locks of package graphs: the registry's comes before these, of the pool that
//     graphs were captured for and of their private pools, and a graph's after all of them.
//   - supply.layout: one thread at a time adds or gives back segments and pages. It
//     is held over Engine.Reserve and Engine.Release and over the calls of
//     device.VirtualMemory, which may take milliseconds, and never over
//     Engine.FindRoom, so never while a sibling or a callback works.
//   - leases.census: one thread at a time counts what the caches hold, or takes a
//     block over from them, with Cache.Counts, Each, Adopt and Drop. Meanwhile
//     the pool's own books stand still (heap.frozen): a thread that wants to
//     change them waits, and has its turn before they stand still again. Lease and
//     GiveBack do not wait, so that a cache may call them with its own locks held.
//   - heap.mu: blocks, books, list of segments, blocks in flight. Under it only
//     driver calls that do not wait are made (Event.Done, Event.Close), and none
//     of Cache. Taking it recalls what was lent (lend.go).
//
// A thread holds the locks of one pool at most. Engine.Changed,
// Engine.SegmentsChanged and the log are called with none of them. The totals of
// package track are locked below heap.mu.
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
