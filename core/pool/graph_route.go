package pool

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/graphs"
)

// Choosing the pool that serves a call. While a pool has no private pools, a call only
// reads one counter for this.

// family is a pool and the private pools of the graphs that were captured for it. It
// chooses the pool that serves a call.
type family struct {
	// pool is the pool to which the family belongs.
	pool *Pool
	// graphs has the graphs that were captured for the pool, with their private pools.
	graphs graphs.Registry[*Pool]
	// parent is the pool for which the graphs of a private pool were captured; nil for
	// other pools.
	parent *Pool
}

// head returns the family that has the graphs: this one, or that of the parent of a
// private pool.
func (m *family) head() *family {
	if m.parent != nil {
		return &m.parent.family
	}
	return m
}

// graphOf returns the graph for which a stream is captured, and whether the capture was
// invalidated. It returns nil if no capture that began in this pool includes the stream.
func (m *family) graphOf(stream device.Stream) (g *graph, spoilt bool, err error) {
	return m.head().graphs.OfStream(stream)
}

// routed returns the private pool that serves an allocation, and the request for that
// pool. It returns nil if the pool itself serves the allocation.
func (m *family) routed(n *need) (*Pool, *need, error) {
	g, spoilt, err := m.graphOf(n.stream)
	if g == nil {
		return nil, nil, err
	}
	if spoilt {
		return nil, nil, device.Errorf(device.CodeInvalidState, opAlloc,
			"size_bytes %d: the capture of the stream, graph %d, was invalidated by an earlier error: end the capture",
			n.requested, g.Number()).On(m.pool.heap.engine.ID())
	}
	r := Request{SizeBytes: n.requested, AlignmentBytes: n.Align, Tag: n.tag, End: n.End, Group: n.Group}
	if r.Tag == "" && n.tagNumber != 0 {
		m.pool.heap.mu.Lock()
		tag, err := m.pool.heap.tagOf(n)
		if err == nil {
			r.Tag = m.pool.heap.tags.Name(tag)
		}
		m.pool.heap.mu.Unlock()
		if err != nil {
			return nil, nil, err
		}
	}
	private, inside := g.Private(), new(need)
	if err := private.heap.check(&r, inside); err != nil {
		return nil, nil, err
	}
	inside.count, inside.stream = n.count, g.BranchOf(n.stream)
	return private, inside, nil
}

// freeRouted is freeManyRouted for one block.
func (m *family) freeRouted(addr device.Addr, size uint64, stream device.Stream) (done bool, err error) {
	if !m.graphs.AnyPrivate() {
		return false, nil
	}
	return m.freeManyRouted(&pendingFree{addrs: []device.Addr{addr}, stream: stream, size: size})
}

// freeManyRouted frees blocks if graphs use the blocks or the stream. It returns false if
// the pool itself has to free the blocks.
func (m *family) freeManyRouted(j *pendingFree) (done bool, err error) {
	var g *graph
	if j.stream != nil {
		if g, _, err = m.graphOf(j.stream); err != nil {
			return true, err
		}
	}
	owners, byOwner := m.ownersOf(j.addrs)
	if g == nil && len(owners) == 1 && owners[0] == m.pool {
		return false, nil
	}
	if len(owners) > 1 {
		if err := m.checkMixed(j.addrs); err != nil {
			return true, err
		}
	}
	for _, owner := range owners {
		part := &pendingFree{
			addrs: byOwner[owner], stream: j.stream, size: j.size, batch: j.batch, events: j.events, idle: j.idle,
		}
		if err := m.freePart(owner, g, part); err != nil {
			return true, err
		}
	}
	return true, nil
}

// freePart frees blocks of one pool. Without a stream, the blocks wait only for events.
func (m *family) freePart(owner *Pool, g *graph, j *pendingFree) (err error) {
	switch {
	case g != nil && owner == g.Private():
		// Later work of the same branch may reuse the blocks; all other work has to wait
		// for the end of the capture.
		b := g.BranchOf(j.stream)
		j.stream, j.streams, j.marks = b, []device.Stream{b}, []device.Event{g.End()}
	case g != nil:
		// The graph will use the blocks whenever it runs.
		j.idle, j.graphs, j.captured = true, []*graph{g}, []device.Stream{j.stream}
	default:
		// The stream does not know what captures have done with the blocks.
		j.events = append(slices.Clone(j.events), m.graphs.EndsOf(owner)...)
		if j.stream != nil {
			if j.idle, err = device.IsDry(j.stream); err != nil {
				return err
			}
		}
	}
	return owner.frees.retire(j)
}

// ownersOf groups addresses by the pool that contains them. Addresses that are in no
// private pool are assigned to the pool itself.
func (m *family) ownersOf(addrs []device.Addr) (owners []*Pool, byOwner map[*Pool][]device.Addr) {
	byOwner = map[*Pool][]device.Addr{}
	for _, addr := range addrs {
		owner := m.pool
		if private := m.privateOf(addr); private != nil {
			owner = private
		}
		if len(byOwner[owner]) == 0 {
			owners = append(owners, owner)
		}
		byOwner[owner] = append(byOwner[owner], addr)
	}
	return owners, byOwner
}

// checkMixed rejects an invalid batch of addresses in several pools before a block of it
// is freed.
func (m *family) checkMixed(addrs []device.Addr) error {
	seen := map[device.Addr]bool{}
	for i, addr := range addrs {
		if seen[addr] {
			return device.Errorf(device.CodeDoubleFree, opFree, "addresses[%d]: address %#x is listed twice",
				i, uint64(addr)).On(m.pool.heap.engine.ID())
		}
		seen[addr] = true
		if _, err := m.pool.UsableSize(addr); err != nil {
			return device.Errorf(device.CodeOf(err), opFree, "addresses[%d]: %w", i, err).On(m.pool.heap.engine.ID())
		}
	}
	return nil
}
