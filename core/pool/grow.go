package pool

import (
	"errors"
	"fmt"
	"math"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/rangealloc"
)

// bound is how many bytes of segments the pool may hold. The caller holds mu.
func (p *Pool) bound() uint64 {
	bound := uint64(math.MaxUint64)
	if p.maxSize != 0 {
		bound = p.engine.RoundDown(p.maxSize)
	}
	if p.config.AutoExpansion || (p.config.PreAllocate && p.config.MaxSizeBytes != 0) {
		return bound
	}
	if initial, ok := p.engine.RoundUp(p.config.InitialSizeBytes); ok {
		bound = min(bound, initial)
	}
	return bound
}

// grow takes a segment that holds the request and places it there. It is false
// when the pool's bound or the device leaves no room for one.
func (p *Pool) grow(n need) (Block, bool, error) {
	least, ok := p.segmentFor(n)
	if !ok {
		return Block{}, false, nil
	}
	block, found, grown, err := p.growBy(n, least)
	if grown {
		p.engine.SegmentsChanged()
	}
	return block, found, err
}

// growBy is grow, and says whether the pool has a new segment.
func (p *Pool) growBy(n need, least uint64) (block Block, found, grown bool, err error) {
	p.layout.Lock()
	defer p.layout.Unlock()
	p.mu.Lock()
	if p.state != stateOpen {
		p.mu.Unlock()
		return Block{}, false, false, p.closedError(opAlloc)
	}
	// Another thread may have grown the pool while this one waited.
	block, err = p.place(n)
	want, fits := p.wanted(least)
	p.mu.Unlock()
	if err != rangealloc.ErrNoRoom {
		return block, err == nil, false, err
	}
	if !fits {
		return Block{}, false, false, nil
	}
	if err := p.take(want); err != nil {
		if errors.Is(err, device.CodeOutOfMemory) {
			err = nil
		}
		return Block{}, false, false, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	block, err = p.place(n)
	if err == rangealloc.ErrNoRoom {
		// Other threads have filled the new segment meanwhile.
		return Block{}, false, true, nil
	}
	return block, err == nil, true, err
}

// smallDeviceShare is the part of a small device that a segment takes at most,
// unless a request needs more.
const smallDeviceShare = 8

// wanted is the next segment's size. One that would take more than half of what
// the device may give is cut down, so that the other pools have room too; false: the bound leaves no room for the
// least. The caller holds layout and mu.
func (p *Pool) wanted(least uint64) (engine.Want, bool) {
	bound := p.bound()
	room := bound - min(p.held, bound)
	if least > room {
		return engine.Want{}, false
	}
	preferred := p.config.GrowthIncrementBytes
	if len(p.segments) == 0 {
		preferred = p.config.InitialSizeBytes
	}
	preferred, ok := p.engine.RoundUp(preferred)
	if !ok {
		preferred = p.engine.RoundDown(math.MaxUint64)
	}
	if whole := p.engine.Capacity(); preferred > whole/2 {
		preferred = p.engine.RoundDown(whole / smallDeviceShare)
	}
	preferred = min(max(preferred, least), p.engine.RoundDown(room))
	return engine.Want{MinBytes: least, PreferredBytes: preferred}, true
}

// take has a segment from the engine and attaches it. The caller holds layout.
func (p *Pool) take(want engine.Want) error {
	had, err := p.engine.Reserve(want)
	if err != nil {
		return err
	}
	s, err := p.newSegment(had)
	if s == nil {
		if err == nil {
			err = device.Errorf(device.CodeOutOfMemory, "pool.grow",
				"no block aligned to %d fits in a segment of %d bytes", p.config.AlignmentBytes,
				had.SizeBytes).On(p.engine.ID())
		}
		p.engine.Discard(had)
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.number = p.born
	p.born++
	p.held += had.SizeBytes
	p.attach(s)
	return nil
}

// preAllocate takes the whole size in one segment, or fails.
func (p *Pool) preAllocate() error {
	size := p.engine.RoundDown(p.config.MaxSizeBytes)
	what := fmt.Sprintf("max_size_bytes %d", p.config.MaxSizeBytes)
	if size == 0 {
		what = fmt.Sprintf("initial_size_bytes %d", p.config.InitialSizeBytes)
		var ok bool
		if size, ok = p.engine.RoundUp(p.config.InitialSizeBytes); !ok {
			return device.Errorf(device.CodeOverflow, "pool.new",
				"initial_size_bytes %d cannot be rounded up to a multiple of %d",
				p.config.InitialSizeBytes, p.engine.Info().GranularityBytes).On(p.engine.ID())
		}
	}
	if err := p.engine.NeverFits("pool.new", what, size); err != nil {
		return err
	}
	defer p.engine.SegmentsChanged()
	attempt := func() (bool, error) {
		p.layout.Lock()
		defer p.layout.Unlock()
		err := p.take(engine.Want{MinBytes: size, PreferredBytes: size})
		return err == nil, err
	}
	found, err := attempt()
	if found || !errors.Is(err, device.CodeOutOfMemory) {
		return err
	}
	return p.engine.FindRoom(engine.Need{
		Pool: p, Op: "pool.new", SizeBytes: size, AlignmentBytes: p.config.AlignmentBytes,
		Bound: p.boundText(),
	}, attempt)
}
