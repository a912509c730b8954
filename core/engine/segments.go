package engine

import (
	"errors"
	"fmt"

	"ferrum_mem/core/device"
)

// Reserve allocates a segment from the device, of the preferred size. If the device or
// the limit has less, it tries halves down to the smallest size. It returns
// CodeOutOfMemory if even that fails. It does not reclaim cached memory.
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

// Release releases a segment. If it fails the segment is still held.
func (e *Engine) Release(segment Segment) error {
	if err := e.free(segment); err != nil {
		return err
	}
	e.uncharge(segment.SizeBytes, segment.Source)
	return nil
}

// SetLimit bounds the memory that all pools together hold from the device; 0 removes
// the limit. Memory above it without a block is released; live blocks stay.
func (e *Engine) SetLimit(limitBytes uint64) error {
	e.mu.Lock()
	if e.closed {
		defer e.mu.Unlock()
		return e.closedError("engine.set_limit")
	}
	e.limit.Store(limitBytes)
	e.mu.Unlock()
	for _, p := range e.Pools(nil) {
		// A pool computed its published largest free run with the previous limit. CompleteFrees
		// invalidates it.
		p.CompleteFrees()
		e.mu.LockToRead()
		limit, held := e.limit.Load(), e.held
		e.mu.Unlock()
		if limit == 0 || held <= limit {
			continue
		}
		if _, err := p.ReleaseCached(held - limit); err != nil {
			// The limit applies in spite of the error: nothing more is allocated.
			e.Log(Warning, fmt.Sprintf("set_limit %d: pool %q could not release memory: %v",
				limitBytes, p.Name(), err))
		}
	}
	e.SegmentsChanged()
	return nil
}

// Discard releases a segment that nothing uses and no object records. If the device
// fails to release it now, the engine tries again later.
func (e *Engine) Discard(segment Segment) {
	e.discards.discard(func() error { return e.Release(segment) })
}
