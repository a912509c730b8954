package pool

import (
	"ferrum_mem/core/device"
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
func (p *Pool) Alloc(r Request) (block Block, err error) {
	var n need
	if err := p.check(&r, &n); err != nil {
		return Block{}, err
	}
	p.mu.Lock()
	if p.frozen {
		p.awaitThaw()
	}
	if p.state != stateOpen {
		p.mu.Unlock()
		return Block{}, p.closedError(opAlloc)
	}
	if p.flights.count == 0 {
		err = p.place(&n, &block)
	} else {
		err = p.placeOrReuse(&n, &block)
	}
	overfull := p.overfull
	p.mu.Unlock()
	if err == rangealloc.ErrNoRoom {
		return p.allocSlow(&n)
	}
	if overfull {
		p.shrink()
	}
	if p.debug != nil {
		p.tellPending()
	}
	p.engine.Changed()
	return block, err
}

// placeOrReuse is place when blocks are in flight. The caller holds mu.
func (p *Pool) placeOrReuse(n *need, block *Block) error {
	// A block that fits well is as good as new, and stays out of the way of other
	// streams until its event has passed.
	if at := p.flights.find(n, fits); at != none {
		return p.revive(at, n, block)
	}
	p.land(pollBudget)
	return p.place(n, block)
}

// place takes a block from the segments that are there, or ErrNoRoom. Lower
// segments come first, so that higher ones come free. The caller holds mu.
func (p *Pool) place(n *need, block *Block) error {
	plain := n.Align == p.config.AlignmentBytes && p.ordered
	for _, s := range p.segments {
		if plain && n.Size >= s.full {
			continue
		}
		got, err := s.strategy.Alloc(n.Request)
		if err != nil {
			if err != rangealloc.ErrNoRoom {
				return err
			}
			if plain {
				s.full = n.Size
			}
			continue
		}
		if err := p.write(s, &got, n, block); err != nil {
			p.unplace(s, got.Offset)
			return err
		}
		s.blocks++
		p.books.Allocate(track.Block{RequestedBytes: n.requested, AllocatedBytes: got.Size})
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
	s.note(got.Slot, makeInfo(blockLive, tag, slack))
	block.Addr, block.SizeBytes = s.base+device.Addr(got.Offset), got.Size
	block.RequestedBytes, block.Tag = n.requested, p.tags.Name(tag)
	if s.times != nil {
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
func (p *Pool) unplace(s *segment, offset uint64) {
	if _, err := s.strategy.Free(offset); err != nil {
		p.broken(opAlloc, err)
	}
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
	l := p.flying(at)
	if err := p.write(l.segment, &l.Range, n, block); err != nil {
		return err
	}
	p.flights.drop(at)
	p.books.Revive(track.Block{RequestedBytes: n.requested, AllocatedBytes: l.Size})
	return nil
}

// flying is the block of a flight.
func (p *Pool) flying(at int32) located {
	addr := p.flights.flights[at].addr
	l, ok := p.locate(addr)
	if !ok {
		p.broken("pool.land", device.Errorf(device.CodeInternal, "pool.land",
			"the block in flight at %#x is not there", uint64(addr)))
	}
	return l
}
