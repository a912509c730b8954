package pool

import (
	"fmt"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
)

// privateGrowthBytes is the size of the segments of a private pool. A segment is larger
// if a block needs more, and smaller if the parent pool grows by less.
const privateGrowthBytes = 8 << 20

// newPrivate creates the private pool of a graph. It has segments and no pages, because
// memory that a graph uses must be neither unmapped nor moved. The bound of the parent
// pool applies to the private pool separately. No capture begins or ends during the call.
func (p *Pool) newPrivate(number uint64) (*Pool, error) {
	c := p.Config()
	bound := c.mostHeld(p.heap.engine)
	name := c.Name[:min(len(c.Name), MaxNameBytes-24)]
	c.Name = fmt.Sprintf("%s/graph %d", name, number)
	c.GrowthIncrementBytes = privateGrowthBytes
	if p.heap.config.GrowthIncrementBytes != 0 {
		c.GrowthIncrementBytes = min(c.GrowthIncrementBytes, p.heap.config.GrowthIncrementBytes)
	}
	c.InitialSizeBytes = c.GrowthIncrementBytes
	if !c.AutoExpansion || c.MaxSizeBytes != 0 {
		c.MaxSizeBytes, c.InitialSizeBytes = bound, min(c.InitialSizeBytes, bound)
	}
	c.AutoExpansion, c.PreAlloc = true, false
	c.MinHeldBytes, c.ReleaseThresholdBytes = 0, NeverRelease
	c.Paging, c.ThreadCacheBytes = PagingOff, 0
	// Call sites are only recorded. The other checks would have to be captured.
	c.Debug, c.unchecked = c.Debug&DebugCallSites, true
	made, err := newPool(p.heap.engine, c, nil, p.supply.source)
	if err != nil {
		return nil, err
	}
	made.family.parent, made.heap.graphs = p, &graphsEnd{}
	return made, nil
}

// privateOf returns the private pool whose segments contain an address, or nil.
func (m *family) privateOf(addr device.Addr) *Pool {
	if !m.graphs.AnyPrivate() {
		return nil
	}
	for _, private := range m.graphs.Private() {
		private.heap.mu.Lock()
		in := private.heap.segmentOf(addr) != nil
		private.heap.mu.Unlock()
		if in {
			return private
		}
	}
	return nil
}

// setLastRun states that the last graph was released and runs no more after the event has
// completed; a nil event means that no graph runs now. The pool owns the event.
func (h *heap) setLastRun(event device.Event) {
	h.lock()
	defer h.mu.Unlock()
	h.graphs.released = true
	if event != nil {
		h.graphs.fence = h.inFlight.Fence(nil, event)
	}
}

// drained reports whether a private pool has no block left and no graph that may run.
func (h *heap) drained() bool {
	h.lockCompleted()
	defer h.mu.Unlock()
	if h.graphsRun() {
		return false
	}
	return !slices.ContainsFunc(h.segments, func(s *segment) bool { return !s.empty() })
}

// sweepGraphs closes private pools that are drained. If the device does not accept the
// memory now, the next call tries again.
func (m *family) sweepGraphs() {
	if !m.graphs.AnyPrivate() {
		return
	}
	for _, private := range m.graphs.Private() {
		if !private.heap.drained() {
			continue
		}
		err := private.Close(false)
		if device.CodeOf(err) == device.CodeInvalidState {
			// Another thread is closing this pool.
			continue
		}
		if err != nil {
			m.pool.heap.engine.Log(engine.Warning, fmt.Sprintf("pool %q could not release its memory: %v", private.heap.config.Name, err))
			continue
		}
		m.graphs.Forget(private)
	}
}

// awaitLastRuns waits for the last runs of released graphs, and closes their private
// pools. It does not wait if a graph was not released, or a block of a private pool is
// live, because then the pool cannot be closed.
func (m *family) awaitLastRuns() error {
	if !m.graphs.AnyPrivate() || len(m.graphs.Numbers()) > 0 {
		return nil
	}
	for _, private := range m.graphs.Private() {
		if private.Statistics().LiveBlocks.Current > 0 {
			return nil
		}
	}
	for _, private := range m.graphs.Private() {
		if err := private.supply.waitForFlights(); err != nil {
			return err
		}
	}
	m.sweepGraphs()
	return nil
}

// PrivatePools returns the private pools of graphs. Each of them has its own counters.
func (p *Pool) PrivatePools() []*Pool { return slices.Clone(p.family.graphs.Private()) }

// GraphInfo describes a graph at one moment. The bytes of the private pool include all
// graphs that share it.
type GraphInfo struct {
	// Capturing is set until CaptureEnd was called.
	Capturing bool
	// Sharing is the number of graphs that use the private pool, including this one.
	Sharing uint64
	// HeldBytes is the memory that the private pool holds from the device. LiveBytes is
	// the size of its LiveBlocks live blocks.
	HeldBytes, LiveBytes, LiveBlocks uint64
	// ParkedBytes is the size of blocks that were allocated outside the capture and freed
	// during it. They stay reserved until the graph is released.
	ParkedBytes uint64
}

// CaptureInfo describes a graph that was not released. It returns CodeNotFound if there
// is no such graph.
func (p *Pool) CaptureInfo(number uint64) (GraphInfo, error) {
	g, err := p.family.graphs.Info(number)
	if err != nil {
		return GraphInfo{}, err
	}
	info := GraphInfo{Capturing: g.Capturing, Sharing: g.Sharing, ParkedBytes: g.ParkedBytes}
	stats := g.Private.Statistics()
	info.HeldBytes = g.Private.HeldBytes()
	info.LiveBytes, info.LiveBlocks = stats.Allocated.Current, stats.LiveBlocks.Current
	return info, nil
}

// closeGraphs ends all graphs with the pool, when none of them runs any more. The caller
// has shut the registry, so that no capture begins.
func (p *Pool) closeGraphs() error {
	for _, number := range p.family.graphs.Numbers() {
		if err := p.CaptureRelease(number, nil); err != nil && device.CodeOf(err) != device.CodeNotFound {
			return err
		}
	}
	for _, private := range p.family.graphs.Private() {
		if err := private.Close(true); err != nil {
			return err
		}
		p.family.graphs.Forget(private)
	}
	return nil
}
