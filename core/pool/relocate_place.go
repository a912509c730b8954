package pool

import (
	"ferrum_mem/core/pool/regions"
	"ferrum_mem/core/rangealloc"
)

// placed is a claim under way, and what was at its place.
type placed struct {
	Claim
	located
	regions.Place[*segment]
}

// placeOne claims a place for a block.
func (v *survey) placeOne(victim *regions.Region[*segment], b regions.Block, l located) (placed, bool) {
	m := &v.run.movable[b.Index]
	c := Claim{From: m.Addr, SizeBytes: l.Size - l.info().slack(), Index: b.Index}
	r := rangealloc.Request{Size: l.Size, Align: max(m.AlignmentBytes, v.run.pool.heap.config.AlignmentBytes)}
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
func (v *survey) placeInHole(victim *regions.Region[*segment], r rangealloc.Request) (placed, bool) {
	for v.run.step() {
		place, looks, ok := v.Find(victim, r.Size, r.Align)
		v.run.looks += looks
		if !ok {
			some, more := v.OpenNext(victim)
			v.run.looks += some
			if !more {
				return placed{}, false
			}
			continue
		}
		s := place.Region.Key.Segment
		got, err := v.takePlace(s, rangealloc.Place{Offset: place.Offset, Size: r.Size})
		if err != nil {
			v.Lose(place)
			continue
		}
		v.Take(&place, got.Size)
		return placed{located: located{s, got}, Place: place}, true
	}
	return placed{}, false
}

// takePlace takes a place that was free when it was seen, on pages that were mapped.
func (v *survey) takePlace(s *segment, at rangealloc.Place) (got rangealloc.Range, err error) {
	if !v.run.pool.heap.has(s) {
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

// maxOffers bounds the places that are passed over for one block while the lock is
// held. The segments share them; each gets leastOffers at least, while there are some.
const (
	maxOffers   = 4096
	leastOffers = 256
)

// placeByStrategy takes the first place that a strategy offers which chooses
// itself. Those that do not suit are kept in passed, so that it offers others.
func (v *survey) placeByStrategy(victim *regions.Region[*segment], r rangealloc.Request) (placed, bool) {
	run := v.run
	share := max(leastOffers, maxOffers/len(run.pool.heap.segments))
	for _, s := range run.pool.heap.segments {
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
				return placed{located: l, Place: v.TakeIn(to, got.Size)}, true
			}
			run.passed = append(run.passed, l)
		}
	}
	return placed{}, false
}

// suits is the region of a place that blocks of a victim may go to, or nil.
func (v *survey) suits(victim *regions.Region[*segment], l located) *regions.Region[*segment] {
	shift := l.regionShift()
	if l.Offset>>shift != (l.Offset+l.Size-1)>>shift {
		return nil
	}
	key := regionKey{Segment: l.segment, Page: l.Offset >> shift}
	if !isUsed(key) && !v.IsOpen(key) {
		return nil
	}
	return v.Suits(victim, key)
}
