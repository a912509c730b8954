package pool

import (
	"runtime"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/inflight"
)

// Relocation. The caller knows which blocks may move. The pool chooses the pages that are
// cheapest to empty (or the segments, in a segmented pool), and a target outside of them
// for each of their blocks. The targets are in memory that the pool already has: a
// relocation never grows the pool. A reserved target is not a live block; it counts as
// active and belongs to no caller. The caller copies the bytes, and then either settles
// each claim, which makes the target the block, or abandons it.
//
// All reading is done in steps, and heap.mu is released between them (relocate_steps.go).
// So what was read is checked again before it is used. relocate_survey.go and
// relocate_holes.go read the pool, relocate_choose.go chooses what to empty and in which
// order, and relocate_place.go chooses the targets.

// Movable is a block that may move.
type Movable struct {
	Addr device.Addr
	// AlignmentBytes is the alignment of the block's request; 0 means the pool's.
	AlignmentBytes uint64
}

// Relocation is one run of moving blocks. It belongs to one caller at a time. A page to
// which blocks were moved is not emptied by the same run.
//
// Any time may pass between two calls; the pool is used meanwhile as if there were no
// run.
type Relocation struct {
	pool    *Pool
	movable []Movable
	// claimed states for each movable block whether a target was reserved for it.
	claimed []bool
	filled  map[regionKey]bool
	// survey is the known state of the pool; nil means that nothing is known.
	survey *survey
	// noRoom and ended are the results of the last survey.
	noRoom uint64
	ended  bool
	steps
}

// Claim is a reserved target for a block that may move.
type Claim struct {
	From, To device.Addr
	// SizeBytes is the number of bytes to copy, which is the requested size.
	SizeBytes uint64
	// Index is the index of the block in the list of movable blocks.
	Index int
}

// Evacuation is a page or segment that is to be emptied. It is empty when all claims are
// settled.
type Evacuation struct {
	Claims []Claim
}

// Bytes returns the number of bytes to copy.
func (e Evacuation) Bytes() (sum uint64) {
	for _, c := range e.Claims {
		sum += c.SizeBytes
	}
	return sum
}

// Relocate starts a run over live blocks. Errors: CodeInvalidState if the pool is closed,
// CodeUnsupported in debug mode, because the red zones of a block do not move with it.
func (p *Pool) Relocate(movable []Movable) (*Relocation, error) {
	const op = "pool.relocate"
	if p.heap.debug != nil {
		return nil, device.Errorf(device.CodeUnsupported, op,
			"pool %q is in debug mode: its blocks cannot be relocated", p.heap.config.Name).On(p.heap.engine.ID())
	}
	p.heap.mu.Lock()
	defer p.heap.mu.Unlock()
	if p.heap.state != stateOpen {
		return nil, p.heap.closedError(op)
	}
	return &Relocation{pool: p, movable: movable, claimed: make([]bool, len(movable)),
		filled: map[regionKey]bool{}, steps: steps{hold: holdLooks}}, nil
}

// Next reserves targets for all blocks of the page or segment that is now the cheapest to
// empty. It returns no claims if nothing can be gained any more (Ended), or if over
// returned true because the caller's time is over. After that, another call continues
// where this one stopped; only the page or segment that was in work is tried again. over
// is called with no lock held. The caller must settle or abandon all claims before the
// next call. Errors: CodeInvalidState if the pool is closed.
func (r *Relocation) Next(over func() bool) (next Evacuation, err error) {
	r.beginSteps(over)
	p := r.pool
	p.heap.lock()
	defer p.heap.mu.Unlock()
	defer r.endSteps()
	for !r.ended && r.goesOn() {
		if r.survey == nil {
			for p.heap.completeFrees(inflight.PollAll) && r.breathe() {
				continue
			}
			r.survey = r.newSurvey()
		}
		if !r.survey.look() {
			break
		}
		if next = r.survey.next(); len(next.Claims) > 0 {
			return next, nil
		}
		if r.goesOn() {
			// Blocks without a target may find one in a new survey, because other blocks
			// have moved.
			s := r.survey
			r.noRoom, r.survey = s.NoRoom(), nil
			r.ended = !s.gained || !s.failed
		}
	}
	if p.heap.state != stateOpen {
		return Evacuation{}, p.heap.closedError("pool.relocate")
	}
	return Evacuation{}, nil
}

// NotTried allows another claim for blocks whose claim was abandoned before or during the
// copy. Without it, a block gets one claim in a run.
func (r *Relocation) NotTried(claims []Claim) {
	for _, c := range claims {
		r.claimed[c.Index] = false
	}
	if r.survey != nil {
		r.survey.failed = true
	}
}

// Ended reports whether nothing can be gained any more.
func (r *Relocation) Ended() bool { return r.ended }

// NoRoom returns, after the run has ended, the number of blocks that could not move
// together with all blocks of their page or segment, although enough memory is free
// elsewhere.
func (r *Relocation) NoRoom() uint64 { return r.noRoom }

// Settle makes the target of a claim the block. All bytes must have been copied. The
// block keeps its tag, its size and its time, and its old place becomes free. It returns
// false and changes nothing if the block is not live any more.
func (p *Pool) Settle(c Claim) bool {
	p.heap.lock()
	from, ok := p.heap.locate(c.From)
	if !ok || p.heap.state == stateClosed || from.info().state() != blockLive {
		p.heap.mu.Unlock()
		return false
	}
	to := p.heap.claimed(c)
	to.setInfo(from.info())
	if to.timed {
		to.times[to.Slot] = from.times[from.Slot]
	}
	p.heap.streams.move(from, to)
	from.setInfo(0)
	p.heap.giveToSegment(from)
	p.heap.counters.Deactivate(from.Size)
	p.heap.mu.Unlock()
	p.heap.changed()
	return true
}

// Abandon releases a reserved target. Its memory can be allocated again when all events
// have completed. The pool closes the events.
func (p *Pool) Abandon(c Claim, events ...device.Event) {
	if len(events) == 0 {
		p.AbandonAll([]Claim{c})
		return
	}
	p.heap.lock()
	if p.heap.state == stateClosed {
		p.heap.mu.Unlock()
		for _, event := range events {
			// The work has completed; otherwise the memory could not have been released.
			_ = event.Close()
		}
		return
	}
	if p.heap.inFlight.Reserve(1, len(events)) != nil {
		p.heap.mu.Unlock()
		p.abandonAfter(c, events)
		return
	}
	to := p.heap.claimed(c)
	to.setInfo(makeInfo(blockInFlight, 0, 0))
	behind := make([]inflight.Fence, 0, len(events))
	for _, event := range events {
		behind = append(behind, p.heap.inFlight.Fence(nil, event))
	}
	p.heap.inFlight.Add(to.inFlight(), behind)
	p.heap.mu.Unlock()
	p.heap.changed()
}

// abandonAfter waits for the events, because there is no memory to put the target behind
// them. If the wait for an event fails, the target stays in flight until the pool ends.
func (p *Pool) abandonAfter(c Claim, events []device.Event) {
	if inflight.PassAll(events) {
		p.AbandonAll([]Claim{c})
		return
	}
	p.heap.lock()
	if p.heap.state != stateClosed {
		p.heap.claimed(c).setInfo(makeInfo(blockInFlight, 0, 0))
		p.heap.neverCompletes = true
	}
	p.heap.mu.Unlock()
}

// AbandonAll releases reserved targets that no work uses.
func (p *Pool) AbandonAll(claims []Claim) {
	for some := range slices.Chunk(claims, holdLooks) {
		p.heap.lock()
		for _, c := range some {
			if p.heap.state == stateClosed {
				break
			}
			p.heap.releasePlace(p.heap.claimed(c))
		}
		p.heap.mu.Unlock()
		runtime.Gosched()
	}
	p.heap.changed()
}

// releasePlace frees a reserved target. The caller holds mu.
func (h *heap) releasePlace(to located) {
	to.setInfo(0)
	h.giveToSegment(to)
	h.counters.Deactivate(to.Size)
}

// claimed returns the reserved target of a claim that is not settled. The caller holds
// mu.
func (h *heap) claimed(c Claim) located {
	to, ok := h.locate(c.To)
	if !ok || to.info().state() != blockClaimed {
		h.broken("pool.relocate", device.Errorf(device.CodeInternal, "pool.relocate",
			"the target at %#x is not reserved", uint64(c.To)))
	}
	return to
}
