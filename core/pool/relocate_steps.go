package pool

import (
	"runtime"
	"slices"
)

// holdLooks is the most looks that a relocation takes with heap.mu held, while other
// threads wait. A look reads one block, one free run or one page. The search for one
// place may take regions.FindLooks more.
const holdLooks = 256

// steps divides the work of a relocation, so that heap.mu is held only for a short time
// and the time limit of the caller is kept.
type steps struct {
	// over reports whether the time of the present call is over; stopped is set once it
	// was.
	over    func() bool
	stopped bool
	// hold is holdLooks, or less in tests.
	hold int
	// looks counts the looks since the lock was taken; mostLooks is its highest value.
	looks, mostLooks int
	// passed are places that a strategy offered and that cannot be used. They stay
	// allocated, so that the strategy does not offer them again, until the lock is
	// released.
	passed []located
}

func (r *Relocation) beginSteps(over func() bool) { r.looks, r.over, r.stopped = 0, over, over() }

func (r *Relocation) endSteps() {
	r.releasePassed()
	r.mostLooks = max(r.mostLooks, r.looks)
}

// goesOn reports whether the run may continue: the time is not over and the pool is open.
func (r *Relocation) goesOn() bool { return !r.stopped && r.pool.heap.state == stateOpen }

// step counts a look, and releases the lock for a moment if it was held long enough. It
// returns false if the run has to stop. The caller holds mu, and has to check the state
// of the pool again afterwards.
func (r *Relocation) step() bool {
	if r.looks++; r.looks < r.hold {
		return r.goesOn()
	}
	return r.breathe()
}

// breathe releases the lock for a moment. It returns false if the run has to stop.
func (r *Relocation) breathe() bool {
	r.outside(runtime.Gosched)
	return r.goesOn()
}

// outside calls do without the lock.
func (r *Relocation) outside(do func()) {
	r.endSteps()
	r.pool.heap.mu.Unlock()
	do()
	r.stopped = r.stopped || r.over()
	r.pool.heap.lock()
	r.looks = 0
}

func (r *Relocation) releasePassed() {
	for _, l := range slices.Backward(r.passed) {
		l.retract(l.Offset)
	}
	r.passed = r.passed[:0]
}

// has reports whether a segment from an earlier step still belongs to the pool.
func (h *heap) has(s *segment) bool {
	at, ok := slices.BinarySearchFunc(h.segments, s.memory.Addr, compareSegment)
	return ok && h.segments[at] == s
}
