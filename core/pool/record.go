package pool

import (
	"slices"

	"ferrum_mem/core/device"
)

// RecordStream states that a stream (nil: the default one) also uses a live block. The
// free of the block then waits for the work that is queued on that stream at the time of
// the free. Errors: CodeDoubleFree or CodeInvalidAddress if no live block starts at the
// address.
func (p *Pool) RecordStream(addr device.Addr, stream device.Stream) error {
	user, err := p.family.userOf(stream)
	if err != nil {
		return err
	}
	owner := p
	if private := p.family.privateOf(addr); private != nil {
		owner = private
	}
	_, err = owner.leases.recordUser([]device.Addr{addr}, user)
	return err
}

// RecordStreamBatch is RecordStream for many blocks: for all, or for none. An error about
// one block names it by its index. An address may be named twice.
func (p *Pool) RecordStreamBatch(addrs []device.Addr, stream device.Stream) error {
	user, err := p.family.userOf(stream)
	if err != nil {
		return err
	}
	owners, byOwner := []*Pool{p}, map[*Pool][]device.Addr{p: addrs}
	if p.family.graphs.AnyPrivate() {
		owners, byOwner = p.family.ownersOf(addrs)
	}
	if len(owners) > 1 {
		for i, addr := range addrs {
			if _, live := p.Lookup(addr); !live {
				return device.AtIndex("addresses", i, p.heap.notLive(opRecord, addr))
			}
		}
	}
	for _, owner := range owners {
		if at, err := owner.leases.recordUser(byOwner[owner], user); err != nil {
			return device.AtIndex("addresses", at, err)
		}
	}
	return nil
}

// userOf returns the stream to record for a stream of the caller: the default stream for
// nil, and the branch of the graph for a stream of a capture.
func (m *family) userOf(stream device.Stream) (device.Stream, error) {
	if stream == nil {
		stream = m.pool.heap.defaultStream
	}
	if !m.graphs.AnyPrivate() {
		return stream, nil
	}
	g, _, err := m.graphOf(stream)
	if g == nil || err != nil {
		return stream, err
	}
	return g.BranchOf(stream), nil
}

// recordUser records a stream for blocks of the pool and of no private one: for all, or
// for none. With an error it returns the index of the block. A long list is checked as a
// whole and then recorded, both in parts, so that other threads wait for one part at most.
func (l *leases) recordUser(addrs []device.Addr, stream device.Stream) (at int, err error) {
	for _, what := range []recording{checkOnly, checkAndRecord} {
		if what == checkOnly && len(addrs) <= heldBlocks {
			continue
		}
		for first := 0; first < len(addrs); first += heldBlocks {
			some := addrs[first:min(first+heldBlocks, len(addrs))]
			if at, err := l.recordSome(some, stream, what); err != nil {
				return first + at, err
			}
		}
	}
	return 0, nil
}

type recording bool

const (
	checkOnly      recording = false
	checkAndRecord recording = true
)

// recordSome is recordUser for a part of a list, or only its check.
func (l *leases) recordSome(addrs []device.Addr, stream device.Stream, what recording) (at int, err error) {
	for {
		l.heap.lock()
		if l.heap.state != stateOpen {
			l.heap.mu.Unlock()
			return 0, l.heap.closedError(opRecord)
		}
		leased, ended := l.heap.findEnded(addrs)
		if ended < 0 && len(leased) == 0 && what == checkAndRecord {
			l.heap.recordAll(addrs, stream)
		}
		l.heap.mu.Unlock()
		if ended < 0 && len(leased) > 0 && l.takeOverFrom(leased[0], leased) != nil {
			ended = slices.Index(addrs, leased[0])
		}
		if ended >= 0 {
			return ended, l.heap.notLive(opRecord, addrs[ended])
		}
		if len(leased) == 0 {
			return 0, nil
		}
	}
}

// findEnded returns the index of a block that is not live, or -1, and the blocks that are
// leased. The caller holds mu.
func (h *heap) findEnded(addrs []device.Addr) (leased []device.Addr, ended int) {
	for i, addr := range addrs {
		l, ok := h.locateGiven(addr)
		switch {
		case ok && l.info().state() == blockLive:
		case ok && l.info().state() == blockLeased:
			leased = append(leased, addr)
		default:
			return nil, i
		}
	}
	return leased, -1
}

// recordAll records a stream for live blocks. The caller holds mu.
func (h *heap) recordAll(addrs []device.Addr, stream device.Stream) {
	for _, addr := range addrs {
		l, _ := h.locateGiven(addr)
		h.streams.record(l, stream)
	}
}
