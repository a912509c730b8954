// Package inflight keeps freed blocks that queued work may still use, until that work has
// completed. It also finds blocks that a stream may reuse at once.
//
// A free behind queued work puts a fence (an event, and the blocks that wait for it) at
// the end of the queue of its stream, and the block behind the fence. A free that waits
// for several streams puts the block behind one fence of each. A block whose last fence
// belongs to one stream is in that stream's index of blocks for reuse on the same stream.
// The fences of a stream complete in order, so only the first one of a queue is queried.
//
// The package knows addresses and sizes, but neither the memory nor its owner. All tables
// are indexed by number and reused, so that nothing is allocated in the steady state.
// Tables with one item for a block are outside the Go heap, and get their room before
// anything changes. Fences are few: a queue has a bounded number of them.
//
// The package has no lock: its owner's lock guards it during every call. No call waits,
// except for Event.Done, Event.Close and the events that are created later. An event that
// a caller waits for without the owner's lock stays open meanwhile.
//
// # Files in reading order
//
// table.go, end.go, reuse.go, blocks.go, find.go, completed.go.
package inflight
