package pool

import (
	"math/bits"

	"ferrum_mem/core/rangealloc"
)

// hole is free memory inside one region.
type hole struct {
	region       *region
	offset, size uint64
	// class is that of size, and stands has a bit for each list that the hole is in.
	class  int
	stands uint64
}

func (h *hole) base() uint64 { return uint64(h.region.key.segment.base) }

func (h *hole) addr() uint64 { return h.base() + h.offset }

// placeIndex finds holes by their size: a list for every power of two. Not all are
// listed. A hole that has become shorter stands in another list too; where it is not
// of the list's class it is passed over.
type placeIndex struct {
	holes pieces[hole]
	lists [65][]int32
	// looks counts the holes that were looked at.
	looks int
}

// noHole is the number of no hole.
const noHole int32 = -1

// ownClassLooks bounds the holes of a class that are looked at, which may all be too
// short, or of a region that blocks may not go to.
const ownClassLooks = 256

// findLooks bounds the looks of one search.
const findLooks = 1024

// list enters a hole in the list of its size.
func (x *placeIndex) list(at int32) {
	h := x.holes.at(int(at))
	h.class = bits.Len64(h.size)
	if h.size != 0 && h.stands>>h.class&1 == 0 {
		h.stands |= 1 << h.class
		x.lists[h.class] = append(x.lists[h.class], at)
	}
}

// change enters what a listed hole is now.
func (x *placeIndex) change(at int32, offset, size uint64) {
	h := x.holes.at(int(at))
	h.offset, h.size = offset, size
	x.list(at)
}

// find is the hole that suits best of those that accept takes: one of a region that
// got blocks already comes first, and the shortest of those.
func (x *placeIndex) find(size, align uint64, accept func(*region) bool) (at int32, offset uint64) {
	for class := bits.Len64(size); class < len(x.lists) && x.looks < findLooks; class++ {
		best, bestOffset, looks := noHole, uint64(0), ownClassLooks
		list := x.lists[class]
		for i := 0; i < len(list) && looks > 0; i++ {
			looks--
			x.looks++
			h := x.holes.at(int(list[i]))
			if h.class != class || h.size == 0 {
				h.stands &^= 1 << class
				list[i] = list[len(list)-1]
				list = list[:len(list)-1]
				i--
				continue
			}
			start := (h.addr()+align-1)&^(align-1) - h.base()
			if start < h.offset || start-h.offset > h.size || h.size-(start-h.offset) < size || !accept(h.region) {
				continue
			}
			if best == noHole || h.better(x.holes.at(int(best))) {
				best, bestOffset = list[i], start
			}
		}
		x.lists[class] = list
		if best != noHole {
			return best, bestOffset
		}
	}
	return noHole, 0
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
	Claim
	located
	at  int32
	was hole
	// filled says that the region had none before.
	filled bool
}

// mayGoTo says that blocks of a victim may go to a region.
func (victim *region) mayGoTo(to *region) bool {
	return to != victim && !to.emptied && (to.filled || to.rank > victim.rank)
}

// placeOne claims a place for a block.
func (v *survey) placeOne(victim *region, b seenBlock, l located) (placed, bool) {
	m := &v.run.movable[b.index]
	c := Claim{From: m.Addr, SizeBytes: l.Size - l.info().slack(), Index: b.index}
	r := rangealloc.Request{Size: l.Size, Align: max(m.AlignmentBytes, v.run.pool.config.AlignmentBytes)}
	take := v.placeByStrategy
	if l.placer != nil {
		take = v.placeInHole
	}
	got, ok := take(victim, r)
	if !ok {
		return placed{}, false
	}
	got.Claim = c
	return v.claim(got), true
}

// placeInHole takes the best hole for a block.
func (v *survey) placeInHole(victim *region, r rangealloc.Request) (placed, bool) {
	for v.run.step() {
		at, offset := v.places.find(r.Size, r.Align, victim.mayGoTo)
		v.run.looks, v.places.looks = v.run.looks+v.places.looks, 0
		if at == noHole {
			if !v.openNext(victim) {
				return placed{}, false
			}
			continue
		}
		h := v.places.holes.at(int(at))
		s := h.region.key.segment
		got, err := v.takePlace(s, rangealloc.Place{Offset: offset, Size: r.Size})
		if err != nil {
			h.size = 0 // somebody has taken it, or its page
			continue
		}
		d := placed{located: located{s, got}, at: at, was: *h}
		d.filled = v.fill(h.region)
		// What lies in front of an aligned place is not used by this survey.
		end := offset + got.Size
		v.places.change(at, end, h.offset+h.size-end)
		return d, true
	}
	return placed{}, false
}

// takePlace takes a place that was free when it was seen, on pages that were mapped.
func (v *survey) takePlace(s *segment, at rangealloc.Place) (got rangealloc.Range, err error) {
	if !v.run.pool.has(s) {
		return got, rangealloc.ErrNoRoom
	}
	behind, near := v.behind(s, at.Offset)
	if !near {
		return got, rangealloc.ErrNoRoom
	}
	at.Behind = behind
	got, err = s.placer.TakePlace(at)
	if err == nil && got.Slot >= s.slots {
		got, err = s.allocExtended(got)
	}
	if err == nil && s.pages != nil && !s.pages.Touch(got.Offset, got.Size) {
		s.retract(got.Offset)
		err = errUnmapped
	}
	return got, err
}

// openNext has some of the next target's holes taken into use; false: none is left
// that blocks of a victim may go to.
func (v *survey) openNext(victim *region) bool {
	if v.nextTarget == len(v.targets) || !victim.mayGoTo(v.targets[v.nextTarget]) {
		return false
	}
	target := v.targets[v.nextTarget]
	some := min(target.holes-v.nextHole, ownClassLooks)
	for i := range some {
		v.places.list(int32(target.firstHole + v.nextHole + i))
	}
	v.run.looks += some
	if v.nextHole += some; v.nextHole == target.holes {
		v.nextTarget, v.nextHole = v.nextTarget+1, 0
	}
	return true
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

// maxOffers bounds the places that are passed over for one block while the lock is
// held. The segments share them; each gets leastOffers at least, while there are some.
const (
	maxOffers   = 4096
	leastOffers = 256
)

// placeByStrategy takes the first place that a strategy offers which chooses
// itself. Those that do not suit are kept in passed, so that it offers others.
func (v *survey) placeByStrategy(victim *region, r rangealloc.Request) (placed, bool) {
	run := v.run
	share := max(leastOffers, maxOffers/len(run.pool.segments))
	for _, s := range run.pool.segments {
		for range min(share, maxOffers-run.looks) {
			run.looks++
			got, err := s.strategy.Alloc(r)
			if err == nil && got.Slot >= s.slots {
				got, err = s.allocExtended(got)
			}
			if err != nil {
				break
			}
			l := located{s, got}
			if to := v.suits(victim, l); to != nil && got.Size == r.Size &&
				(s.pages == nil || s.pages.Touch(got.Offset, got.Size)) {
				return placed{located: l, at: noHole, was: hole{region: to}, filled: v.fill(to)}, true
			}
			run.passed = append(run.passed, l)
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
	key := regionKey{l.segment, l.Offset >> shift}
	if !key.isUsed() && !v.run.filled[key] {
		return nil
	}
	if to := v.fixedAt(key); victim.mayGoTo(to) {
		return to
	}
	return nil
}
