package pool

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool/inflight"
	"ferrum_mem/core/rangealloc"
)

// bound is how many bytes of segments the pool may hold. The caller holds mu.
func (h *heap) bound() uint64 {
	bound := uint64(math.MaxUint64)
	if h.maxSize != 0 {
		bound = h.boundOf(h.maxSize)
	}
	if h.config.AutoExpansion || (h.config.PreAlloc && h.config.MaxSizeBytes != 0) {
		return bound
	}
	if initial, ok := h.sizeFor(h.config.InitialSizeBytes); ok {
		bound = min(bound, initial)
	}
	return bound
}

// grow takes a segment that has room for what is wanted and has it taken. It is
// false when the pool's bound or the device leaves no room for one.
func (p *Pool) grow(search *search) (found bool, err error) {
	if p.heap.paged != nil {
		return p.growPaged(search)
	}
	least, ok := p.segmentFor(&search.need)
	if !ok {
		return false, nil
	}
	found, grown, err := p.growBy(search, least)
	if grown {
		p.heap.engine.SegmentsChanged()
	}
	return found, err
}

// segmentFor is the size of a segment that holds one block of the request,
// wherever the device puts it; false: that overflows.
func (p *Pool) segmentFor(n *need) (uint64, bool) {
	pad := n.Align - min(n.Align, p.heap.engine.Info().AlignmentBytes)
	size, carry := bits.Add64(max(n.Size, p.heap.config.FixedBlockBytes), pad, 0)
	if carry != 0 {
		return 0, false
	}
	return p.heap.engine.RoundUp(size)
}

// growTries bounds how often a segment that the strategy needs larger than the
// request is taken twice as large.
const growTries = 4

// growBy is grow, and says whether the pool has a new segment.
func (p *Pool) growBy(search *search, least uint64) (found, grown bool, err error) {
	n := &search.need
	p.layout.Lock()
	defer p.layout.Unlock()
	for tries := growTries; tries > 0; {
		p.heap.lock()
		if p.heap.state != stateOpen {
			p.heap.mu.Unlock()
			return false, grown, p.heap.closedError(opAlloc)
		}
		// Another thread may have grown the pool while this one waited.
		err = search.take(inflight.Fits)
		want, fits := p.wanted(n, least)
		p.heap.mu.Unlock()
		if err != rangealloc.ErrNoRoom {
			return err == nil, grown, err
		}
		if !fits {
			return false, grown, nil
		}
		var enough bool
		if enough, err = p.take(n, want); err != nil {
			if errors.Is(err, device.CodeOutOfMemory) {
				err = nil
			}
			return false, grown, err
		}
		if enough {
			// A batch may want more than the device gives in one piece.
			grown = true
			continue
		}
		if least > math.MaxUint64/2 {
			break
		}
		least *= 2
		tries--
	}
	return false, grown, nil
}

// smallDeviceShare is the part of a small device that a segment takes at most,
// unless a request needs more.
const smallDeviceShare = 8

// wanted is the next segment's size. One that would take more than half of what
// the device may give is cut down, so that the other pools have room too. It is
// false when the bound leaves no room for the least. The caller holds layout and
// mu.
func (p *Pool) wanted(n *need, least uint64) (engine.Want, bool) {
	bound := p.heap.bound()
	room := bound - min(p.heap.held, bound)
	if least > room {
		return engine.Want{}, false
	}
	preferred := p.heap.config.GrowthIncrementBytes
	if len(p.heap.segments) == 0 {
		preferred = p.heap.config.InitialSizeBytes
	}
	preferred, ok := p.heap.engine.RoundUp(preferred)
	if !ok {
		preferred = p.heap.engine.RoundDown(math.MaxUint64)
	}
	if n.count > 1 {
		// A batch wants to lie together. It was seen not to overflow.
		preferred = max(preferred, min(n.Size*n.count, p.heap.engine.RoundDown(math.MaxUint64)))
		preferred, _ = p.heap.engine.RoundUp(preferred)
	} else if whole := p.heap.engine.Capacity(); preferred > whole/2 {
		preferred = p.heap.engine.RoundDown(whole / smallDeviceShare)
	}
	preferred = min(max(preferred, least), p.heap.engine.RoundDown(room))
	return engine.Want{MinBytes: least, PreferredBytes: preferred, Source: p.source}, true
}

// take has a segment from the engine and attaches it. It is false, and gives
// the segment back, when the strategy has no room in all of it for one block of
// the request; a nil request is not tried. The caller holds layout.
func (p *Pool) take(n *need, want engine.Want) (enough bool, err error) {
	had, err := p.heap.engine.Reserve(want)
	if err != nil {
		return false, err
	}
	s, err := p.heap.newSegment(had)
	if s == nil {
		if err == nil {
			err = device.Errorf(device.CodeOutOfMemory, "pool.grow",
				"no block aligned to %d fits in a segment of %d bytes", p.heap.config.AlignmentBytes,
				had.SizeBytes).On(p.heap.engine.ID())
		}
		p.heap.engine.Discard(had)
		return false, err
	}
	if n != nil {
		got, err := s.alloc(&n.Request)
		if err != nil {
			s.close()
			p.heap.engine.Discard(had)
			if err == rangealloc.ErrNoRoom {
				err = nil
			}
			return false, err
		}
		s.retract(got.Offset)
	}
	p.heap.lock()
	defer p.heap.mu.Unlock()
	s.number = p.heap.born
	p.heap.born++
	p.heap.held += had.SizeBytes
	p.heap.attach(s)
	return true, nil
}

// preAlloc takes the whole size in one segment, or fails.
func (p *Pool) preAlloc() error {
	size := p.heap.boundOf(p.heap.config.MaxSizeBytes)
	what := fmt.Sprintf("max_size_bytes %d", p.heap.config.MaxSizeBytes)
	if size == 0 {
		what = fmt.Sprintf("initial_size_bytes %d", p.heap.config.InitialSizeBytes)
		var ok bool
		if size, ok = p.heap.sizeFor(p.heap.config.InitialSizeBytes); !ok {
			return device.Errorf(device.CodeOverflow, "pool.new",
				"initial_size_bytes %d cannot be rounded up to a multiple of %d",
				p.heap.config.InitialSizeBytes, p.heap.engine.Info().GranularityBytes).On(p.heap.engine.ID())
		}
	}
	if err := p.heap.engine.NeverFits("pool.new", what, size); err != nil {
		return err
	}
	defer p.heap.engine.SegmentsChanged()
	attempt := func() (bool, error) {
		p.layout.Lock()
		defer p.layout.Unlock()
		if p.heap.paged != nil {
			return p.mapFirst(size)
		}
		return p.take(nil, engine.Want{MinBytes: size, PreferredBytes: size, Source: p.source})
	}
	found, err := attempt()
	if found || !errors.Is(err, device.CodeOutOfMemory) {
		return err
	}
	return p.heap.engine.FindRoom(engine.Need{
		Pool: p, Op: "pool.new", SizeBytes: size, AlignmentBytes: p.heap.config.AlignmentBytes,
		Bound: p.boundText(), BoundRoomBytes: p.boundRoom(),
	}, attempt)
}
