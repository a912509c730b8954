package pool

import (
	"fmt"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool/inflight"
)

// privateGrowthBytes is the size of the segments of a private pool, unless a block
// needs more or the pool itself grows by less.
const privateGrowthBytes = 8 << 20

// privatePool is the pool of one graph, or of several that share it.
type privatePool struct {
	*Pool
	// graphs counts those that were not released. It is under graphs.mu of the pool
	// that they were captured for.
	graphs int
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

// newPrivate makes the private pool of a graph. It takes segments, not pages: what a
// graph uses is neither unmapped nor moved. The pool's bound holds for it by itself.
// The caller holds graphs.mu.
func (p *Pool) newPrivate(number uint64) (*privatePool, error) {
	c := p.Config()
	bound := c.mostHeld(p.engine)
	name := c.Name[:min(len(c.Name), MaxNameBytes-24)]
	c.Name = fmt.Sprintf("%s/graph %d", name, number)
	c.GrowthIncrementBytes = privateGrowthBytes
	if p.config.GrowthIncrementBytes != 0 {
		c.GrowthIncrementBytes = min(c.GrowthIncrementBytes, p.config.GrowthIncrementBytes)
	}
	c.InitialSizeBytes = c.GrowthIncrementBytes
	if !c.AutoExpansion || c.MaxSizeBytes != 0 {
		c.MaxSizeBytes, c.InitialSizeBytes = bound, min(c.InitialSizeBytes, bound)
	}
	c.AutoExpansion, c.PreAlloc = true, false
	c.MinHeldBytes, c.ReleaseThresholdBytes = 0, NeverRelease
	c.Paging, c.ThreadCacheBytes = PagingOff, 0
	c.Debug, c.unchecked = 0, true
	made, err := newPool(p.engine, c, nil, p.source)
	if err != nil {
		return nil, err
	}
	made.keeping = &keeping{family: p}
	private := &privatePool{Pool: made}
	p.graphs.setPools(append(slices.Clone(p.graphs.list()), private))
	return private, nil
}

func (t *graphs) list() []*privatePool {
	if pools := t.pools.Load(); pools != nil {
		return *pools
	}
	return nil
}

// setPools replaces the list. The caller holds mu.
func (t *graphs) setPools(pools []*privatePool) {
	t.pools.Store(&pools)
	t.private.Store(int32(len(pools)))
}

// privateOf is the private pool in whose segments an address lies, or nil.
func (p *Pool) privateOf(addr device.Addr) *privatePool {
	if p.graphs.private.Load() == 0 {
		return nil
	}
	for _, private := range p.graphs.list() {
		private.mu.Lock()
		in := private.segmentOf(addr) != nil
		private.mu.Unlock()
		if in {
			return private
		}
	}
	return nil
}

// keeps says that graphs may still run on the memory of a private pool. The caller
// holds mu.
func (p *Pool) keeps() bool {
	k := p.keeping
	if k == nil {
		return false
	}
	return !k.released || p.inFlight.IsOpen(k.fence)
}

// letGo says that no graph runs any more once the event has passed, which is the pool's;
// nil: none runs now.
func (p *Pool) letGo(event device.Event) {
	p.lock()
	defer p.mu.Unlock()
	p.keeping.released = true
	if event != nil {
		p.keeping.fence = p.inFlight.Fence(nil, event)
	}
}

// drained says that a private pool is of no more use to anybody.
func (p *Pool) drained() bool {
	p.lockLanded()
	defer p.mu.Unlock()
	if p.keeps() {
		return false
	}
	return !slices.ContainsFunc(p.segments, func(s *segment) bool { return !s.empty() })
}

// sweepGraphs closes private pools that have come to their end. What the device does not
// take now is tried again by the next call.
func (p *Pool) sweepGraphs() {
	t := &p.graphs
	if t.private.Load() == 0 {
		return
	}
	for _, private := range t.list() {
		if !private.drained() {
			continue
		}
		err := private.Close(false)
		if device.CodeOf(err) == device.CodeInvalidState {
			// Another thread does the same.
			continue
		}
		if err != nil {
			p.engine.Log(engine.Warning, fmt.Sprintf("pool %q could not give its memory back: %v", private.config.Name, err))
			continue
		}
		p.forgetPrivate(private)
	}
}

func (p *Pool) forgetPrivate(private *privatePool) {
	t := &p.graphs
	t.mu.Lock()
	defer t.mu.Unlock()
	t.setPools(slices.DeleteFunc(slices.Clone(t.list()), func(other *privatePool) bool { return other == private }))
}

// PrivatePools lists the private pools of graphs, each a pool with books of its own.
func (p *Pool) PrivatePools() []*Pool {
	var pools []*Pool
	for _, private := range p.graphs.list() {
		pools = append(pools, private.Pool)
	}
	return pools
}

// GraphInfo is a graph at one moment. Bytes of the private pool are of all graphs
// that share it.
type GraphInfo struct {
	// Capturing says that CaptureEnd was not called yet.
	Capturing bool
	// Sharing counts the graphs of its private pool, this one included.
	Sharing uint64
	// HeldBytes is what the private pool has of the device, and LiveBytes, of
	// LiveBlocks blocks, what of that is live.
	HeldBytes, LiveBytes, LiveBlocks uint64
	// ParkedBytes is what was freed during the capture of blocks that had been
	// allocated outside of it, and stays until the graph is released.
	ParkedBytes uint64
}

// CaptureInfo describes a graph that was not released: CodeNotFound for any other.
func (p *Pool) CaptureInfo(number uint64) (GraphInfo, error) {
	t := &p.graphs
	t.mu.Lock()
	g := t.find(number)
	if g == nil {
		t.mu.Unlock()
		return GraphInfo{}, p.noGraph(opGraphInfo, "graph", number)
	}
	info := GraphInfo{Capturing: !g.over.Load(), Sharing: uint64(g.private.graphs), ParkedBytes: g.parkedBytes()}
	t.mu.Unlock()
	stats := g.private.Statistics()
	info.HeldBytes = g.private.HeldBytes()
	info.LiveBytes, info.LiveBlocks = stats.Allocated.Current, stats.LiveBlocks.Current
	return info, nil
}

// closeGraphs ends all graphs with the pool: none of them runs any more. No capture
// begins: graphs.closing is set.
func (p *Pool) closeGraphs() error {
	t := &p.graphs
	t.mu.Lock()
	graphs := slices.Clone(t.all)
	t.mu.Unlock()
	for _, g := range graphs {
		if err := p.CaptureRelease(g.number, nil); err != nil && device.CodeOf(err) != device.CodeNotFound {
			return err
		}
	}
	for _, private := range t.list() {
		if err := private.Close(true); err != nil {
			return err
		}
		p.forgetPrivate(private)
	}
	return nil
}

// graphsLeft is the error of a pool that cannot be closed because of its graphs.
func (p *Pool) graphsLeft() error {
	p.graphs.mu.Lock()
	defer p.graphs.mu.Unlock()
	return p.graphsLeftLocked()
}

// graphsLeftLocked is graphsLeft. The caller holds graphs.mu.
func (p *Pool) graphsLeftLocked() error {
	t := &p.graphs
	pools := t.list()
	if len(pools) == 0 {
		return nil
	}
	return device.Errorf(device.CodeBusy, opClose, "pool %q has %d graphs that were not released and %d private pools of graphs",
		p.config.Name, len(t.all), len(pools)).On(p.engine.ID())
}

// openGraphs lets captures begin again in a pool that was not closed.
func (p *Pool) openGraphs() {
	p.graphs.mu.Lock()
	p.graphs.closing.Store(false)
	p.graphs.mu.Unlock()
}
