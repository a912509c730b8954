package pool

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool/inflight"
	"ferrum_mem/core/rangealloc"
)

// supply adds memory to a pool, as segments or as pages behind addresses, and releases
// memory that contains no block.
type supply struct {
	heap *heap
	// owner is the pool as the engine sees it on the reclaim path.
	owner engine.Pool
	// source is the kind of memory from which all segments come.
	source engine.Source
	// checkCaches takes back blocks that thread caches hold and hardly use. The caller
	// holds no lock.
	checkCaches func()
	// layout is held while segments or pages are added or released, by one thread at a
	// time.
	layout sync.Mutex
}

// bound returns the largest number of bytes that the pool's segments may have. The caller
// holds mu.
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

// grow adds a segment with space for the request and allocates from it. It returns false
// if the bound of the pool or the device leaves no space for a segment.
func (u *supply) grow(search *search) (found bool, err error) {
	if u.heap.paged != nil {
		return u.growPaged(search)
	}
	least, ok := u.segmentFor(&search.need)
	if !ok {
		return false, nil
	}
	found, grown, err := u.growBy(search, least)
	if grown {
		u.heap.engine.SegmentsChanged()
	}
	return found, err
}

// segmentFor returns the size of a segment that holds one block of the request at any
// address that the device may choose. It returns false if the size overflows.
func (u *supply) segmentFor(n *need) (uint64, bool) {
	pad := n.Align - min(n.Align, u.heap.engine.Info().AlignmentBytes)
	size, carry := bits.Add64(max(n.Size, u.heap.config.FixedBlockBytes), pad, 0)
	if carry != 0 {
		return 0, false
	}
	return u.heap.engine.RoundUp(size)
}

// growTries is the number of attempts to allocate a segment. Each attempt doubles the
// size, because a strategy may need a segment larger than the request.
const growTries = 4

// growBy is grow; grown reports whether the pool has a new segment.
func (u *supply) growBy(search *search, least uint64) (found, grown bool, err error) {
	n := &search.need
	u.layout.Lock()
	defer u.layout.Unlock()
	for tries := growTries; tries > 0; {
		u.heap.lock()
		if u.heap.state != stateOpen {
			u.heap.mu.Unlock()
			return false, grown, u.heap.closedError(opAlloc)
		}
		// Another thread may have grown the pool while this thread waited.
		err = search.take(inflight.Fits)
		want, fits := u.wanted(n, least)
		u.heap.mu.Unlock()
		if err != rangealloc.ErrNoRoom {
			return err == nil, grown, err
		}
		if !fits {
			return false, grown, nil
		}
		var enough bool
		if enough, err = u.take(n, want); err != nil {
			if errors.Is(err, device.CodeOutOfMemory) {
				err = nil
			}
			return false, grown, err
		}
		if enough {
			// A batch may need more than the device provides in one piece.
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

// smallDeviceShare: on a small device, a segment takes at most 1/smallDeviceShare of the
// device, unless a request needs more.
const smallDeviceShare = 8

// wanted returns the size of the next segment. A segment that would take more than half
// of the device's capacity is made smaller, so that other pools have memory too. It
// returns false if the bound leaves less space than least. The caller holds layout and
// mu.
func (u *supply) wanted(n *need, least uint64) (engine.Want, bool) {
	bound := u.heap.bound()
	room := bound - min(u.heap.held, bound)
	if least > room {
		return engine.Want{}, false
	}
	preferred := u.heap.config.GrowthIncrementBytes
	if len(u.heap.segments) == 0 {
		preferred = u.heap.config.InitialSizeBytes
	}
	preferred, ok := u.heap.engine.RoundUp(preferred)
	if !ok {
		preferred = u.heap.engine.RoundDown(math.MaxUint64)
	}
	if n.count > 1 {
		// The blocks of a batch should be adjacent. The caller has checked that the
		// product does not overflow.
		preferred = max(preferred, min(n.Size*n.count, u.heap.engine.RoundDown(math.MaxUint64)))
		preferred, _ = u.heap.engine.RoundUp(preferred)
	} else if whole := u.heap.engine.Capacity(); preferred > whole/2 && u.heap.engine.Holds(u.source) {
		preferred = u.heap.engine.RoundDown(whole / smallDeviceShare)
	}
	preferred = min(max(preferred, least), u.heap.engine.RoundDown(room))
	return engine.Want{MinBytes: least, PreferredBytes: preferred, Source: u.source}, true
}

// take reserves a segment from the engine and attaches it. If the strategy cannot place
// one block of the request in the empty segment, it releases the segment and returns
// false. Without a request (nil) it does not try a block. The caller holds layout.
func (u *supply) take(n *need, want engine.Want) (enough bool, err error) {
	memory, err := u.heap.engine.Reserve(want)
	if err != nil {
		return false, err
	}
	s, err := u.heap.newSegment(memory)
	if s == nil {
		if err == nil {
			err = device.Errorf(device.CodeOutOfMemory, "pool.grow",
				"no block aligned to %d fits in a segment of %v", u.heap.config.AlignmentBytes,
				device.Size(memory.SizeBytes)).On(u.heap.engine.ID())
		}
		u.heap.engine.Discard(memory)
		return false, err
	}
	if n != nil {
		got, err := s.alloc(&n.Request)
		if err != nil {
			s.close()
			u.heap.engine.Discard(memory)
			if err == rangealloc.ErrNoRoom {
				err = nil
			}
			return false, err
		}
		s.retract(got.Offset)
	}
	u.heap.lock()
	defer u.heap.mu.Unlock()
	s.number = u.heap.segmentsCreated
	u.heap.segmentsCreated++
	u.heap.held += memory.SizeBytes
	u.heap.attach(s)
	return true, nil
}

// preAlloc allocates the whole size in one segment, or fails.
func (u *supply) preAlloc() error {
	size := u.heap.boundOf(u.heap.config.MaxSizeBytes)
	what := fmt.Sprintf("max_size_bytes %d", u.heap.config.MaxSizeBytes)
	if size == 0 {
		what = fmt.Sprintf("initial_size_bytes %d", u.heap.config.InitialSizeBytes)
		var ok bool
		if size, ok = u.heap.sizeFor(u.heap.config.InitialSizeBytes); !ok {
			return device.Errorf(device.CodeOverflow, "pool.new",
				"initial_size_bytes %d cannot be rounded up to a multiple of %d",
				u.heap.config.InitialSizeBytes, u.heap.engine.Info().GranularityBytes).On(u.heap.engine.ID())
		}
	}
	if err := u.heap.engine.NeverFits(u.source, "pool.new", what, size); err != nil {
		return err
	}
	defer u.heap.engine.SegmentsChanged()
	attempt := func() (bool, error) {
		u.layout.Lock()
		defer u.layout.Unlock()
		if u.heap.paged != nil {
			return u.mapFirst(size)
		}
		return u.take(nil, engine.Want{MinBytes: size, PreferredBytes: size, Source: u.source})
	}
	found, err := attempt()
	if found || !errors.Is(err, device.CodeOutOfMemory) {
		return err
	}
	return u.heap.engine.FindRoom(engine.Need{
		Pool: u.owner, Op: "pool.new", SizeBytes: size, AlignmentBytes: u.heap.config.AlignmentBytes,
		Bound: u.boundText(), BoundRoomBytes: u.boundRoom(),
	}, attempt)
}
