package pool

import "ferrum_mem/core/device"

// RecordStream states that a stream (nil: the default one) also uses a live block. The
// free of the block then waits for the work that is queued on that stream at the time of
// the free. Errors: CodeDoubleFree or CodeInvalidAddress if no live block starts at the
// address.
func (p *Pool) RecordStream(addr device.Addr, stream device.Stream) error {
	if stream == nil {
		stream = p.heap.defaultStream
	}
	if p.family.graphs.AnyPrivate() {
		owner := p
		if private := p.family.privateOf(addr); private != nil {
			owner = private
		}
		g, _, err := p.family.graphOf(stream)
		if err != nil {
			return err
		}
		if g != nil {
			stream = g.BranchOf(stream)
		}
		if owner != p {
			return owner.RecordStream(addr, stream)
		}
	}
	for {
		p.heap.lock()
		if p.heap.state != stateOpen {
			p.heap.mu.Unlock()
			return p.heap.closedError(opRecord)
		}
		l, ok := p.heap.locateGiven(addr)
		if !ok || l.info().state() != blockLeased {
			if ok && l.info().state() == blockLive {
				defer p.heap.mu.Unlock()
				p.heap.streams.record(l, stream)
				return nil
			}
			p.heap.mu.Unlock()
			return p.heap.notLive(opRecord, addr)
		}
		p.heap.mu.Unlock()
		if err := p.leases.takeOver(addr); err != nil {
			return err
		}
	}
}
