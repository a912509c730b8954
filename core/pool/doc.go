// Package pool hands out blocks of device memory by address: the hot path of
// the product.
//
// A pool owns segments that it takes from its engine, one placement strategy
// for each, the record of every block, and the blocks in flight: freed while
// work that may use them was still queued. A block in flight is no longer live,
// but is not handed out before the events of its free have passed. A pool never
// touches the memory itself, and never starts a goroutine: freed blocks are
// taken in by later calls.
//
// # Lock order
//
// Pool.layout, then Pool.mu, then the locks of the engine and the driver.
//
//   - Pool.layout: one thread at a time adds or gives back segments. It is held
//     over Engine.Reserve and Engine.Release, which may take milliseconds, and
//     never over Engine.FindRoom, so never while a sibling or a callback works.
//   - Pool.mu: blocks, books, list of segments, blocks in flight. Under it only
//     driver calls that do not wait are made (Event.Done, Event.Close).
//
// A thread holds the locks of one pool at most. Engine.Changed,
// Engine.SegmentsChanged and the log are called with none of them.
package pool
