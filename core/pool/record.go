package pool

import (
	"slices"

	"ferrum_mem/core/device"
)

// RecordStream says that a stream (nil: the default one) uses a live block too:
// once freed, the block also waits for the work that is queued on that stream at
// the time of its free. Errors: CodeDoubleFree or CodeInvalidAddress when no live
// block starts at the address.
func (p *Pool) RecordStream(addr device.Addr, stream device.Stream) error {
	if stream == nil {
		stream = p.heap.defaultStream
	}
	if p.graphs.AnyPrivate() {
		owner := p
		if private := p.privateOf(addr); private != nil {
			owner = private
		}
		g, _, err := p.graphOf(stream)
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
				p.heap.recordOf(l, stream)
				return nil
			}
			p.heap.mu.Unlock()
			return p.heap.notLive(opRecord, addr)
		}
		p.heap.mu.Unlock()
		if err := p.takeOver(addr); err != nil {
			return err
		}
	}
}

// recordOf notes that a stream uses a live block.
func (h *heap) recordOf(l located, stream device.Stream) {
	if h.streams == nil {
		h.streams = make(map[device.Addr][]device.Stream)
	}
	if named := h.streams[l.addr()]; !slices.Contains(named, stream) {
		h.streams[l.addr()] = append(named, stream)
	}
	l.setInfo(l.info() | recordedBit)
}
