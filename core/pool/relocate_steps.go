package pool

import (
	"runtime"
	"slices"
)

// holdLooks bounds what a relocation looks at with heap.mu held: other threads wait
// meanwhile. A look is at a block, a hole or a page. The search for one place may
// take regions.FindLooks more.
const holdLooks = 256

// steps cuts the work of a relocation so that heap.mu is held for a short time only
// and the caller's budget is heeded.
type steps struct {
	// over says that the time of the call under way is over, and stopped that it was.
	over    func() bool
	stopped bool
	// hold is holdLooks, or fewer.
	hold int
	// looks are those since the lock was taken, and mostLooks the most so far.
	looks, mostLooks int
	// passed are places that a strategy offered and that did not suit. They are kept
	// from being offered again, and given back before the lock is let go of.
	passed []located
}

func (r *Relocation) beginSteps(over func() bool) { r.looks, r.over, r.stopped = 0, over, over() }

func (r *Relocation) endSteps() {
	r.giveBackPassed()
	r.mostLooks = max(r.mostLooks, r.looks)
}

// goesOn says that neither the time is over nor the pool closed.
func (r *Relocation) goesOn() bool { return !r.stopped && r.pool.heap.state == stateOpen }

// step counts a look, and lets other threads have the lock when it was held long
// enough. False: the run has to stop. The caller holds mu, and knows nothing for
// certain of the pool any more.
func (r *Relocation) step() bool {
	if r.looks++; r.looks < r.hold {
		return r.goesOn()
	}
	return r.breathe()
}

// breathe lets other threads have the lock. False: the run has to stop.
func (r *Relocation) breathe() bool {
	r.outside(runtime.Gosched)
	return r.goesOn()
}

// outside does something without the lock.
func (r *Relocation) outside(do func()) {
	r.endSteps()
	r.pool.heap.mu.Unlock()
	do()
	r.stopped = r.stopped || r.over()
	r.pool.heap.lock()
	r.looks = 0
}

func (r *Relocation) giveBackPassed() {
	for _, l := range slices.Backward(r.passed) {
		l.retract(l.Offset)
	}
	r.passed = r.passed[:0]
}

// has says that a segment that was seen is still the pool's.
func (h *heap) has(s *segment) bool {
	at, ok := slices.BinarySearchFunc(h.segments, s.had.Addr, compareSegment)
	return ok && h.segments[at] == s
}
