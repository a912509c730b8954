package pool

import (
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/memcheck"
	"ferrum_mem/core/mirror"
	"ferrum_mem/core/pool/inflight"
	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/track"
)

// heap is the memory of a pool and its contents: the segments with their strategies, the
// tables of the blocks, the blocks in flight, the counters, and the state of the debug
// mode. Other types decide when memory is added and released. The first three fields
// never change. ended can be read without a lock. mu guards all other fields. The caller
// of a method holds mu, except where the comment of the method states that it takes mu.
type heap struct {
	engine        *engine.Engine
	config        Config
	defaultStream device.Stream

	mu    mirror.Lock
	state state
	// ended is true while state is not stateOpen. A call that waits for the lock reads
	// it, so that it does not wait behind a close, which takes the lock many times.
	ended atomic.Bool
	// frozen is set while the caches are being counted. The pool's own counters do not
	// change until thawed is signalled.
	frozen bool
	thawed *sync.Cond
	// awaiting counts the threads that wait for thawed. The counters are frozen again
	// only when all of these threads have had the lock; passed is signalled then. Without
	// this rule, a call that freezes once per slice could block the threads until it
	// ends.
	awaiting int
	passed   *sync.Cond
	// maxSize, minHeld and threshold are the current values of the configuration.
	maxSize, minHeld, threshold uint64
	// segments is sorted by address; recent is the segment that was used last.
	segments []*segment
	recent   *segment
	// held is the total size of the segments. It changes only with layout and mu held. A
	// segment counts until the device has accepted its release.
	held uint64
	// segmentsCreated counts the segments that the pool has ever had.
	segmentsCreated uint64
	// layoutChanges counts how often a segment was added or removed.
	layoutChanges uint64
	// overfull is set when a segment became empty while the pool held more than
	// threshold.
	overfull bool
	counters *track.Counters
	tags     track.Tags
	inFlight inflight.Blocks
	streams  blockStreams
	// paged is nil in a segmented pool.
	paged *paging
	// neverCompletes is set when blocks stay in flight for ever, after a Close that failed.
	neverCompletes bool
	scratch        scratch
	// graphs is the state of the end of the graphs; nil except in a private pool.
	graphs *graphsEnd
	// debug is nil unless the debug mode is on.
	debug *memcheck.Checker
	lent  lentTables
}

// lock takes mu for a change of the pool's own counters.
func (h *heap) lock() {
	h.mu.Lock()
	if h.frozen {
		h.awaitThaw()
	}
}

func (h *heap) awaitThaw() {
	h.awaiting++
	for h.frozen {
		h.thawed.Wait()
	}
	if h.awaiting--; h.awaiting == 0 {
		h.passed.Broadcast()
	}
}

func (h *heap) closedError(op string) error {
	return device.Errorf(device.CodeInvalidState, op, "pool %q is closed", h.config.Name).On(h.engine.ID())
}

// broken reports a state that the pool's own rules exclude. It panics, so that the export
// layer stops the library instead of allocating the same memory twice.
func (h *heap) broken(op string, err error) {
	panic(device.Errorf(device.CodeInternal, op, "pool %q: %w", h.config.Name, err).On(h.engine.ID()))
}

// graphsEnd is the state of the end of a private pool's graphs, guarded by heap.mu.
type graphsEnd struct {
	// released is set when all graphs were released. fence completes at the end of the
	// last run of a graph; without a fence, the last run has completed.
	released bool
	fence    inflight.Fence
}

// graphsRun reports whether graphs may still run on the memory of a private pool.
func (h *heap) graphsRun() bool {
	return h.graphs != nil && (!h.graphs.released || h.inFlight.IsOpen(h.graphs.fence))
}

type state uint8

const (
	stateOpen state = iota
	stateClosing
	stateClosed
)

// scratch has buffers that batches reuse, guarded by mu.
type scratch struct {
	located []located
	slice   []located
	behind  []inflight.Fence
	offsets []uint64
	runs    []rangealloc.Run
	ranges  []rangealloc.Range
}

// room returns a buffer for n ranges.
func (s *scratch) room(n int) []rangealloc.Range {
	if n > cap(s.ranges) {
		s.ranges = make([]rangealloc.Range, n)
	}
	return s.ranges[:n]
}
