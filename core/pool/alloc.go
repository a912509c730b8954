package pool

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/track"
)

// Alloc allocates a block. Errors: CodeInvalidSize; CodeInvalidAlignment;
// CodeInvalidArgument for a tag that is too long or unknown; CodeOverflow for a size that
// cannot be rounded up; CodeResourceExhausted if the tables are full; CodeOutOfMemory, at
// once if the request can never fit, otherwise after Engine.FindRoom found no memory.
// After an error, blocks and counters are unchanged except for the count of failures.
// Empty segments may have been released.
func (p *Pool) Alloc(r Request) (Block, error) {
	if s, placed, tag, at, ok := p.allocPlain(&r); ok {
		return Block{
			Addr: s.base + device.Addr(placed.Offset), SizeBytes: placed.Size, RequestedBytes: r.SizeBytes,
			Tag: tag, AllocatedAt: at,
		}, nil
	}
	var n need
	if err := p.heap.check(&r, &n); err != nil {
		return Block{}, err
	}
	return p.allocNeed(&n)
}

// AllocAddr is Alloc for a caller that needs only the address.
func (p *Pool) AllocAddr(r *Request) (device.Addr, error) {
	if s, placed, _, _, ok := p.allocPlain(r); ok {
		return s.base + device.Addr(placed.Offset), nil
	}
	var n need
	if err := p.heap.check(r, &n); err != nil {
		return 0, err
	}
	block, err := p.allocNeed(&n)
	return block.Addr, err
}

// AllocNow allocates sizeBytes for the default stream if this needs no special case and
// free memory is present. It returns false, and changes nothing, if it cannot: then Alloc
// allocates the block or returns the error. It is for callers for which a few
// instructions matter.
func (p *Pool) AllocNow(sizeBytes uint64) (device.Addr, bool) {
	s, placed, _, _, ok := p.allocPlain(&Request{SizeBytes: sizeBytes})
	if !ok {
		return 0, false
	}
	return s.base + device.Addr(placed.Offset), true
}

// largestPlain is a size that can be rounded up without a check for overflow.
const largestPlain = 1 << 62

// allocPlain is Alloc for a request without special properties, when no block is in
// flight and space is free. It changes nothing if it cannot serve the request. Most calls
// take this path, so it is kept short. Its results fit in registers.
func (p *Pool) allocPlain(r *Request) (_ *segment, _ rangealloc.Range, tag string, at time.Duration, ok bool) {
	if r.AlignmentBytes|uint64(r.Lifetime) != 0 || r.Tag != "" || r.SizeBytes-1 >= largestPlain || p.heap.debug != nil ||
		p.heap.ended.Load() {
		return nil, rangealloc.Range{}, "", 0, false
	}
	granule := p.heap.config.AlignmentBytes
	size := (r.SizeBytes + granule - 1) &^ (granule - 1)
	p.heap.mu.Lock()
	if p.heap.frozen || p.heap.state != stateOpen || p.heap.inFlight.Count() != 0 || !p.heap.tags.IsKept(r.TagNumber) ||
		p.family.graphs.AnyCapturing() {
		p.heap.mu.Unlock()
		return nil, rangealloc.Range{}, "", 0, false
	}
	for _, s := range p.heap.segments {
		if size >= s.full {
			continue
		}
		block, err := s.strategy.Alloc(rangealloc.Request{Size: size, Align: granule, End: r.End, Group: r.Group})
		if err == nil && block.Slot >= s.slots {
			block, err = s.allocExtended(block)
		}
		if err == nil && s.pages != nil && !s.pages.Touch(block.Offset, block.Size) {
			s.retract(block.Offset)
			break
		}
		if err == rangealloc.ErrNoRoom {
			s.refused(size)
			continue
		}
		if err != nil {
			break
		}
		slack := block.Size - r.SizeBytes
		if slack > maxSlackBytes {
			p.heap.unplace(located{s, block})
			break
		}
		s.setInfo(block.Slot, makeInfo(blockLive, r.TagNumber, slack))
		if r.Stream != nil {
			p.heap.streams.note(located{s, block}, r.Stream)
		}
		s.blocks++
		if s.timed {
			at = track.Now()
			s.times[block.Slot] = int64(at)
		}
		sizes := track.Block{RequestedBytes: r.SizeBytes, AllocatedBytes: block.Size}
		tag = p.heap.tags.Add(r.TagNumber, sizes, 1)
		p.heap.counters.Alloc(sizes)
		if block.Size > LeastLentBytes && r.Stream == nil {
			p.heap.lent.lend(s)
		}
		p.heap.mu.Unlock()
		p.heap.engine.Changed()
		return s, block, tag, at, true
	}
	p.heap.mu.Unlock()
	return nil, rangealloc.Range{}, "", 0, false
}

// allocNeed is Alloc for a checked request.
func (p *Pool) allocNeed(n *need) (block Block, err error) {
	if p.heap.ended.Load() {
		return Block{}, p.heap.closedError(opAlloc)
	}
	if p.family.graphs.AnyCapturing() {
		if private, inside, err := p.family.routed(n); private != nil || err != nil {
			if err != nil {
				return Block{}, err
			}
			return private.allocNeed(inside)
		}
	}
	p.heap.lock()
	if p.heap.state != stateOpen {
		p.heap.mu.Unlock()
		return Block{}, p.heap.closedError(opAlloc)
	}
	if p.heap.inFlight.Count() == 0 {
		err = p.heap.place(n, &block)
	} else {
		err = p.heap.placeOrReuse(n, &block)
	}
	overfull := p.heap.overfull
	p.heap.mu.Unlock()
	if noRoom(err) {
		return p.supply.search(n, nil)
	}
	if overfull {
		p.supply.shrink()
	}
	p.heap.changed()
	return block, err
}
