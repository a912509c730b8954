package engine

import (
	"errors"
	"fmt"

	"ferrum_mem/core/device"
)

// Reserve takes a segment from the device, of the preferred size or, where the
// device or the limit has less, by halves down to the least. CodeOutOfMemory
// says that not even that can be had. Nothing cached is given up for it.
func (e *Engine) Reserve(want Want) (Segment, error) {
	e.discards.retry()
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
	e.limit.Store(limitBytes)
	e.mu.Unlock()
	for _, p := range e.Pools(nil) {
		// What a pool shows of its largest free run was computed with the former limit:
		// Land hides it.
		p.Land()
		e.mu.Peek()
		limit, held := e.limit.Load(), e.held
		e.mu.Unlock()
		if limit == 0 || held <= limit {
			continue
		}
		if _, err := p.ReleaseCached(held - limit); err != nil {
			// The limit holds all the same: nothing more is taken.
			e.Log(Warning, fmt.Sprintf("set_limit %d: pool %q could not give back memory: %v",
				limitBytes, p.Name(), err))
		}
	}
	e.SegmentsChanged()
	return nil
}

// Discard gives back a segment that nobody uses or keeps track of. When the
// device does not take it now, the engine tries again later.
func (e *Engine) Discard(segment Segment) {
	e.discards.discard(func() error { return e.Release(segment) })
}
