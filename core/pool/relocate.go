package pool

import (
	"runtime"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/inflight"
)

// Relocation. Whoever knows which blocks may move has the pool choose the pages (or
// segments, in a pool that takes them whole) that are cheapest to empty, and a place
// outside of them for each of their blocks, in memory that the pool has already: it
// never grows for this. The places are claimed, which is no life of a block: they
// count as active and belong to nobody. Whoever claimed them copies the bytes, and
// then settles each claim, which moves the block's life over, or abandons it.
//
// All that is looked at is looked at in steps, and heap.mu is let go of between
// them (relocate_steps.go): what was seen is checked again before it is used. What
// is seen: relocate_survey.go and relocate_holes.go; what is chosen, in which order:
// relocate_choose.go; where blocks go: relocate_place.go.

// Movable is a block that may move.
type Movable struct {
	Addr device.Addr
	// AlignmentBytes is what it was asked for with; 0: the pool's.
	AlignmentBytes uint64
}

// Relocation is one run of moving blocks. It belongs to one caller at a time. A
// page that blocks were moved to is not emptied by the same run.
//
// It may rest for any time between two calls: the pool is used meanwhile as if there
// were no run.
type Relocation struct {
	pool    *Pool
	movable []Movable
	// claimed says of each movable block that a place was claimed for it.
	claimed []bool
	filled  map[regionKey]bool
	// survey is what is known of the pool; nil: nothing.
	survey *survey
	// noRoom and ended are what came out of the last survey.
	noRoom uint64
	ended  bool
	steps
}

// Claim is a place for a block that may move.
type Claim struct {
	From, To device.Addr
	// SizeBytes is what has to be copied: what was asked for.
	SizeBytes uint64
	// Index is the block's among those that may move.
	Index int
}

// Evacuation is a page or segment that is to be emptied: it is once all claims are
// settled.
type Evacuation struct {
	Claims []Claim
}

// Bytes is what has to be copied.
func (e Evacuation) Bytes() (sum uint64) {
	for _, c := range e.Claims {
		sum += c.SizeBytes
	}
	return sum
}

// Relocate starts a run over live blocks. Errors: CodeInvalidState when the pool is
// closed, CodeUnsupported when it debugs: what surrounds its blocks does not move
// with them.
func (p *Pool) Relocate(movable []Movable) (*Relocation, error) {
	const op = "pool.relocate"
	if p.heap.debug != nil {
		return nil, device.Errorf(device.CodeUnsupported, op,
			"pool %q debugs: its blocks stay where they are", p.heap.config.Name).On(p.heap.engine.ID())
	}
	p.heap.mu.Lock()
	defer p.heap.mu.Unlock()
	if p.heap.state != stateOpen {
		return nil, p.heap.closedError(op)
	}
	return &Relocation{pool: p, movable: movable, claimed: make([]bool, len(movable)),
		filled: map[regionKey]bool{}, steps: steps{hold: holdLooks}}, nil
}

// Next claims places for all blocks of the page or segment that is the cheapest to
// empty now. No claims: there is nothing to gain (Ended), or over has said that the
// time is over: then another call goes on where this one stopped, but for the page
// or segment that it was claiming places for. over is called with no lock held. The claims of one call are to be settled or abandoned before the
// next call. Errors: CodeInvalidState when the pool is closed.
func (r *Relocation) Next(over func() bool) (next Evacuation, err error) {
	r.beginSteps(over)
	p := r.pool
	p.heap.lock()
	defer p.heap.mu.Unlock()
	defer r.endSteps()
	for !r.ended && r.goesOn() {
		if r.survey == nil {
			for p.heap.land(inflight.PollAll) && r.breathe() {
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
			// All that could not be had may be had now that others have moved.
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

// NotTried has blocks get another claim for one that was abandoned before a move was
// tried, or while it was. Without it a block gets one claim in a run.
func (r *Relocation) NotTried(claims []Claim) {
	for _, c := range claims {
		r.claimed[c.Index] = false
	}
	if r.survey != nil {
		r.survey.failed = true
	}
}

// Ended says that there is nothing to gain any more.
func (r *Relocation) Ended() bool { return r.ended }

// NoRoom is, once there is nothing to gain, how many blocks found no place with all
// those beside them though as much is free elsewhere.
func (r *Relocation) NoRoom() uint64 { return r.noRoom }

// Settle makes the place of a claim, to which all bytes have been copied, the block:
// it keeps its tag, its size and its time. Its old place is free. False: the block
// is not live any more, and nothing has changed.
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
	p.heap.books.Land(from.Size)
	p.heap.mu.Unlock()
	p.heap.changed()
	return true
}

// Abandon gives a claimed place back, which is handed out again once all events
// have passed. The pool closes them.
func (p *Pool) Abandon(c Claim, events ...device.Event) {
	if len(events) == 0 {
		p.AbandonAll([]Claim{c})
		return
	}
	p.heap.lock()
	if p.heap.state == stateClosed {
		p.heap.mu.Unlock()
		for _, event := range events {
			// The work is done, or the memory would not be closed.
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

// abandonAfter waits for the events: there is no memory to note the place behind them.
// One that cannot be waited for leaves the place to the end of the pool.
func (p *Pool) abandonAfter(c Claim, events []device.Event) {
	if inflight.PassAll(events) {
		p.AbandonAll([]Claim{c})
		return
	}
	p.heap.lock()
	if p.heap.state != stateClosed {
		p.heap.claimed(c).setInfo(makeInfo(blockInFlight, 0, 0))
		p.heap.grounded = true
	}
	p.heap.mu.Unlock()
}

// AbandonAll gives claimed places back that no work uses.
func (p *Pool) AbandonAll(claims []Claim) {
	for some := range slices.Chunk(claims, holdLooks) {
		p.heap.lock()
		for _, c := range some {
			if p.heap.state == stateClosed {
				break
			}
			p.heap.giveBackPlace(p.heap.claimed(c))
		}
		p.heap.mu.Unlock()
		runtime.Gosched()
	}
	p.heap.changed()
}

// giveBackPlace frees a claimed place. The caller holds mu.
func (h *heap) giveBackPlace(to located) {
	to.setInfo(0)
	h.giveToSegment(to)
	h.books.Land(to.Size)
}

// claimed is the place of a claim that is not settled. The caller holds mu.
func (h *heap) claimed(c Claim) located {
	to, ok := h.locate(c.To)
	if !ok || to.info().state() != blockClaimed {
		h.broken("pool.relocate", device.Errorf(device.CodeInternal, "pool.relocate",
			"the place at %#x is not claimed", uint64(c.To)))
	}
	return to
}
