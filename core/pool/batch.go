package pool

import (
	"slices"

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
	if p.flights.count == 0 && p.debug == nil {
		if done, err := p.placeTogether(n, to, tag); done || err != nil {
			return err
		}
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
	p.enterBatch(n, tag, sum.AllocatedBytes)
	return nil
}

func (p *Pool) enterBatch(n *need, tag uint32, allocatedBytes uint64) {
	sum := track.Block{RequestedBytes: n.requested * n.count, AllocatedBytes: allocatedBytes}
	p.tags.Enter(tag, sum, n.count)
	p.books.AllocateMany(sum, n.count)
}

// placeTogether takes all blocks from one segment whose strategy serves batches;
// false: there is none with the room. This is the way that has to be fast.
func (p *Pool) placeTogether(n *need, to []device.Addr, tag uint32) (done bool, err error) {
	for _, s := range p.segments {
		if s.batcher == nil {
			continue
		}
		ranges := p.scratch.room(len(to))
		if err := s.allocBatch(&n.Request, ranges); err != nil {
			if err == rangealloc.ErrNoRoom {
				continue
			}
			return false, err
		}
		total, size, info := uint64(0), uint64(0), blockInfo(0)
		now := int64(0)
		if s.timed {
			now = int64(track.Now())
		}
		for i := range ranges {
			r := &ranges[i]
			if r.Size != size {
				size = r.Size
				if size-n.requested > maxSlackBytes {
					p.ungatherRanges(s, ranges)
					return false, p.tooSlack(n, size-n.requested)
				}
				info = makeInfo(blockLive, tag, size-n.requested)
			}
			s.infos[r.Slot] = info
			if s.timed {
				s.times[r.Slot] = now
			}
			to[i] = s.base + device.Addr(r.Offset)
			total += size
		}
		s.blocks += n.count
		p.enterBatch(n, tag, total)
		return true, nil
	}
	return false, nil
}

func (p *Pool) ungatherRanges(s *segment, ranges []rangealloc.Range) {
	for _, r := range ranges {
		p.unplace(s, r.Offset)
	}
}

// freeTogether frees live blocks of one segment when no queued work uses them,
// where the strategy tells their slots on the way. It is false, and nothing has
// changed, when there is anything else about them.
func (p *Pool) freeTogether(addrs []device.Addr) bool {
	p.lock()
	s, _, ok := p.locateLive(addrs[0])
	if !ok || p.state != stateOpen || s.slotBatcher == nil || !p.allPlain() {
		p.mu.Unlock()
		return false
	}
	if cap(p.scratch.slots) < len(addrs) {
		p.scratch.slots = make([]uint32, len(addrs))
	}
	p.scratch.offsets = slices.Grow(p.scratch.offsets[:0], len(addrs))[:len(addrs)]
	offsets, slots, base := p.scratch.offsets, p.scratch.slots[:len(addrs)], s.base
	for i, addr := range addrs {
		offsets[i] = uint64(addr - base)
	}
	size, err := s.slotBatcher.FreeBatchSlots(offsets, slots)
	if err != nil {
		p.mu.Unlock()
		return false
	}
	p.leaveTogether(s, size, slots)
	p.left(s, uint64(len(slots)))
	overfull := p.overfull
	p.mu.Unlock()
	if overfull {
		p.shrink()
	}
	p.engine.Changed()
	return true
}

// allPlain says that every block of a strategy is live, the pool's own, and used
// by no stream but its own. The caller holds mu.
func (p *Pool) allPlain() bool {
	return p.flights.count == 0 && p.leases.leased == p.leases.returned && !p.grounded &&
		len(p.streams) == 0 && p.debug == nil
}

// leaveTogether takes live blocks of one size out of the tags and the books.
func (p *Pool) leaveTogether(s *segment, size uint64, slots []uint32) {
	var sum track.Block
	infos := s.infos
	for at := 0; at < len(slots); {
		tag, first := infos[slots[at]].tag(), at
		var slack uint64
		for ; at < len(slots); at++ {
			info := infos[slots[at]]
			if info.tag() != tag {
				break
			}
			slack += info.slack()
		}
		count := uint64(at - first)
		part := track.Block{RequestedBytes: count*size - slack, AllocatedBytes: count * size}
		p.tags.Leave(tag, part, count)
		sum.RequestedBytes += part.RequestedBytes
		sum.AllocatedBytes += part.AllocatedBytes
	}
	p.books.FreeMany(sum, uint64(len(slots)))
}

// writeOne enters a live block in the table of its segment, and gives the
// address for the caller.
func (p *Pool) writeOne(l located, n *need, tag uint32) device.Addr {
	*l.info() = makeInfo(blockLive, tag, l.Size-n.requested)
	if l.timed {
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
			if err := s.allocBatch(&n.Request, ranges); err == nil {
				for _, r := range ranges {
					found = append(found, located{s, r})
				}
				break
			}
		}
		for ; left > 0; left-- {
			r, err := s.alloc(&n.Request)
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
