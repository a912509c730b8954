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
func (u *supply) addSpace(n *need) (bool, error) {
	least := uint64(0)
	if n != nil {
		least = max(n.Size, u.heap.fixedBytes())
	}
	for range growTries {
		s, err := u.newSpace(least)
		if err != nil || s == nil {
			return false, err
		}
		if n != nil {
			var got rangealloc.Range
			if got, err = s.strategy.Alloc(n.Request); err == nil {
				s.retract(got.Offset)
			} else {
				s.close()
				u.heap.engine.DiscardAddresses(s.had)
				if err != rangealloc.ErrNoRoom {
					return false, err
				}
				least = max(least, s.usable) * 2
				continue
			}
		}
		u.heap.lock()
		defer u.heap.mu.Unlock()
		s.number = u.heap.born
		u.heap.born++
		u.heap.attach(s)
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
func (u *supply) newSpace(least uint64) (*segment, error) {
	u.heap.mu.Lock()
	most, spaces := min(u.heap.bound(), u.heap.engine.Capacity()), uint(len(u.heap.segments))
	u.heap.mu.Unlock()
	align := max(u.heap.paged.pageBytes, u.heap.config.AlignmentBytes)
	most = max(min(most, maxSpaceBytes/spaceFactor)*spaceFactor, 1)
	left := sharedBytes - min(u.heap.engine.AddressBytes(), sharedBytes)
	share := max(left/sharedPart, firstSpaceBytes<<min(spaces, shiftOf(maxSpaceBytes/firstSpaceBytes)))
	share = min(1<<(bits.Len64(share)-1), u.heap.config.AlignmentBytes<<narrowShift)
	smallest := ceilPowerOfTwo(max(least, align))
	if smallest == 0 {
		return nil, nil
	}
	had, err := u.reserve(smallest, max(smallest, min(ceilPowerOfTwo(most), share)), align)
	if err != nil || had.SizeBytes == 0 {
		return nil, err
	}
	return u.newVirtualSegment(had)
}

// reserve takes addresses, as many as most, or fewer where there are not so many, but
// smallest at least; none: there are none. All three are powers of two.
func (u *supply) reserve(smallest, most, align uint64) (engine.Segment, error) {
	for size := most; size >= smallest; size /= 2 {
		had, err := u.reserveNow(size, align)
		switch {
		case err != nil:
			return engine.Segment{}, err
		case had.SizeBytes == 0:
			continue
		case size == most:
			return had, nil
		}
		u.heap.engine.DiscardAddresses(had)
		return u.reserveFew(max(smallest, size/spaceShare), align)
	}
	return engine.Segment{}, nil
}

// reserveFew takes addresses if there are spareBytes besides.
func (u *supply) reserveFew(size, align uint64) (engine.Segment, error) {
	spare, err := u.reserveNow(spareBytes, u.heap.paged.pageBytes)
	if err != nil || spare.SizeBytes == 0 {
		return engine.Segment{}, err
	}
	defer u.heap.engine.DiscardAddresses(spare)
	return u.reserveNow(size, align)
}

// reserveNow takes just so many addresses; none: there are not so many.
func (u *supply) reserveNow(size, align uint64) (engine.Segment, error) {
	had, err := u.heap.engine.ReserveAddresses(size, align)
	if device.CodeOf(err) == device.CodeOutOfVirtualMemory {
		return engine.Segment{}, nil
	}
	return had, err
}

// discardSpaces gives the addresses back of a pool that never had a page.
func (u *supply) discardSpaces() {
	for len(u.heap.segments) > 0 && u.heap.paged != nil {
		s := u.heap.segments[0]
		u.heap.mu.Lock()
		u.heap.detach(s)
		u.heap.mu.Unlock()
		s.close()
		u.heap.engine.DiscardAddresses(s.had)
	}
}

// newVirtualSegment lays a strategy and a page table over a reservation.
func (u *supply) newVirtualSegment(had engine.Segment) (*segment, error) {
	s, err := u.heap.newSegment(had)
	if err != nil || s == nil {
		u.heap.engine.DiscardAddresses(had)
		return nil, err
	}
	s.pages, s.paging = pages.New(u.heap.paged.pageBytes, u.heap.paged.largeBytes, &u.heap.paged.counts), u.heap.paged
	return s, nil
}
