package pool

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/inflight"
	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/track"
)

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
