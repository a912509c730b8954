package pool

import (
	"ferrum_mem/core/device"
)

// Relocation. Whoever knows which blocks may move has the pool choose the pages (or
// segments, in a pool that takes them whole) that are cheapest to empty, and a place
// outside of them for each of their blocks, in memory that the pool has already: it
// never grows for this. The places are claimed, which is no life of a block: they
// count as active and belong to nobody. Whoever claimed them copies the bytes, and
// then settles each claim, which moves the block's life over, or abandons it.
//
// What is chosen and in which order: relocate_survey.go; where blocks go:
// relocate_place.go.

// Relocation is one run of moving blocks. It belongs to one caller at a time. A
// page that blocks were moved to is not emptied by the same run.
type Relocation struct {
	pool *Pool
	// movable is the alignment that each block that may move was asked for with, by
	// its address; 0: the pool's.
	movable map[device.Addr]uint64
	filled  map[regionKey]bool
}

// Claim is a place for a block that may move.
type Claim struct {
	From, To device.Addr
	// SizeBytes is what has to be copied: what was asked for.
	SizeBytes uint64
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

// Relocate starts a run over the live blocks at these addresses, with the alignment
// of each. Errors: CodeInvalidState when the pool is closed, CodeUnsupported when it
// debugs: what surrounds its blocks does not move with them.
func (p *Pool) Relocate(movable map[device.Addr]uint64) (*Relocation, error) {
	const op = "pool.relocate"
	if p.debug != nil {
		return nil, device.Errorf(device.CodeUnsupported, op,
			"pool %q debugs: its blocks stay where they are", p.config.Name).On(p.engine.ID())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != stateOpen {
		return nil, p.closedError(op)
	}
	return &Relocation{pool: p, movable: movable, filled: map[regionKey]bool{}}, nil
}

// Next claims places for all blocks of some pages or segments, about maxBytes in all
// but for one of them at least, the cheapest first. None: there is nothing to gain,
// and noRoom is how many blocks found no place with all those beside them though as
// much is free elsewhere. Those
// whose places were claimed are no longer movable in this run: what becomes of them
// is the caller's.
func (r *Relocation) Next(maxBytes uint64) (chosen []Evacuation, noRoom uint64, err error) {
	p := r.pool
	p.lock()
	defer p.mu.Unlock()
	if p.state != stateOpen {
		return nil, 0, p.closedError("pool.relocate")
	}
	p.land(pollAll)
	chosen, noRoom = r.survey().choose(maxBytes)
	for _, e := range chosen {
		for _, c := range e.Claims {
			delete(r.movable, c.From)
		}
	}
	return chosen, noRoom, nil
}

// Settle makes the place of a claim, to which all bytes have been copied, the block:
// it keeps its tag, its size and its time. Its old place is free. False: the block
// is not live any more, and nothing has changed.
func (p *Pool) Settle(c Claim) bool {
	p.lock()
	from, ok := p.locate(c.From)
	if !ok || p.state == stateClosed || from.info().state() != blockLive {
		p.mu.Unlock()
		return false
	}
	to := p.claimed(c)
	to.setInfo(from.info())
	if to.timed {
		to.times[to.Slot] = from.times[from.Slot]
	}
	if named, ok := p.streams[c.From]; ok {
		delete(p.streams, c.From)
		p.streams[c.To] = named
	}
	from.setInfo(0)
	p.giveToSegment(from)
	p.books.Land(from.Size)
	p.mu.Unlock()
	p.changed()
	return true
}

// Abandon gives a claimed place back, which is handed out again once all events
// have passed. The pool closes them.
func (p *Pool) Abandon(c Claim, events ...device.Event) {
	p.lock()
	if p.state == stateClosed {
		p.mu.Unlock()
		return
	}
	to := p.claimed(c)
	if len(events) == 0 {
		to.setInfo(0)
		p.giveToSegment(to)
		p.books.Land(to.Size)
	} else {
		to.setInfo(makeInfo(blockInFlight, 0, 0))
		behind := make([]int32, 0, len(events))
		for _, event := range events {
			behind = append(behind, p.flights.fenceOn(nil, event))
		}
		p.flights.add(to, behind)
	}
	p.mu.Unlock()
	p.changed()
}

// claimed is the place of a claim that is not settled. The caller holds mu.
func (p *Pool) claimed(c Claim) located {
	to, ok := p.locate(c.To)
	if !ok || to.info().state() != blockClaimed {
		p.broken("pool.relocate", device.Errorf(device.CodeInternal, "pool.relocate",
			"the place at %#x is not claimed", uint64(c.To)))
	}
	return to
}
