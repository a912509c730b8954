package pool

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/track"
)

const opFree = "pool.free"

// Free gives a block back. Its memory is handed out again once the work that is
// queued on the stream now (nil: the default one) is done. It does not wait.
// Errors: CodeDoubleFree for an address that is free or in flight,
// CodeInvalidAddress inside a block or outside; those of the stream. A failed
// call changes nothing: the block is as live as before.
func (p *Pool) Free(addr device.Addr, stream device.Stream) error {
	if stream == nil {
		stream = p.defaultStream
	}
	idle, err := stream.Idle()
	if err != nil {
		return err
	}
	if idle {
		return p.retireBlock(addr, nil)
	}
	event, err := stream.RecordEvent()
	if err != nil {
		return err
	}
	if err := p.retireBlock(addr, stream, event); err != nil {
		return errors.Join(err, event.Close())
	}
	return nil
}

// FreeAfter gives a block back whose memory is handed out again once all events
// have passed. The pool closes the events, unless the call fails. Errors: as
// Free; CodeInvalidArgument for a nil event.
func (p *Pool) FreeAfter(addr device.Addr, events []device.Event) error {
	for i, event := range events {
		if event == nil {
			return device.Errorf(device.CodeInvalidArgument, opFree,
				"event %d of %d is nil", i, len(events)).On(p.engine.ID())
		}
	}
	return p.retireBlock(addr, nil, events...)
}

// retireBlock ends a block's life; it stays in flight until the events have
// passed.
func (p *Pool) retireBlock(addr device.Addr, stream device.Stream, events ...device.Event) error {
	p.mu.Lock()
	if p.state != stateOpen {
		p.mu.Unlock()
		return p.closedError(opFree)
	}
	e := p.blocks.find(addr)
	if e == nil || e.state != blockLive {
		defer p.mu.Unlock()
		return p.notLive(addr, e)
	}
	sizes := track.Block{RequestedBytes: e.requested, AllocatedBytes: e.size}
	p.books.Retire(sizes)
	p.tags.Leave(e.tag, sizes)
	if len(events) == 0 {
		p.returnBlock(e)
	} else {
		e.state = blockInFlight
		p.flights.push(addr, stream, events...)
	}
	if p.flights.count > 0 {
		p.land(pollBudget)
	}
	p.mu.Unlock()
	p.engine.Changed()
	return nil
}

// notLive says what an address is that no live block starts at. It may look at
// every block of a segment. The caller holds mu.
func (p *Pool) notLive(addr device.Addr, e *entry) error {
	if e != nil {
		return device.Errorf(device.CodeDoubleFree, opFree,
			"address %#x: the block of %d bytes was freed and is still in use by queued work",
			uint64(addr), e.size).On(p.engine.ID())
	}
	s := p.segmentOf(addr)
	if s == nil {
		return device.Errorf(device.CodeInvalidAddress, opFree,
			"address %#x lies in none of the %d segments of pool %q", uint64(addr),
			len(p.segments), p.config.Name).On(p.engine.ID())
	}
	err := device.Errorf(device.CodeInvalidAddress, opFree,
		"address %#x lies in the unusable part of the segment of %d bytes at %#x", uint64(addr),
		s.had.SizeBytes, uint64(s.had.Addr)).On(p.engine.ID())
	s.strategy.Walk(func(b rangealloc.Block) bool {
		start := s.base + device.Addr(b.Offset)
		if addr < start || addr-start >= device.Addr(b.Size) {
			return true
		}
		if b.Live {
			err = device.Errorf(device.CodeInvalidAddress, opFree,
				"address %#x lies %d bytes inside the block of %d bytes at %#x", uint64(addr),
				uint64(addr-start), b.Size, uint64(start)).On(p.engine.ID())
		} else {
			err = device.Errorf(device.CodeDoubleFree, opFree,
				"address %#x is free: no block starts there in the segment of %d bytes at %#x",
				uint64(addr), s.had.SizeBytes, uint64(s.had.Addr)).On(p.engine.ID())
		}
		return false
	})
	return err
}
