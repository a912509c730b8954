package pool

import (
	"fmt"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
)

// privateGrowthBytes is the size of the segments of a private pool, unless a block
// needs more or the pool itself grows by less.
const privateGrowthBytes = 8 << 20

// newPrivate makes the private pool of a graph. It takes segments, not pages: what a
// graph uses is neither unmapped nor moved. The pool's bound holds for it by itself.
// Captures do not begin or end meanwhile.
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
	c.Debug, c.unchecked = 0, true
	made, err := newPool(p.heap.engine, c, nil, p.supply.source)
	if err != nil {
		return nil, err
	}
	made.family.parent, made.heap.graphs = p, &graphsEnd{}
	return made, nil
}

// privateOf is the private pool in whose segments an address lies, or nil.
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

// letGo says that no graph runs any more once the event has passed, which is the pool's;
// nil: none runs now.
func (h *heap) letGo(event device.Event) {
	h.lock()
	defer h.mu.Unlock()
	h.graphs.released = true
	if event != nil {
		h.graphs.fence = h.inFlight.Fence(nil, event)
	}
}

// drained says that a private pool is of no more use to anybody.
func (h *heap) drained() bool {
	h.lockLanded()
	defer h.mu.Unlock()
	if h.graphsRun() {
		return false
	}
	return !slices.ContainsFunc(h.segments, func(s *segment) bool { return !s.empty() })
}

// sweepGraphs closes private pools that have come to their end. What the device does not
// take now is tried again by the next call.
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
			// Another thread does the same.
			continue
		}
		if err != nil {
			m.pool.heap.engine.Log(engine.Warning, fmt.Sprintf("pool %q could not give its memory back: %v", private.heap.config.Name, err))
			continue
		}
		m.graphs.Forget(private)
	}
}

// PrivatePools lists the private pools of graphs, each a pool with books of its own.
func (p *Pool) PrivatePools() []*Pool { return slices.Clone(p.family.graphs.Private()) }

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

// closeGraphs ends all graphs with the pool: none of them runs any more. No capture
// begins: graphs are shut.
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
