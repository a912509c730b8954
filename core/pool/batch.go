package pool

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/track"
)

// AllocBatch takes a block of the request for every place of to: all of them or
// none. Errors: as Alloc; then to is all zeros, and the books are as before but
// for the count of failures.
func (p *Pool) AllocBatch(r Request, to []device.Addr) error {
	if len(to) == 0 {
		return nil
	}
	var n need
	err := p.check(&r, &n)
	if err == nil {
		n.count = uint64(len(to))
		err = p.allocBatch(&n, to)
	}
	if err != nil {
		clear(to)
	}
	return err
}

func (p *Pool) allocBatch(n *need, to []device.Addr) error {
	p.lock()
	if p.state != stateOpen {
		p.mu.Unlock()
		return p.closedError(opAlloc)
	}
	if p.flights.count > 0 {
		p.land(pollBudget)
	}
	err := p.placeBatch(n, to, fits)
	overfull := p.overfull
	p.mu.Unlock()
	if err == rangealloc.ErrNoRoom {
		wanted := *n
		return p.search(&wanted,
			func() error { return p.placeBatch(&wanted, to, fits) },
			func() error { return p.placeBatch(&wanted, to, wastes) })
	}
	if overfull {
		p.shrink()
	}
	p.changed()
	return err
}

// placeBatch takes all blocks from what is there, or ErrNoRoom. The caller
// holds mu.
func (p *Pool) placeBatch(n *need, to []device.Addr, excess uint64) error {
	tag, err := p.tagOf(n)
	if err != nil {
		return err
	}
	reused := p.reusable(n, excess, len(to))
	ranges, err := p.gather(n, len(to)-len(reused))
	if err != nil {
		return err
	}
	var sum, revived track.Block
	for i, at := range reused {
		l := p.flying(at)
		p.flights.drop(at)
		to[i] = p.writeOne(l, n, tag)
		revived.AllocatedBytes += l.Size
	}
	p.books.Land(revived.AllocatedBytes)
	for i, l := range ranges {
		to[len(reused)+i] = p.writeOne(l, n, tag)
		l.blocks++
		sum.AllocatedBytes += l.Size
	}
	sum.AllocatedBytes += revived.AllocatedBytes
	sum.RequestedBytes = n.requested * n.count
	p.tags.Enter(tag, sum, n.count)
	p.books.AllocateMany(sum, n.count)
	return nil
}

// writeOne enters a live block in the table of its segment, and gives the
// address for the caller.
func (p *Pool) writeOne(l located, n *need, tag uint32) device.Addr {
	l.note(l.Slot, makeInfo(blockLive, tag, l.Size-n.requested))
	if l.times != nil {
		l.times[l.Slot] = int64(track.Now())
	}
	if p.debug == nil {
		return l.addr()
	}
	block := Block{Tag: p.tags.Name(tag)}
	p.guard(l, n, &block)
	return block.Addr
}

// reusable chooses blocks in flight that the stream may have at once. They stay
// in flight.
func (p *Pool) reusable(n *need, excess uint64, most int) []int32 {
	if p.flights.count == 0 {
		return nil
	}
	return p.flights.findMany(n, excess, most)
}

// gather takes count blocks from the segments: as many as possible of one
// strategy at a time. It is all or nothing.
func (p *Pool) gather(n *need, count int) ([]located, error) {
	found := p.scratch.located[:0]
	for _, s := range p.segments {
		left := count - len(found)
		if left == 0 {
			break
		}
		if s.batcher != nil && left > 1 {
			ranges := p.scratch.room(left)
			if err := s.batcher.AllocBatch(n.Request, ranges); err == nil {
				for _, r := range ranges {
					found = append(found, located{s, r})
				}
				break
			}
		}
		for ; left > 0; left-- {
			r, err := s.strategy.Alloc(n.Request)
			if err == rangealloc.ErrNoRoom {
				break
			}
			if err != nil {
				p.scratch.located = found
				p.ungather(found)
				return nil, err
			}
			found = append(found, located{s, r})
		}
	}
	p.scratch.located = found
	if len(found) < count {
		p.ungather(found)
		return nil, rangealloc.ErrNoRoom
	}
	for _, l := range found {
		if slack := l.Size - n.requested; slack > maxSlackBytes {
			p.ungather(found)
			return nil, p.tooSlack(n, slack)
		}
	}
	return found, nil
}

func (p *Pool) ungather(found []located) {
	for _, l := range found {
		p.unplace(l.segment, l.Offset)
	}
}
