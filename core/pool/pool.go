package pool

import (
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/memcheck"
	"ferrum_mem/core/mirror"
	"ferrum_mem/core/pool/graphs"
	"ferrum_mem/core/pool/inflight"
	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/track"
)

// Pool hands out blocks by address. All methods are safe for concurrent use.
// After Close every call that can fail fails with CodeInvalidState.
type Pool struct {
	engine *engine.Engine
	config Config
	// source is where all segments come from.
	source        engine.Source
	defaultStream device.Stream

	layout sync.Mutex
	census sync.Mutex

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
	// batches counts the frees in slices that are under way, some of whose blocks may be
	// leaving; passed is signalled when one is over.
	batches int
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
	// streams are those that RecordStream named, by block.
	streams      map[device.Addr][]device.Stream
	blockStreams blockStreams
	leases       leases
	// paged is nil in a pool that takes segments whole.
	paged *paging
	// grounded says that blocks are in flight for good, after a Close that failed.
	grounded bool
	scratch  scratch
	// graphs is the graphs that were captured for the pool, with their private pools.
	graphs graphs.Registry[*Pool]
	// keeping is nil but in a private pool, and parked counts blocks that graphs still
	// use, and that are behind no fence yet.
	keeping *keeping
	parked  uint64
	// shownAt is where the books can be read; nil: nowhere.
	shownAt *mirror.Pool
	// debug is nil unless the pool checks what is done with its blocks.
	debug *memcheck.Checker
}

// graph and branch are those of this pool.
type (
	graph  = graphs.Graph[*Pool]
	branch = graphs.Branch[*Pool]
)

type state uint8

const (
	stateOpen state = iota
	stateClosing
	stateClosed
)

// Name is the pool's name.
func (p *Pool) Name() string { return p.config.Name }

// Engine is the engine that the pool draws on.
func (p *Pool) Engine() *engine.Engine { return p.engine }

// Config is the settings, with their defaults filled in and with the present
// bounds.
func (p *Pool) Config() Config {
	p.mu.Peek()
	defer p.mu.Unlock()
	c := p.config
	c.MaxSizeBytes, c.MinHeldBytes, c.ReleaseThresholdBytes = p.maxSize, p.minHeld, p.threshold
	return c
}

// lock takes mu for a change of the pool's own books.
func (p *Pool) lock() {
	p.mu.Lock()
	if p.frozen {
		p.awaitThaw()
	}
}

func (p *Pool) awaitThaw() {
	p.awaiting++
	for p.frozen {
		p.thawed.Wait()
	}
	if p.awaiting--; p.awaiting == 0 {
		p.passed.Broadcast()
	}
}

// Tag gives a name a number for Request.TagNumber, which stays for the pool's
// life; 0 is the pool's own name. Errors: CodeInvalidArgument for a name that is
// empty or too long, CodeResourceExhausted after 4095 names.
func (p *Pool) Tag(name string) (number uint32, err error) {
	const op = "pool.tag"
	if name == "" || len(name) > MaxNameBytes {
		return 0, device.Errorf(device.CodeInvalidArgument, op,
			"tag %q has %d bytes, 1 to %d are allowed", name, len(name), MaxNameBytes).On(p.engine.ID())
	}
	p.mu.Peek()
	defer p.mu.Unlock()
	if p.state == stateClosed {
		return 0, p.closedError(op)
	}
	number, ok := p.tags.Keep(name)
	if !ok {
		return 0, device.Errorf(device.CodeResourceExhausted, op,
			"tag %q: pool %q has %d tags already", name, p.config.Name, track.MaxKeptTags).On(p.engine.ID())
	}
	return number, nil
}

// IsOver says that the pool has ended or is ending: what Close does not refuse.
func (p *Pool) IsOver() bool {
	if p.graphs.IsShut() {
		return true
	}
	p.mu.Peek()
	defer p.mu.Unlock()
	return p.state != stateOpen
}

func (p *Pool) closedError(op string) error {
	return device.Errorf(device.CodeInvalidState, op, "pool %q is closed", p.config.Name).On(p.engine.ID())
}

// broken reports a state that the pool's own rules exclude. It panics: the
// export layer stops the library then, rather than hand out memory twice.
func (p *Pool) broken(op string, err error) {
	panic(device.Errorf(device.CodeInternal, op, "pool %q: %w", p.config.Name, err).On(p.engine.ID()))
}

const opAlloc = "pool.alloc"

const opFree = "pool.free"

const opClose = "pool.close"

const opRecord = "pool.record_stream"

const opReset = "pool.reset"

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

// keeping is what a private pool knows of the end of its graphs, under Pool.mu.
type keeping struct {
	// family is the pool that the graphs were captured for.
	family *Pool
	// released says that all graphs were, and fence is the end of the last run; none: it
	// is over.
	released bool
	fence    inflight.Fence
}
