package rangealloc

import "ferrum_mem/core/internal/offheap"

// Placement of a request that says when it is expected to end.
//
// The idea: a block is in the way only while its neighbours are gone. Beside one
// that ends when it does, it leaves one long free run; in the midst of blocks
// that go long before it, it cuts their run in two. So of the few runs that fit
// best, and the two ends of each, the block takes the place with the least sum of
//
//   - what it leaves over, as a share of the run, and
//   - how badly its remaining life matches that of the neighbour it will touch,
//     as the share of the longer of the two lives in which the other is gone;
//     half of that when it is the neighbour that stays, because then the block
//     cuts nothing off and only wastes the place of one that would stay as long,
//
// where what is left over counts half. The address space above the highest end
// of any block so far is touched only when no other run holds the request, and
// what lies below that end counts as a run that ends there.
//
// Requests and neighbours without an expectation are best fit and walls: a
// neighbour that is not known to end is one that stays, as is the end of the
// range.

// hintedRuns bounds the search: so many runs are compared, those that fit best.
// More of them change nothing that could be measured.
const hintedRuns = 8

// half weighs what is left over, and a neighbour that stays.
const half = 0.5

// hints is what best fit knows of the expected ends of blocks. A strategy that
// is never given one has no table.
type hints struct {
	// ends is by record; 0 for a free run and for a block without expectation.
	ends   []uint64
	memory offheap.Table[uint64]
	// now is the expected end of the block freed last: the time, in so far as
	// expectations are right, and right again soon if one was not.
	now uint64
}

// set notes the expected end of a live block; room is how many records the table
// of blocks can have before it grows. Without memory for it the end stays not
// known.
func (h *hints) set(at uint32, end uint64, room int) {
	if int(at) >= len(h.ends) {
		if h.memory.Grow(&h.ends, room) != nil {
			return
		}
		h.ends = h.ends[:cap(h.ends)]
	}
	h.ends[at] = end
}

// freed forgets a block, and learns the time from it.
func (h *hints) freed(at uint32) {
	if int(at) < len(h.ends) && h.ends[at] != 0 {
		h.now, h.ends[at] = h.ends[at], 0
	}
}

// left is how much longer something lives that ends then.
func (h *hints) left(end uint64) float64 {
	if end <= h.now {
		return 1
	}
	return float64(end - h.now)
}

// mismatch of a block that ends then with a neighbour: from 0 to 1.
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

// place is a run and where in it a block would start.
type place struct {
	at  uint32
	pad uint64
	// cost is the sum that the least of is taken.
	cost float64
}

// better takes the place if it costs less.
func (p *place) better(at uint32, pad uint64, cost float64) {
	if p.at == none || cost < p.cost {
		*p = place{at: at, pad: pad, cost: cost}
	}
}

// findHinted is the place of a request of need granules; mask is its alignment
// in granules, less one. Runs that are long enough and lie badly are passed over
// one by one.
func (b *bestFit[U]) findHinted(need, mask, end uint64) (at uint32, pad uint64) {
	all := b.records.all
	open := none
	if b.highWater < b.total {
		open = all[0].prev // what is above the high water is free
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
