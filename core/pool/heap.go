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

// heap is the memory of a pool and what lies in it: the segments with their strategies, the
// tables of the blocks, the blocks in flight, the books, and what the checks know. It says
// what is where; how memory comes and goes is decided above it. The first three fields
// stay as they are, ended says itself how it is read, and all others are under mu; the methods
// want mu held but for those that say they take it.
type heap struct {
	engine        *engine.Engine
	config        Config
	defaultStream device.Stream

	mu    mirror.Lock
	state state
	// ended is true while state is another than stateOpen, for a call that would only wait
	// for the lock, which a close takes again and again, to hear so.
	ended atomic.Bool
	// frozen says that the caches are being counted: the pool's own books stand
	// still, until thawed is signalled.
	frozen bool
	thawed *sync.Cond
	// awaiting counts the threads that wait for thawed. The books stand still again
	// only when all of them have had the lock, which passed is signalled for: else a
	// call that freezes slice by slice could keep them waiting until its end.
	awaiting int
	passed   *sync.Cond
	// maxSize, minHeld and threshold are the live values of the configuration.
	maxSize, minHeld, threshold uint64
	// segments is sorted by address; recent is the one that was used last.
	segments []*segment
	recent   *segment
	// held is the sum of the segments; it changes under layout and mu. Segments
	// that are on their way to the device still count.
	held uint64
	// born counts the segments that the pool ever had.
	born uint64
	// relaid counts how often a segment came or went.
	relaid uint64
	// overfull says that a segment came free while more than threshold was held.
	overfull bool
	books    *track.Books
	tags     track.Tags
	inFlight inflight.Blocks
	streams  blockStreams
	// paged is nil in a pool that takes segments whole.
	paged *paging
	// grounded says that blocks are in flight for good, after a Close that failed.
	grounded bool
	scratch  scratch
	// graphs is what is known of the end of the graphs of a private pool; nil in any other.
	graphs *graphsEnd
	// debug is nil unless the pool checks what is done with its blocks.
	debug *memcheck.Checker
	loans loans
}

// lock takes mu for a change of the pool's own books.
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

// broken reports a state that the pool's own rules exclude. It panics: the
// export layer stops the library then, rather than hand out memory twice.
func (h *heap) broken(op string, err error) {
	panic(device.Errorf(device.CodeInternal, op, "pool %q: %w", h.config.Name, err).On(h.engine.ID()))
}

// graphsEnd is what a private pool knows of the end of its graphs, under heap.mu.
type graphsEnd struct {
	// released says that all graphs were, and fence is the end of the last run; none: it
	// is over.
	released bool
	fence    inflight.Fence
}

// graphsRun says that graphs may still run on the memory of a private pool.
func (h *heap) graphsRun() bool {
	return h.graphs != nil && (!h.graphs.released || h.inFlight.IsOpen(h.graphs.fence))
}

type state uint8

const (
	stateOpen state = iota
	stateClosing
	stateClosed
)

// scratch is room for batches that is used again, under mu.
type scratch struct {
	located []located
	slice   []located
	behind  []inflight.Fence
	offsets []uint64
	runs    []rangealloc.Run
	ranges  []rangealloc.Range
}

// room is space for n ranges.
func (s *scratch) room(n int) []rangealloc.Range {
	if n > cap(s.ranges) {
		s.ranges = make([]rangealloc.Range, n)
	}
	return s.ranges[:n]
}
