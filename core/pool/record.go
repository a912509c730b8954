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
		stream = p.defaultStream
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
		p.lock()
		if p.state != stateOpen {
			p.mu.Unlock()
			return p.closedError(opRecord)
		}
		l, ok := p.locateGiven(addr)
		if !ok || l.info().state() != blockLeased {
			if ok && l.info().state() == blockLive {
				defer p.mu.Unlock()
				p.recordOf(l, stream)
				return nil
			}
			p.mu.Unlock()
			return p.notLive(opRecord, addr)
		}
		p.mu.Unlock()
		if err := p.takeOver(addr); err != nil {
			return err
		}
	}
}

// recordOf notes that a stream uses a live block.
func (p *Pool) recordOf(l located, stream device.Stream) {
	if p.streams == nil {
		p.streams = make(map[device.Addr][]device.Stream)
	}
	if named := p.streams[l.addr()]; !slices.Contains(named, stream) {
		p.streams[l.addr()] = append(named, stream)
	}
	l.setInfo(l.info() | recordedBit)
}
