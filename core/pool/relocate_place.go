package pool

import (
	"cmp"
	"math/bits"
	"slices"

	"ferrum_mem/core/rangealloc"
)

// hole is free memory inside one region.
type hole struct {
	segment      *segment
	region       *region
	offset, size uint64
	// behind is a live block in front of it, as rangealloc.Place has it.
	behind uint64
	class  int
}

func (h *hole) addr() uint64 { return uint64(h.segment.base) + h.offset }

// placeIndex finds holes by their size: a list for every power of two. A hole that
// has become shorter stands in another list too; where it is not of the list's class
// it is passed over.
type placeIndex struct {
	holes []hole
	lists [65][]int32
}

// ownClassLooks bounds the holes of a block's own class that are looked at, which
// may all be too short; one of a higher class is not.
const ownClassLooks = 256

func (x *placeIndex) add(h hole) {
	x.holes = append(x.holes, h)
	x.list(int32(len(x.holes) - 1))
}

// list enters a hole in the list of its size.
func (x *placeIndex) list(at int32) {
	h := &x.holes[at]
	h.class = bits.Len64(h.size)
	if h.size != 0 {
		x.lists[h.class] = append(x.lists[h.class], at)
	}
}

// find is the hole that suits best of those that accept takes: one of a region that
// got blocks already comes first, and the shortest of those.
func (x *placeIndex) find(size, align uint64, accept func(*region) bool) (at int32, offset uint64) {
	for class := bits.Len64(size); class < len(x.lists); class++ {
		best, bestOffset, looks := none, uint64(0), ownClassLooks
		list := x.lists[class]
		for i := 0; i < len(list) && looks > 0; i++ {
			h := &x.holes[list[i]]
			if h.class != class {
				list = slices.Delete(list, i, i+1)
				i--
				continue
			}
			looks--
			start := (h.addr()+align-1)&^(align-1) - uint64(h.segment.base)
			if start < h.offset || start-h.offset > h.size || h.size-(start-h.offset) < size || !accept(h.region) {
				continue
			}
			if best == none || h.better(&x.holes[best]) {
				best, bestOffset = list[i], start
			}
		}
		x.lists[class] = list
		if best != none {
			return best, bestOffset
		}
	}
	return none, 0
}

func (h *hole) better(other *hole) bool {
	if h.region.filled != other.region.filled {
		return h.region.filled
	}
	if h.size != other.size {
		return h.size < other.size
	}
	return h.addr() < other.addr()
}

// placed is a claim under way, and the hole as it was.
type placed struct {
	located
	at  int32
	was hole
	// filled says that the region had none before.
	filled bool
}

// claimAll claims a place for every block, or none.
func (v *survey) claimAll(victim *region, blocks []located) (claims []Claim, ok bool) {
	// The longest find their place first.
	slices.SortStableFunc(blocks, func(a, b located) int { return cmp.Compare(b.Size, a.Size) })
	var done []placed
	var passed []located
	for _, l := range blocks {
		got, ok := v.placeOne(victim, l, &passed)
		if !ok {
			break
		}
		done = append(done, got)
	}
	for _, l := range slices.Backward(passed) {
		l.retract(l.Offset)
	}
	if len(done) < len(blocks) {
		v.undo(done)
		return nil, false
	}
	p := v.run.pool
	for i, l := range blocks {
		to := done[i].located
		to.setInfo(makeInfo(blockClaimed, 0, 0))
		to.blocks++
		p.books.Board(to.Size)
		v.leaving[l.addr()] = true
		claims = append(claims, Claim{From: l.addr(), To: to.addr(), SizeBytes: l.Size - l.info().slack()})
	}
	return claims, true
}

// undo takes places back, the last first.
func (v *survey) undo(done []placed) {
	for _, d := range slices.Backward(done) {
		v.run.pool.unplace(d.located)
		if d.at != none {
			v.places.holes[d.at] = d.was
			v.places.list(d.at)
			v.took(d.was.region, -d.Size)
		}
		if d.filled {
			d.was.region.filled = false
			delete(v.run.filled, d.was.region.key)
		}
	}
}

// mayGoTo says that blocks of a victim may go to a region.
func (victim *region) mayGoTo(to *region) bool {
	return to != victim && !to.emptied && (to.filled || to.rank > victim.rank)
}

// placeOne takes a place for a block.
func (v *survey) placeOne(victim *region, l located, passed *[]located) (placed, bool) {
	align := max(v.run.movable[l.addr()], v.run.pool.config.AlignmentBytes)
	if _, ok := l.strategy.(rangealloc.PlaceTaker); ok {
		return v.placeInHole(victim, l, align)
	}
	return v.placeByStrategy(victim, l, align, passed)
}

// placeInHole takes the best hole for a block.
func (v *survey) placeInHole(victim *region, l located, align uint64) (placed, bool) {
	at, offset := v.places.find(l.Size, align, victim.mayGoTo)
	for at == none && v.openNext(victim) {
		at, offset = v.places.find(l.Size, align, victim.mayGoTo)
	}
	if at == none {
		return placed{}, false
	}
	h := &v.places.holes[at]
	s := h.segment
	got, err := s.strategy.(rangealloc.PlaceTaker).TakePlace(rangealloc.Place{Offset: offset, Size: l.Size, Behind: h.behind})
	if err == nil && got.Slot >= s.slots {
		got, err = s.allocExtended(got)
	}
	if err != nil {
		return placed{}, false
	}
	if s.pages != nil && !s.pages.touch(got.Offset, got.Size) {
		s.retract(got.Offset)
		return placed{}, false
	}
	d := placed{located: located{s, got}, at: at, was: *h}
	d.filled = v.fill(h.region)
	// What lies in front of an aligned place is not used by this survey.
	h.size -= offset - h.offset + got.Size
	h.offset, h.behind = offset+got.Size, offset
	v.places.list(at)
	v.took(h.region, got.Size)
	return d, true
}

// took counts what is taken of a region's holes.
func (v *survey) took(of *region, bytes uint64) {
	of.free -= bytes
	v.free -= bytes
}

// fill notes that blocks are moved to a region; false: that was known.
func (v *survey) fill(to *region) bool {
	if to.filled {
		return false
	}
	to.filled = true
	v.run.filled[to.key] = true
	return true
}

// maxPassed bounds the places for one block that are passed over.
const maxPassed = 256

// placeByStrategy takes the first place that a strategy offers which chooses
// itself. Those that do not suit are kept in passed, so that it offers others.
func (v *survey) placeByStrategy(victim *region, l located, align uint64, passed *[]located) (placed, bool) {
	r := rangealloc.Request{Size: l.Size, Align: align}
	for _, s := range v.run.pool.segments {
		for range maxPassed {
			got, err := s.strategy.Alloc(r)
			if err == nil && got.Slot >= s.slots {
				got, err = s.allocExtended(got)
			}
			if err != nil {
				break
			}
			if to := v.suits(victim, located{s, got}); to != nil && got.Size == l.Size &&
				(s.pages == nil || s.pages.touch(got.Offset, got.Size)) {
				d := placed{located: located{s, got}, at: none, was: hole{region: to}}
				d.filled = v.fill(to)
				return d, true
			}
			*passed = append(*passed, located{s, got})
		}
	}
	return placed{}, false
}

// suits is the region of a place that blocks of a victim may go to, or nil.
func (v *survey) suits(victim *region, l located) *region {
	shift := l.regionShift()
	if l.Offset>>shift != (l.Offset+l.Size-1)>>shift {
		return nil
	}
	to := v.regions[regionKey{l.segment, l.Offset >> shift}]
	if to == nil || !victim.mayGoTo(to) {
		return nil
	}
	return to
}
