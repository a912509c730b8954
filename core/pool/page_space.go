package pool

import (
	"math/bits"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool/pages"
	"ferrum_mem/core/rangealloc"
)

// addSpace reserves addresses that have room for one block of a request, and
// attaches them; false: there are none. The caller holds layout.
func (p *Pool) addSpace(n *need) (bool, error) {
	least := uint64(0)
	if n != nil {
		least = max(n.Size, p.heap.fixedBytes())
	}
	for range growTries {
		s, err := p.newSpace(least)
		if err != nil || s == nil {
			return false, err
		}
		if n != nil {
			var got rangealloc.Range
			if got, err = s.strategy.Alloc(n.Request); err == nil {
				s.retract(got.Offset)
			} else {
				s.close()
				p.heap.engine.DiscardAddresses(s.had)
				if err != rangealloc.ErrNoRoom {
					return false, err
				}
				least = max(least, s.usable) * 2
				continue
			}
		}
		p.heap.lock()
		defer p.heap.mu.Unlock()
		s.number = p.heap.born
		p.heap.born++
		p.heap.attach(s)
		return true, nil
	}
	return false, nil
}

const (
	// spaceFactor is how many times what a pool may hold its addresses are: the
	// worst placements of recorded programs need twice as much.
	spaceFactor   = 4
	maxSpaceBytes = 16 << 40
	// sharedBytes is addresses that all pools of a device share: each takes a
	// sharedPart-th of what is left of them, or firstSpaceBytes, twice that for the
	// second space, and so on. A thousand pools leave half of the 128 TiB of a
	// process to others, and the first few lie in one piece.
	sharedBytes     = 32 << 40
	sharedPart      = 16
	firstSpaceBytes = 32 << 30
	// narrowShift makes a space that a strategy counts in 32 bits: its records are a
	// quarter shorter than those of a larger one.
	narrowShift = 31
	// spaceShare is the part of the largest free range that a space takes where
	// addresses are few: the rest of the process needs some too.
	spaceShare = 8
	// spareBytes is what of few addresses is not taken at all: a runtime that cannot
	// have a further stack or heap ends the process.
	spareBytes = 128 << 20
)

// newSpace reserves addresses for a segment, of which least can be one block;
// nil: there are none.
func (p *Pool) newSpace(least uint64) (*segment, error) {
	p.heap.mu.Lock()
	most, spaces := min(p.heap.bound(), p.heap.engine.Capacity()), uint(len(p.heap.segments))
	p.heap.mu.Unlock()
	align := max(p.heap.paged.pageBytes, p.heap.config.AlignmentBytes)
	most = max(min(most, maxSpaceBytes/spaceFactor)*spaceFactor, 1)
	left := sharedBytes - min(p.heap.engine.AddressBytes(), sharedBytes)
	share := max(left/sharedPart, firstSpaceBytes<<min(spaces, shiftOf(maxSpaceBytes/firstSpaceBytes)))
	share = min(1<<(bits.Len64(share)-1), p.heap.config.AlignmentBytes<<narrowShift)
	smallest := ceilPowerOfTwo(max(least, align))
	if smallest == 0 {
		return nil, nil
	}
	had, err := p.reserve(smallest, max(smallest, min(ceilPowerOfTwo(most), share)), align)
	if err != nil || had.SizeBytes == 0 {
		return nil, err
	}
	return p.newVirtualSegment(had)
}

// reserve takes addresses, as many as most, or fewer where there are not so many, but
// smallest at least; none: there are none. All three are powers of two.
func (p *Pool) reserve(smallest, most, align uint64) (engine.Segment, error) {
	for size := most; size >= smallest; size /= 2 {
		had, err := p.reserveNow(size, align)
		switch {
		case err != nil:
			return engine.Segment{}, err
		case had.SizeBytes == 0:
			continue
		case size == most:
			return had, nil
		}
		p.heap.engine.DiscardAddresses(had)
		return p.reserveFew(max(smallest, size/spaceShare), align)
	}
	return engine.Segment{}, nil
}

// reserveFew takes addresses if there are spareBytes besides.
func (p *Pool) reserveFew(size, align uint64) (engine.Segment, error) {
	spare, err := p.reserveNow(spareBytes, p.heap.paged.pageBytes)
	if err != nil || spare.SizeBytes == 0 {
		return engine.Segment{}, err
	}
	defer p.heap.engine.DiscardAddresses(spare)
	return p.reserveNow(size, align)
}

// reserveNow takes just so many addresses; none: there are not so many.
func (p *Pool) reserveNow(size, align uint64) (engine.Segment, error) {
	had, err := p.heap.engine.ReserveAddresses(size, align)
	if device.CodeOf(err) == device.CodeOutOfVirtualMemory {
		return engine.Segment{}, nil
	}
	return had, err
}

// discardSpaces gives the addresses back of a pool that never had a page.
func (p *Pool) discardSpaces() {
	for len(p.heap.segments) > 0 && p.heap.paged != nil {
		s := p.heap.segments[0]
		p.heap.mu.Lock()
		p.heap.detach(s)
		p.heap.mu.Unlock()
		s.close()
		p.heap.engine.DiscardAddresses(s.had)
	}
}

// newVirtualSegment lays a strategy and a page table over a reservation.
func (p *Pool) newVirtualSegment(had engine.Segment) (*segment, error) {
	s, err := p.heap.newSegment(had)
	if err != nil || s == nil {
		p.heap.engine.DiscardAddresses(had)
		return nil, err
	}
	s.pages, s.paging = pages.New(p.heap.paged.pageBytes, &p.heap.paged.counts), p.heap.paged
	return s, nil
}
