package pool

import (
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/track"
)

// NewPinned is NewInGroup for a pool of page-locked host memory that the device can also
// address. The pool is segmented. If the memory is not part of the device's own memory,
// it is counted only in group. It returns CodeUnsupported for a device without such
// memory.
func NewPinned(e *engine.Engine, c Config, group *track.Totals) (*Pool, error) {
	return newFrom(e, c, group, engine.SourcePinned)
}

// NewManaged is NewPinned for a pool of managed memory.
func NewManaged(e *engine.Engine, c Config, group *track.Totals) (*Pool, error) {
	return newFrom(e, c, group, engine.SourceManaged)
}

// newFrom creates a pool whose segments come from one source. Only the device's own
// memory can be mapped page by page.
func newFrom(e *engine.Engine, c Config, group *track.Totals, source engine.Source) (*Pool, error) {
	const op = "pool.new"
	if source == engine.SourceDevice {
		return newPool(e, c, group, source)
	}
	if err := e.Has(source); err != nil {
		return nil, err
	}
	if c.Paging == PagingOn {
		return nil, device.Errorf(device.CodeInvalidConfig, op,
			"paging is %d (on): %v is allocated in segments", c.Paging, source).On(e.ID())
	}
	if c.StreamOrdered != (source == engine.SourceOrdered) {
		return nil, device.Errorf(device.CodeInvalidConfig, op,
			"segment_source is stream ordered, and %v is not", source).On(e.ID())
	}
	// check rejects all other invalid values.
	if c.Paging == PagingAuto {
		c.Paging = PagingOff
	}
	return newPool(e, c, group, source)
}

// HostAddr returns the host address for a device address of a pool of page-locked or
// managed memory. It returns 0 for any other address and any other pool.
func (p *Pool) HostAddr(addr device.Addr) device.HostAddr {
	p.heap.mu.Lock()
	defer p.heap.mu.Unlock()
	s := p.heap.segmentOf(addr)
	if s == nil || s.memory.HostAddr == 0 {
		return 0
	}
	return s.memory.HostAddr + device.HostAddr(addr-s.memory.Addr)
}

// New creates a pool on an engine. Errors: CodeInvalidConfig; CodeInvalidAlignment;
// CodeNotFound for an unknown strategy; with PreAlloc also those of an allocation.
func New(e *engine.Engine, c Config) (*Pool, error) {
	return NewInGroup(e, c, nil)
}

// NewInGroup is New for a pool that is also counted in group; nil means no group. The
// group records the peaks of the sum over its pools.
func NewInGroup(e *engine.Engine, c Config, group *track.Totals) (*Pool, error) {
	source := engine.SourceDevice
	if c.StreamOrdered {
		source = engine.SourceOrdered
	}
	return newFrom(e, c, group, source)
}

func newPool(e *engine.Engine, c Config, group *track.Totals, source engine.Source) (*Pool, error) {
	c = c.withDefaults().debugging(e)
	if err := c.check(e); err != nil {
		return nil, err
	}
	var totals []*track.Totals
	if e.Holds(source) {
		totals = append(totals, e.Totals())
	}
	if group != nil {
		totals = append(totals, group)
	}
	p := &Pool{
		heap: heap{
			engine: e, config: c,
			maxSize: c.MaxSizeBytes, minHeld: c.MinHeldBytes, threshold: c.ReleaseThresholdBytes,
			defaultStream: e.Device().DefaultStream(),
			counters:      track.NewCounters(c.Stats, totals...),
		},
	}
	p.heap.streams.defaultStream = p.heap.defaultStream
	p.leases.heap = &p.heap
	p.family.pool = p
	p.frees = frees{
		heap: &p.heap, leases: &p.leases, supply: &p.supply,
		completeFrees: p.CompleteFrees, askSiblings: p.askSiblings, markGraph: p.family.markGraph, park: p.park,
	}
	p.supply.heap, p.supply.owner, p.supply.source = &p.heap, p, source
	if err := p.supply.startPaging(); err != nil {
		p.heap.counters.Close()
		return nil, err
	}
	if p.heap.paged != nil {
		p.heap.paged.worker.work, p.supply.checkCaches = p.supply.work, p.checkCaches
	}
	p.heap.startDebug()
	p.heap.thawed, p.heap.passed = sync.NewCond(&p.heap.mu), sync.NewCond(&p.heap.mu)
	p.heap.lent = lentTables{
		heap:   &p.heap,
		others: func() bool { return p.family.graphs.AnyCapturing() || p.family.graphs.AnyPrivate() },
	}
	p.heap.lent.recall = p.heap.lent.recallTables
	p.heap.inFlight.Init(p.heap.debug == nil || !p.heap.debug.NeedsFreed())
	p.heap.tags.Keep(c.Name)
	p.family.graphs.Init(c.Name, e.ID(), p.leases.pauseCache)
	if e.Holds(source) {
		if err := e.Register(p); err != nil {
			p.heap.counters.Close()
			p.heap.endDebug()
			return nil, err
		}
	} else {
		e.PublishLone()
	}
	if c.PreAlloc {
		if err := p.supply.preAlloc(); err != nil {
			p.supply.discardSpaces()
			p.heap.mu.Lock()
			p.heap.state = stateClosed
			p.heap.counters.Close()
			p.heap.mu.Unlock()
			e.Unregister(p)
			p.heap.endDebug()
			return nil, err
		}
	}
	return p, nil
}
