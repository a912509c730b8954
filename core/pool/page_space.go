package pool

import (
	"math/bits"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool/pages"
	"ferrum_mem/core/rangealloc"
)

// addSpace reserves addresses with space for one block of a request, and attaches them.
// It returns false if no addresses are free. The caller holds layout.
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
				u.heap.engine.DiscardAddresses(s.memory)
				if err != rangealloc.ErrNoRoom {
					return false, err
				}
				least = max(least, s.usable) * 2
				continue
			}
		}
		u.heap.lock()
		defer u.heap.mu.Unlock()
		s.number = u.heap.segmentsCreated
		u.heap.segmentsCreated++
		u.heap.attach(s)
		return true, nil
	}
	return false, nil
}

const (
	// spaceFactor is the ratio of a pool's address space to the memory that it may hold.
	// The worst placements of recorded programs need a ratio of two.
	spaceFactor   = 4
	maxSpaceBytes = 16 << 40
	// sharedBytes is the address space that all pools of a device share. Each pool takes
	// 1/sharedPart of what is left, or firstSpaceBytes if that is more. firstSpaceBytes
	// doubles for each further space of a pool. So a thousand pools leave half of the 128
	// TiB of a process unused, and the first spaces are long.
	sharedBytes     = 32 << 40
	sharedPart      = 16
	firstSpaceBytes = 32 << 30
	// narrowShift limits a space to a size that a strategy counts in 32 bits. Records of
	// such a strategy are a quarter shorter than those for a larger space.
	narrowShift = 31
	// spaceShare: where address space is short, a space takes 1/spaceShare of the largest
	// free range, because the rest of the process needs addresses too.
	spaceShare = 8
	// spareBytes of address space are never taken where it is short. A language runtime
	// that gets no address for a stack or a heap ends the process.
	spareBytes = 128 << 20
)

// newSpace reserves addresses for a segment that can hold a block of least bytes. It
// returns nil if no such addresses are free.
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
	memory, err := u.reserve(smallest, max(smallest, min(ceilPowerOfTwo(most), share)), align)
	if err != nil || memory.SizeBytes == 0 {
		return nil, err
	}
	return u.newVirtualSegment(memory)
}

// reserve reserves most bytes of address space, or less if so much is not free, but at
// least smallest. It returns an empty segment if there is not enough. All three arguments
// are powers of two.
func (u *supply) reserve(smallest, most, align uint64) (engine.Segment, error) {
	for size := most; size >= smallest; size /= 2 {
		memory, err := u.reserveNow(size, align)
		switch {
		case err != nil:
			return engine.Segment{}, err
		case memory.SizeBytes == 0:
			continue
		case size == most:
			return memory, nil
		}
		u.heap.engine.DiscardAddresses(memory)
		return u.reserveFew(max(smallest, size/spaceShare), align)
	}
	return engine.Segment{}, nil
}

// reserveFew reserves addresses only if spareBytes are free in addition.
func (u *supply) reserveFew(size, align uint64) (engine.Segment, error) {
	spare, err := u.reserveNow(spareBytes, u.heap.paged.pageBytes)
	if err != nil || spare.SizeBytes == 0 {
		return engine.Segment{}, err
	}
	defer u.heap.engine.DiscardAddresses(spare)
	return u.reserveNow(size, align)
}

// reserveNow reserves exactly size bytes of address space. It returns an empty segment if
// they are not free.
func (u *supply) reserveNow(size, align uint64) (engine.Segment, error) {
	memory, err := u.heap.engine.ReserveAddresses(size, align)
	if device.CodeOf(err) == device.CodeOutOfVirtualMemory {
		return engine.Segment{}, nil
	}
	return memory, err
}

// discardSpaces releases the addresses of a pool that has never had a page.
func (u *supply) discardSpaces() {
	for len(u.heap.segments) > 0 && u.heap.paged != nil {
		s := u.heap.segments[0]
		u.heap.mu.Lock()
		u.heap.detach(s)
		u.heap.mu.Unlock()
		s.close()
		u.heap.engine.DiscardAddresses(s.memory)
	}
}

// newVirtualSegment creates a segment with a strategy and a page table for a reservation.
func (u *supply) newVirtualSegment(memory engine.Segment) (*segment, error) {
	s, err := u.heap.newSegment(memory)
	if err != nil || s == nil {
		u.heap.engine.DiscardAddresses(memory)
		return nil, err
	}
	s.pages, s.paging = pages.New(u.heap.paged.pageBytes, u.heap.paged.largeBytes, &u.heap.paged.counts), u.heap.paged
	return s, nil
}
