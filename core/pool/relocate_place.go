package pool

import (
	"ferrum_mem/core/pool/regions"
	"ferrum_mem/core/rangealloc"
)

// placed is a claim that is being made, and what was at its place before.
type placed struct {
	Claim
	located
	regions.Place[*segment]
}

// placeOne reserves a target for a block.
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

// placeInHole allocates the best free run for a block.
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

// takePlace allocates a place that was free and on mapped pages when it was read.
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

// The search for one place takes about searchLooks looks in all segments together. The
// search in the known free runs takes as many. The segments share the looks; each gets at
// least leastLooks. A strategy that cannot ask whether a place can be used offers places
// instead, and unusable ones stay allocated during the search. mostOffers of one segment
// are enough, because a strategy first offers places near its blocks.
const (
	searchLooks = regions.FindLooks
	leastLooks  = 16
	mostOffers  = 64
)

// placeByStrategy allocates the first usable place from a strategy that chooses places
// itself.
func (v *survey) placeByStrategy(victim *regions.Region[*segment], r rangealloc.Request) (placed, bool) {
	segments, end := v.run.pool.heap.segments, v.run.looks+searchLooks
	for at, s := range segments {
		share := min(max((end-v.run.looks)/(len(segments)-at), leastLooks), end-v.run.looks)
		if share == 0 {
			break
		}
		take := v.placeOffered
		if s.asker != nil {
			take = v.placeAsked
		}
		if got, ok := take(victim, s, r, share); ok {
			return got, true
		}
	}
	return placed{}, false
}

// placeAsked allocates from a strategy that asks for each place whether it can be used.
func (v *survey) placeAsked(victim *regions.Region[*segment], s *segment, r rangealloc.Request, most int) (placed, bool) {
	got, asked, err := s.asker.AllocWhere(r, most, func(offset, size uint64) bool {
		return v.suits(victim, s, offset, size) != nil
	})
	v.run.looks += asked
	if err == nil && got.Slot >= s.slots {
		got, err = s.allocExtended(got)
	}
	if err != nil {
		return placed{}, false
	}
	return v.accept(victim, located{s, got}, r)
}

// placeOffered allocates the first usable place of those that a strategy offers. It keeps
// the others in passed, so that the strategy offers further ones.
func (v *survey) placeOffered(victim *regions.Region[*segment], s *segment, r rangealloc.Request, most int) (placed, bool) {
	for range min(most, mostOffers) {
		v.run.looks++
		got, err := s.strategy.Alloc(r)
		if err == nil && got.Slot >= s.slots {
			got, err = s.allocExtended(got)
		}
		if err != nil {
			break
		}
		if to, ok := v.accept(victim, located{s, got}, r); ok {
			return to, true
		}
	}
	return placed{}, false
}

// accept uses a place that a strategy has chosen, or adds it to passed.
func (v *survey) accept(victim *regions.Region[*segment], l located, r rangealloc.Request) (placed, bool) {
	to := v.suits(victim, l.segment, l.Offset, l.Size)
	if to != nil && l.Size == r.Size && (l.pages == nil || l.pages.Touch(l.Offset, l.Size)) {
		return placed{located: l, Place: v.TakeIn(to, l.Size)}, true
	}
	v.run.passed = append(v.run.passed, l)
	return placed{}, false
}

// suits returns the region of a range to which blocks of the victim may move, or nil.
func (v *survey) suits(victim *regions.Region[*segment], s *segment, offset, size uint64) *regions.Region[*segment] {
	shift := s.regionShift()
	if offset>>shift != (offset+size-1)>>shift {
		return nil
	}
	key := regionKey{Segment: s, Page: offset >> shift}
	if !isUsed(key) && !v.IsOpen(key) {
		return nil
	}
	return v.Suits(victim, key)
}
