package rangealloc

import "ferrum_mem/core/internal/offheap"

// Placement of a request with an expected end.
//
// A block is in the way only while its neighbours are free. Beside a block that ends at
// the same time, it leaves one long free run. Between blocks that end long before it, it
// divides their run in two. So the block may be placed at either end of the few runs that
// fit best. It takes the place with the smallest sum of
//
//   - what it leaves over, as a share of the run; this counts half;
//   - how badly its remaining life matches that of the neighbour that it will touch: the
//     share of the longer of the two lives in which the other block is freed. If the
//     neighbour lives longer, this counts half, because then the block divides nothing;
//     it only uses a place beside a block that stays as long.
//
// The address space above the highest end of any block so far is used only if no other
// run holds the request. The part of a run below that end counts as a run that ends
// there.
//
// For requests without an expected end, the placement is best fit. A neighbour without an
// expected end counts as one that stays, and so does the end of the range.

// hintedRuns is the number of runs that are compared, those that fit best. More runs made
// no measurable difference.
const hintedRuns = 8

// half is the weight of what is left over, and of a neighbour that stays.
const half = 0.5

// hints has the expected ends of blocks. A strategy that never gets one has no table.
type hints struct {
	// ends has the expected end by record; 0 for a free run and for a block without one.
	ends   []uint64
	memory offheap.Table[uint64]
	// now is the expected end of the block that was freed last. It is the time if
	// expectations are right; after a wrong one, the next free corrects it.
	now uint64
}

// set stores the expected end of a live block. room is the number of records that the
// table of blocks can have before it grows. Without memory, the end stays unknown.
func (h *hints) set(at uint32, end uint64, room int) {
	if int(at) >= len(h.ends) {
		if h.memory.Grow(&h.ends, room) != nil {
			return
		}
		h.ends = h.ends[:cap(h.ends)]
	}
	h.ends[at] = end
}

// freed removes a block, and sets now from it.
func (h *hints) freed(at uint32) {
	if int(at) < len(h.ends) && h.ends[at] != 0 {
		h.now, h.ends[at] = h.ends[at], 0
	}
}

// left returns how much longer a block lives that ends at the given time.
func (h *hints) left(end uint64) float64 {
	if end <= h.now {
		return 1
	}
	return float64(end - h.now)
}

// mismatch returns how badly a block with the given end matches a neighbour, from 0 to 1.
func (h *hints) mismatch(end uint64, neighbour uint32) float64 {
	if int(neighbour) >= len(h.ends) || h.ends[neighbour] == 0 {
		return half
	}
	mine, other := h.left(end), h.left(h.ends[neighbour])
	if other > mine {
		return half * (1 - mine/other)
	}
	return 1 - other/mine
}

// place is a run, and where in it a block would start.
type place struct {
	at  uint32
	pad uint64
	// cost is the sum that should be smallest.
	cost float64
}

// better replaces the place if the new one costs less.
func (p *place) better(at uint32, pad uint64, cost float64) {
	if p.at == none || cost < p.cost {
		*p = place{at: at, pad: pad, cost: cost}
	}
}

// findHinted returns the place for a request of need granules; mask is its alignment in
// granules, minus 1. It skips runs that are long enough but do not have the alignment,
// one by one.
func (b *bestFit[U]) findHinted(need, mask, end uint64) (at uint32, pad uint64) {
	all := b.records.all
	open := none
	if b.highWater < b.total {
		open = all[0].prev // everything above the high water is free
	}
	var best place
	size, offset := need, uint64(0)
	for compared := 0; compared < hintedRuns; {
		at := b.find(size, offset)
		if at == none {
			break
		}
		r := &all[at]
		size, offset = r.size(), r.offset()+1
		pad := b.padding(r.offset(), mask)
		if at == open || pad > r.size()-need {
			continue
		}
		compared++
		left := r.size() - need
		over := half * (float64(left) / float64(r.size()))
		best.better(at, pad, over+b.hints.mismatch(end, r.prev))
		high := left - (b.base+r.offset()+left)&mask
		best.better(at, high, over+b.hints.mismatch(end, r.next))
	}
	if open == none {
		return best.at, best.pad
	}
	r := &all[open]
	pad = b.padding(r.offset(), mask)
	if below := b.highWater - r.offset(); below >= need && pad <= below-need {
		over := half * (float64(below-need) / float64(below))
		best.better(open, pad, over+b.hints.mismatch(end, r.prev))
	}
	if best.at == none && r.size() >= need && pad <= r.size()-need {
		return open, pad
	}
	return best.at, best.pad
}
