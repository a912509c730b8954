package pool

import (
	"errors"
	"fmt"
	"slices"

	"ferrum_mem/core/engine"
)

// Trim takes back what the caches hold and gives segments that hold no block
// back to the device, the newest first, until no more than keepBytes (or the
// pool's least) are held or none is left to give. When the
// device fails to take one back it is kept, the others are given all the same,
// and the error comes with what was released.
func (p *Pool) Trim(keepBytes uint64) (releasedBytes uint64, err error) {
	// What the worker takes back from the caches may be on its way.
	p.PauseReturn()
	defer p.ResumeReturn()
	return p.release("pool.trim", func(taken uint64) bool { return p.heap.held-taken > keepBytes })
}

// ReleaseCached takes back what the caches hold and gives segments that hold no
// block back to the device until at least wanted bytes are given, none is left,
// or the pool's least is reached. On a closed pool it does nothing.
func (p *Pool) ReleaseCached(wanted uint64) (released uint64, err error) {
	return p.release("", func(taken uint64) bool { return taken < wanted })
}

// SetLimit changes the pool's upper bound; 0 takes it away. What is held above
// it and holds no block is given back; what is live stays.
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
		// The bound holds all the same: the pool takes no more.
		p.heap.engine.Log(engine.Warning, fmt.Sprintf(
			"set_limit %d: pool %q could not give back memory: %v", maxBytes, p.heap.config.Name, err))
	}
	return nil
}

// release gives back empty segments while more, told how many bytes are chosen
// already, says so. Without an op a closed pool is no error.
func (p *Pool) release(op string, more func(taken uint64) bool) (uint64, error) {
	p.family.sweepGraphs()
	p.Flush()
	p.supply.layout.Lock()
	p.heap.lockLanded()
	if p.heap.state != stateOpen {
		p.heap.mu.Unlock()
		p.supply.layout.Unlock()
		if op == "" {
			return 0, nil
		}
		return 0, p.heap.closedError(op)
	}
	released, err := p.supply.giveBackCached(more)
	p.supply.layout.Unlock()
	if released > 0 {
		// Costs a look at the device, and a search for room comes by here often.
		p.heap.engine.SegmentsChanged()
	}
	p.heap.changed()
	return released, err
}

// giveBackCached gives back what holds no block while more says so. The caller
// holds layout and mu, which it lets go of.
func (u *supply) giveBackCached(more func(taken uint64) bool) (released uint64, err error) {
	if u.heap.paged != nil {
		chosen := u.chooseCached(more)
		u.heap.mu.Unlock()
		return u.returnPages(chosen)
	}
	chosen := u.chooseEmpty(more)
	u.heap.mu.Unlock()
	return u.giveBack(chosen)
}

// chooseEmpty detaches empty segments, the newest first, as far as the pool's
// least allows. The caller holds layout and mu.
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
	slices.SortFunc(empty, func(a, b *segment) int { return int(b.number) - int(a.number) })
	taken, chosen := uint64(0), empty[:0]
	for _, s := range empty {
		if !more(taken) {
			break
		}
		if left := u.heap.held - taken; left < s.had.SizeBytes || left-s.had.SizeBytes < u.heap.minHeld {
			continue
		}
		u.heap.detach(s)
		taken += s.had.SizeBytes
		chosen = append(chosen, s)
	}
	return chosen
}

// giveBack gives detached segments to the device and attaches again what it
// does not take. The caller holds layout.
func (u *supply) giveBack(chosen []*segment) (released uint64, err error) {
	for _, s := range chosen {
		failure := u.heap.engine.Release(s.had)
		u.heap.lock()
		if failure == nil {
			u.heap.held -= s.had.SizeBytes
			released += s.had.SizeBytes
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
