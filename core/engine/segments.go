package engine

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"ferrum_mem/core/device"
)

// Segment is memory had from the device in one piece.
type Segment struct {
	Addr      device.Addr
	SizeBytes uint64
	// HostAddr is the same memory as the process addresses it, if it is page-locked
	// memory of the host or managed memory; else 0.
	HostAddr device.HostAddr
	// Source is where it came from, and goes back to.
	Source Source
}

// Want is the size of a segment: what is good to have, and the least that will
// do. Both are multiples of the device's granularity (RoundUp), not 0, and
// MinBytes is not above PreferredBytes.
type Want struct {
	MinBytes       uint64
	PreferredBytes uint64
	Source         Source
}

// RoundUp rounds a size up to the device's granularity; false: that overflows.
func (e *Engine) RoundUp(size uint64) (uint64, bool) {
	granularity := e.info.GranularityBytes
	rest := size % granularity
	if rest == 0 {
		return size, true
	}
	sum, carry := bits.Add64(size, granularity-rest, 0)
	return sum, carry == 0
}

// RoundDown rounds a size down to the device's granularity.
func (e *Engine) RoundDown(size uint64) uint64 {
	return size - size%e.info.GranularityBytes
}

// Reserve takes a segment from the device, of the preferred size or, where the
// device or the limit has less, by halves down to the least. CodeOutOfMemory
// says that not even that can be had. Nothing cached is given up for it.
func (e *Engine) Reserve(want Want) (Segment, error) {
	e.retryDiscarded()
	size := want.PreferredBytes
	for {
		granted, err := e.charge(Want{MinBytes: want.MinBytes, PreferredBytes: size, Source: want.Source})
		if err != nil {
			return Segment{}, err
		}
		made, err := e.allocate(granted, want.Source)
		if err == nil {
			return made, nil
		}
		e.uncharge(granted, want.Source)
		bounded := errors.Is(err, device.CodeOutOfMemory) ||
			want.Source == SourcePinned && errors.Is(err, device.CodeResourceExhausted)
		if !bounded || granted == want.MinBytes {
			return Segment{}, err
		}
		size = max(e.RoundDown(granted/2), want.MinBytes)
	}
}

// Release gives a segment back. When that fails it is still held.
func (e *Engine) Release(segment Segment) error {
	if err := e.free(segment); err != nil {
		return err
	}
	e.uncharge(segment.SizeBytes, segment.Source)
	return nil
}

// SetLimit bounds what is taken from the device, all pools together; 0 takes
// the bound away. What is held above it and holds no block is given back; what
// is live stays.
func (e *Engine) SetLimit(limitBytes uint64) error {
	e.mu.Lock()
	if e.closed {
		defer e.mu.Unlock()
		return e.closedError("engine.set_limit")
	}
	e.limit = limitBytes
	e.mu.Unlock()
	for _, p := range e.Pools(nil) {
		over := e.overLimit()
		if over == 0 {
			break
		}
		p.Land()
		if _, err := p.ReleaseCached(over); err != nil {
			// The limit holds all the same: nothing more is taken.
			e.Log(Warning, fmt.Sprintf("set_limit %d: pool %q could not give back memory: %v",
				limitBytes, p.Name(), err))
		}
	}
	e.SegmentsChanged()
	return nil
}

// Limit is the present limit; 0: none.
func (e *Engine) Limit() uint64 {
	e.mu.Peek()
	defer e.mu.Unlock()
	return e.limit
}

// Capacity is the most that this library may ever hold of the device: its size
// or the limit, whichever is less; math.MaxUint64 when neither is known.
func (e *Engine) Capacity() uint64 {
	capacity := uint64(math.MaxUint64)
	if e.info.TotalBytes != 0 {
		capacity = e.info.TotalBytes
	}
	if limit := e.Limit(); limit != 0 {
		capacity = min(capacity, limit)
	}
	return capacity
}

// NeverFits says why a segment of that size can never be had from this device:
// it is above the capacity or the limit. It is nil when it may be had. what names
// the argument that asks for it, and its value.
func (e *Engine) NeverFits(op, what string, size uint64) error {
	if total := e.info.TotalBytes; total != 0 && size > total {
		return device.Errorf(device.CodeOutOfMemory, op,
			"%s can never fit: that takes %d bytes, the device has %d", what, size, total).On(e.ID()).
			Stating(device.FactRequestedBytes, size).Stating(device.FactCapacityBytes, total)
	}
	if limit := e.Limit(); limit != 0 && size > limit {
		return device.Errorf(device.CodeOutOfMemory, op,
			"%s can never fit: that takes %d bytes, the limit of the device is %d", what, size, limit).On(e.ID()).
			Stating(device.FactRequestedBytes, size).Stating(device.FactCapacityBytes, limit)
	}
	return nil
}

// charge enters as much of a segment as the limit allows.
func (e *Engine) charge(want Want) (uint64, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return 0, e.closedError("engine.reserve")
	}
	if !e.Holds(want.Source) {
		return want.PreferredBytes, nil
	}
	granted := want.PreferredBytes
	if e.limit != 0 {
		granted = min(granted, e.RoundDown(e.headroom()))
	}
	if granted < want.MinBytes {
		return 0, device.Errorf(device.CodeOutOfMemory, "engine.reserve",
			"a segment of %d bytes: the limit of the device is %d and %d are held",
			want.MinBytes, e.limit, e.held).On(e.ID()).Stating(device.FactRequestedBytes, want.MinBytes).
			Stating(device.FactAvailableBytes, e.headroom())
	}
	after, carry := bits.Add64(e.held, granted, 0)
	if carry != 0 {
		return 0, device.Errorf(device.CodeOverflow, "engine.reserve",
			"a segment of %d bytes: with the %d held that overflows", granted, e.held).On(e.ID())
	}
	e.held = after
	return granted, nil
}

func (e *Engine) discharge(size uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.held -= size
}

// headroom is what the limit still allows to be taken. The caller holds mu.
func (e *Engine) headroom() uint64 {
	if e.limit == 0 {
		return ^uint64(0)
	}
	return e.limit - min(e.held, e.limit)
}

// overLimit is what is held above the limit.
func (e *Engine) overLimit() uint64 {
	e.mu.Peek()
	defer e.mu.Unlock()
	if e.limit == 0 || e.held <= e.limit {
		return 0
	}
	return e.held - e.limit
}
