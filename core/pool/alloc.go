package pool

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/inflight"
	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/track"
)

const opAlloc = "pool.alloc"

// Alloc takes a block. Errors: CodeInvalidSize, CodeInvalidAlignment,
// CodeInvalidArgument for a tag that is too long or not known, CodeOverflow for a
// size that cannot be rounded up, CodeResourceExhausted when the tables are full;
// CodeOutOfMemory, at once if the request can never fit, else after
// Engine.FindRoom found none. A failed call leaves blocks and books as they were,
// but for the count of failures; segments that hold no block may have been given
// back.
func (p *Pool) Alloc(r Request) (Block, error) {
	if s, placed, tag, at, ok := p.allocPlain(&r); ok {
		return Block{
			Addr: s.base + device.Addr(placed.Offset), SizeBytes: placed.Size, RequestedBytes: r.SizeBytes,
			Tag: tag, AllocatedAt: at,
		}, nil
	}
	return p.allocChecked(&r)
}

// AllocAddr is Alloc for a caller who wants no more than the address.
func (p *Pool) AllocAddr(r *Request) (device.Addr, error) {
	if s, placed, _, _, ok := p.allocPlain(r); ok {
		return s.base + device.Addr(placed.Offset), nil
	}
	block, err := p.allocChecked(r)
	return block.Addr, err
}

// AllocNow is Alloc of sizeBytes for the default stream when nothing has to be
// looked into and there is room at once. It changes nothing when it is false:
// Alloc does it then, or says what is wrong. It is there for a caller to whom a
// few instructions matter.
func (p *Pool) AllocNow(sizeBytes uint64) (device.Addr, bool) {
	s, placed, _, _, ok := p.allocPlain(&Request{SizeBytes: sizeBytes})
	if !ok {
		return 0, false
	}
	return s.base + device.Addr(placed.Offset), true
}

func (p *Pool) allocChecked(r *Request) (Block, error) {
	var n need
	if err := p.check(r, &n); err != nil {
		return Block{}, err
	}
	return p.allocNeed(&n)
}

// largestPlain is a size that can be rounded up without a look.
const largestPlain = 1 << 62

// allocPlain is Alloc for a request without anything special when nothing is in
// flight and there is room: what it does not serve, it leaves as it was. It is
// what most calls are, and short for that. Its results fit in registers.
func (p *Pool) allocPlain(r *Request) (_ *segment, _ rangealloc.Range, tag string, at time.Duration, ok bool) {
	if r.AlignmentBytes|uint64(r.Lifetime) != 0 || r.Tag != "" || r.SizeBytes-1 >= largestPlain || p.debug != nil ||
		p.ended.Load() {
		return nil, rangealloc.Range{}, "", 0, false
	}
	granule := p.config.AlignmentBytes
	size := (r.SizeBytes + granule - 1) &^ (granule - 1)
	p.mu.Lock()
	if p.frozen || p.state != stateOpen || p.inFlight.Count() != 0 || !p.tags.IsKept(r.TagNumber) ||
		p.graphs.AnyCapturing() {
		p.mu.Unlock()
		return nil, rangealloc.Range{}, "", 0, false
	}
	for _, s := range p.segments {
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
			p.unplace(located{s, block})
			break
		}
		s.setInfo(block.Slot, makeInfo(blockLive, r.TagNumber, slack))
		if r.Stream != nil {
			p.noteStream(located{s, block}, r.Stream)
		}
		s.blocks++
		if s.timed {
			at = track.Now()
			s.times[block.Slot] = int64(at)
		}
		sizes := track.Block{RequestedBytes: r.SizeBytes, AllocatedBytes: block.Size}
		tag = p.tags.Enter(r.TagNumber, sizes, 1)
		p.books.Alloc(sizes)
		p.mu.Unlock()
		p.engine.Changed()
		return s, block, tag, at, true
	}
	p.mu.Unlock()
	return nil, rangealloc.Range{}, "", 0, false
}

// allocNeed is Alloc for a checked request.
func (p *Pool) allocNeed(n *need) (block Block, err error) {
	if p.ended.Load() {
		return Block{}, p.closedError(opAlloc)
	}
	if p.graphs.AnyCapturing() {
		if private, inside, err := p.routed(n); private != nil || err != nil {
			if err != nil {
				return Block{}, err
			}
			return private.allocNeed(inside)
		}
	}
	p.lock()
	if p.state != stateOpen {
		p.mu.Unlock()
		return Block{}, p.closedError(opAlloc)
	}
	if p.inFlight.Count() == 0 {
		err = p.place(n, &block)
	} else {
		err = p.placeOrReuse(n, &block)
	}
	overfull := p.overfull
	p.mu.Unlock()
	if noRoom(err) {
		return p.allocSlow(n)
	}
	if overfull {
		p.shrink()
	}
	p.changed()
	return block, err
}

// placeOrReuse is place when blocks are in flight. The caller holds mu.
func (p *Pool) placeOrReuse(n *need, block *Block) error {
	// A block that fits well is as good as new, and stays out of the way of other
	// streams until its event has passed.
	if at, ok := p.inFlight.Find(n.stream, n.inFlight(inflight.Fits)); ok {
		return p.revive(at, n, block)
	}
	p.land(inflight.PollBudget)
	return p.place(n, block)
}

// place takes a block from the segments that are there, or ErrNoRoom. Lower
// segments come first, so that higher ones come free. The caller holds mu.
func (p *Pool) place(n *need, block *Block) error {
	plain := n.Align == p.config.AlignmentBytes
	for _, s := range p.segments {
		if plain && n.Size >= s.full {
			continue
		}
		got, err := s.alloc(&n.Request)
		if err != nil {
			if err != rangealloc.ErrNoRoom {
				return err
			}
			if plain {
				s.refused(n.Size)
			}
			continue
		}
		if err := p.write(s, &got, n, block); err != nil {
			p.unplace(located{s, got})
			return err
		}
		s.blocks++
		p.books.Alloc(track.Block{RequestedBytes: n.requested, AllocatedBytes: got.Size})
		return nil
	}
	return rangealloc.ErrNoRoom
}

// write enters a live block in the table of its segment and in its tag.
func (p *Pool) write(s *segment, got *rangealloc.Range, n *need, block *Block) error {
	tag, err := uint32(0), error(nil)
	if n.tag != "" || n.tagNumber != 0 {
		if tag, err = p.tagOf(n); err != nil {
			return err
		}
	}
	slack := got.Size - n.requested
	if slack > maxSlackBytes {
		return p.tooSlack(n, slack)
	}
	s.setInfo(got.Slot, makeInfo(blockLive, tag, slack))
	p.noteStream(located{s, *got}, n.stream)
	block.Addr, block.SizeBytes = s.base+device.Addr(got.Offset), got.Size
	block.RequestedBytes, block.Tag = n.requested, p.tags.Name(tag)
	if s.timed {
		now := track.Now()
		s.times[got.Slot] = int64(now)
		block.AllocatedAt = now
	}
	p.tags.Enter(tag, track.Block{RequestedBytes: n.requested, AllocatedBytes: got.Size}, 1)
	if p.debug != nil {
		p.guard(located{s, *got}, n, block)
	}
	return nil
}

func (p *Pool) tooSlack(n *need, slack uint64) error {
	return device.Errorf(device.CodeOverflow, opAlloc, "size_bytes %d: strategy %q would waste %d bytes",
		n.requested, p.config.Strategy, slack).On(p.engine.ID())
}

// unplace takes back a block that never became one.
func (p *Pool) unplace(l located) {
	l.leavePages()
	l.retract(l.Offset)
}

// tagOf is the number of a request's tag.
func (p *Pool) tagOf(n *need) (uint32, error) {
	if n.tag == "" {
		if n.tagNumber != 0 && !p.tags.IsKept(n.tagNumber) {
			return 0, device.Errorf(device.CodeInvalidArgument, opAlloc,
				"tag %d is none of pool %q", n.tagNumber, p.config.Name).On(p.engine.ID())
		}
		return n.tagNumber, nil
	}
	number, ok := p.tags.Number(n.tag)
	if !ok {
		return 0, device.Errorf(device.CodeResourceExhausted, opAlloc,
			"tag %q: blocks of %d other tags are live in pool %q", n.tag, track.MaxTags,
			p.config.Name).On(p.engine.ID())
	}
	return number, nil
}

// revive hands out a block in flight to the stream that it was freed on.
func (p *Pool) revive(at int32, n *need, block *Block) error {
	l := p.flying(p.inFlight.At(at).Addr)
	if err := p.write(l.segment, &l.Range, n, block); err != nil {
		return err
	}
	p.inFlight.Drop(at)
	p.books.Revive(track.Block{RequestedBytes: n.requested, AllocatedBytes: l.Size})
	return nil
}

// flying is the block in flight at an address.
func (p *Pool) flying(addr device.Addr) located {
	l, ok := p.locate(addr)
	if !ok {
		p.broken("pool.land", device.Errorf(device.CodeInternal, "pool.land",
			"the block in flight at %#x is not there", uint64(addr)))
	}
	return l
}
