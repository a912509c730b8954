// Package inflight keeps freed blocks that queued work may still use, until that work is
// done, and finds those that a stream may have again at once.
//
// A free behind queued work puts a fence (an event and what waits for it) at the end of its
// stream's queue, and the block behind it; a free that several streams have to pass puts
// the block behind one fence each. A block whose last fence is that of one stream stands in
// that stream's index of blocks that an allocation for the same stream may have. Fences of
// a stream pass in their order, so only the first of a queue is asked.
//
// It knows addresses and sizes, and nothing of the memory or of who owns it. All tables are
// indexed by number and used again, so that nothing is allocated in the steady state. Those
// with an item a block are outside of the Go heap, and have room before anything is
// changed. Fences are few: a queue has a bounded number of them.
//
// It has no lock: its owner's guards it, all the time that a call lasts. No call waits, but
// for Event.Done, Event.Close and the marks that are made later. An event that is waited
// for without the owner's lock stays open meanwhile.
//
// # Files in reading order
//
// table.go, end.go, reuse.go, blocks.go, find.go, land.go.
package inflight
