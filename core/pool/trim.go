package pool

import (
	"errors"
	"fmt"

	"ferrum_mem/core/engine"
	"ferrum_mem/core/internal/sorting"
)

// Trim takes back the idle blocks of the caches and releases empty segments to the
// device, the newest first. It stops when the pool holds at most keepBytes, or its least
// size, or no empty segment is left. If the device fails to accept a segment, Trim keeps
// that segment, releases the others, and returns the error with the bytes that were
// released.
func (p *Pool) Trim(keepBytes uint64) (releasedBytes uint64, err error) {
	// The worker may have blocks of the caches on the way to the pool.
	p.PauseReturn()
	defer p.ResumeReturn()
	return p.release("pool.trim", func(taken uint64) bool { return p.heap.held-taken > keepBytes })
}

// ReleaseCached takes back the idle blocks of the caches and releases empty segments to
// the device, until at least wanted bytes are released, none is left, or the pool holds
// its least size. On a closed pool it does nothing.
func (p *Pool) ReleaseCached(wanted uint64) (released uint64, err error) {
	return p.release("", func(taken uint64) bool { return taken < wanted })
}

// SetLimit changes the pool's upper bound; 0 removes it. Empty memory that the pool holds
// above the bound is released; live blocks stay.
func (p *Pool) SetLimit(maxBytes uint64) error {
	p.heap.mu.Lock()
	if p.heap.state != stateOpen {
		p.heap.mu.Unlock()
		return p.heap.closedError("pool.set_limit")
	}
	p.heap.maxSize = maxBytes
	bound := p.heap.bound()
	p.heap.mu.Unlock()
	if _, err := p.Trim(bound); err != nil {
		// The bound is effective anyway: the pool does not grow above it.
		p.heap.engine.Log(engine.Warning, fmt.Sprintf(
			"set_limit %d: pool %q could not release memory: %v", maxBytes, p.heap.config.Name, err))
	}
	return nil
}

// release releases empty segments while more returns true; more gets the number of bytes
// chosen so far. With an empty op, a closed pool is not an error.
func (p *Pool) release(op string, more func(taken uint64) bool) (uint64, error) {
	p.family.sweepGraphs()
	p.Flush()
	p.supply.layout.Lock()
	p.heap.lockCompleted()
	if p.heap.state != stateOpen {
		p.heap.mu.Unlock()
		p.supply.layout.Unlock()
		if op == "" {
			return 0, nil
		}
		return 0, p.heap.closedError(op)
	}
	released, err := p.supply.releaseEmpty(more)
	p.supply.layout.Unlock()
	if released > 0 {
		// This call queries the device, and the reclaim path calls release often.
		p.heap.engine.SegmentsChanged()
	}
	p.heap.changed()
	return released, err
}

// releaseEmpty releases memory without blocks while more returns true. The caller holds
// layout and mu; releaseEmpty releases mu.
func (u *supply) releaseEmpty(more func(taken uint64) bool) (released uint64, err error) {
	if u.heap.paged != nil {
		chosen := u.chooseCached(more)
		u.heap.mu.Unlock()
		return u.returnPages(chosen)
	}
	chosen := u.chooseEmpty(more)
	u.heap.mu.Unlock()
	return u.releaseSegments(chosen)
}

// chooseEmpty detaches empty segments, the newest first, as far as the pool's least size
// allows. The caller holds layout and mu.
func (u *supply) chooseEmpty(more func(taken uint64) bool) []*segment {
	if u.heap.graphsRun() || !more(0) {
		return nil
	}
	var empty []*segment
	for _, s := range u.heap.segments {
		if s.empty() {
			empty = append(empty, s)
		}
	}
	sorting.By(empty, func(a, b *segment) int { return int(b.number) - int(a.number) })
	taken, chosen := uint64(0), empty[:0]
	for _, s := range empty {
		if !more(taken) {
			break
		}
		if left := u.heap.held - taken; left < s.memory.SizeBytes || left-s.memory.SizeBytes < u.heap.minHeld {
			continue
		}
		u.heap.detach(s)
		taken += s.memory.SizeBytes
		chosen = append(chosen, s)
	}
	return chosen
}

// releaseSegments releases detached segments to the device, and attaches again those that the
// device does not accept. The caller holds layout.
func (u *supply) releaseSegments(chosen []*segment) (released uint64, err error) {
	for _, s := range chosen {
		failure := u.heap.engine.Release(s.memory)
		u.heap.lock()
		if failure == nil {
			u.heap.held -= s.memory.SizeBytes
			released += s.memory.SizeBytes
		} else {
			u.heap.attach(s)
			err = errors.Join(err, failure)
		}
		u.heap.mu.Unlock()
		if failure == nil {
			s.close()
		}
	}
	return released, err
}
