package pool

import (
	"time"

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
func (p *Pool) Alloc(r Request) (Block, error) {
	var n need
	if err := p.check(&r, &n); err != nil {
		return Block{}, err
	}
	p.lock()
	if p.state != stateOpen {
		p.mu.Unlock()
		return Block{}, p.closedError(opAlloc)
	}
	block, err := p.allocReady(&n)
	overfull := p.overfull
	p.mu.Unlock()
	if err == rangealloc.ErrNoRoom {
		return p.allocSlow(&n)
	}
	if overfull {
		p.shrink()
	}
	p.engine.Changed()
	return block, err
}

// allocReady takes a block that can be had at once, or ErrNoRoom. The caller
// holds mu.
func (p *Pool) allocReady(n *need) (Block, error) {
	if p.flights.count > 0 {
		// A block that fits well is as good as new, and stays out of the way of
		// other streams until its event has passed.
		if at := p.flights.find(n, fits); at != none {
			return p.revive(at, n)
		}
		p.land(pollBudget)
	}
	return p.place(n)
}

// place takes a block from the segments that are there, or ErrNoRoom. Lower
// segments come first, so that higher ones come free. The caller holds mu.
func (p *Pool) place(n *need) (Block, error) {
	plain := n.Align == p.config.AlignmentBytes && p.ordered
	for _, s := range p.segments {
		if plain && n.Size >= s.full {
			continue
		}
		got, err := s.strategy.Alloc(n.Request)
		if err == rangealloc.ErrNoRoom {
			if plain {
				s.full = n.Size
			}
			continue
		}
		if err != nil {
			return Block{}, err
		}
		return p.enter(located{s, got}, n)
	}
	return Block{}, rangealloc.ErrNoRoom
}

// enter writes a new block into the tables and the books; or gives it back and
// says why not.
func (p *Pool) enter(l located, n *need) (Block, error) {
	block, err := p.write(l, n)
	if err != nil {
		p.unplace(l)
		return Block{}, err
	}
	l.blocks++
	p.books.Allocate(track.Block{RequestedBytes: n.requested, AllocatedBytes: l.Size})
	return block, nil
}

// write enters a live block in the table of its segment and in its tag.
func (p *Pool) write(l located, n *need) (Block, error) {
	tag, err := p.tagOf(n)
	if err != nil {
		return Block{}, err
	}
	slack := l.Size - n.requested
	if slack > maxSlackBytes {
		return Block{}, p.tooSlack(n, slack)
	}
	l.note(l.Slot, makeInfo(blockLive, tag, slack))
	block := Block{Addr: l.addr(), SizeBytes: l.Size, RequestedBytes: n.requested, Tag: p.tags.Name(tag)}
	if l.times != nil {
		now := track.Now()
		l.times[l.Slot] = int64(now)
		block.AllocatedAt = time.Duration(now)
	}
	p.tags.Enter(tag, track.Block{RequestedBytes: n.requested, AllocatedBytes: l.Size}, 1)
	return block, nil
}

func (p *Pool) tooSlack(n *need, slack uint64) error {
	return device.Errorf(device.CodeOverflow, opAlloc, "size_bytes %d: strategy %q would waste %d bytes",
		n.requested, p.config.Strategy, slack).On(p.engine.ID())
}

// unplace takes back a block that never became one.
func (p *Pool) unplace(l located) {
	if _, err := l.strategy.Free(l.Offset); err != nil {
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
func (p *Pool) revive(at int32, n *need) (Block, error) {
	l, ok := p.locate(p.flights.flights[at].addr)
	if !ok {
		p.broken(opAlloc, device.Errorf(device.CodeInternal, opAlloc, "a block in flight is not there"))
	}
	block, err := p.write(l, n)
	if err != nil {
		return Block{}, err
	}
	p.flights.drop(at)
	p.books.Revive(track.Block{RequestedBytes: n.requested, AllocatedBytes: l.Size})
	return block, nil
}
