package pool

import (
	"cmp"
	"slices"

	"ferrum_mem/core/internal/sorting"
	"ferrum_mem/core/pool/regions"
)

// next reserves targets for the blocks of the cheapest candidate for which this is
// possible. It returns no claims if no candidate is left or the run has to stop.
func (v *survey) next() Evacuation {
	for victim := v.Candidate(); victim != nil; victim = v.Candidate() {
		if !v.run.step() {
			return Evacuation{}
		}
		if victim.IsFilled() || !v.isIntact(victim) {
			v.Pass(false)
			continue
		}
		claims, ok := v.claimAll(victim)
		if !ok && v.run.goesOn() && v.open() {
			claims, ok = v.claimAll(victim)
		}
		if !v.run.goesOn() {
			v.undo(claims)
			return Evacuation{}
		}
		v.Pass(ok)
		if len(claims) > 0 {
			v.gained = true
			return v.evacuation(claims)
		}
		if !ok {
			v.failed = true
			v.CountNoRoom(victim, victim.Key.Segment.regionBytes())
			v.run.looks += len(victim.Blocks) / regions.LooksPerWord
		}
	}
	return Evacuation{}
}

// isIntact reports whether every block of a region is known to be movable.
func (v *survey) isIntact(victim *regions.Region[*segment]) bool {
	return v.run.pool.heap.has(victim.Key.Segment) && blocksIn(victim.Key) <= uint64(len(victim.Blocks))
}

func (v *survey) evacuation(claims []placed) Evacuation {
	e := Evacuation{Claims: make([]Claim, 0, len(claims))}
	for _, c := range claims {
		v.Claimed(c.Index)
		e.Claims = append(e.Claims, c.Claim)
	}
	v.run.looks += len(claims) / regions.LooksPerWord
	return e
}

// claimAll reserves a target for every block of a region, or none. The longest blocks get
// their targets first.
func (v *survey) claimAll(victim *regions.Region[*segment]) (claims []placed, ok bool) {
	r := v.run
	r.outside(func() {
		claims = make([]placed, 0, len(victim.Blocks))
		sorting.StableBy(victim.Blocks, func(a, b regions.Block) int { return cmp.Compare(b.SizeBytes, a.SizeBytes) })
	})
	for _, b := range victim.Blocks {
		if !r.step() {
			v.undo(claims)
			return nil, false
		}
		if r.claimed[b.Index] {
			continue
		}
		l, live := r.pool.heap.locate(r.movable[b.Index].Addr)
		if !live || l.info().state() != blockLive || l.Size != b.SizeBytes {
			continue
		}
		got, found := v.placeOne(victim, b, l)
		if !found {
			v.undo(claims)
			return nil, false
		}
		claims = append(claims, got)
	}
	r.releasePassed()
	if r.pool.heap.has(victim.Key.Segment) && blocksIn(victim.Key) == uint64(len(claims)) {
		return claims, true
	}
	// A block was allocated or freed in the region meanwhile.
	v.undo(claims)
	return nil, false
}

// claim marks an allocated place as a reserved target, so that the lock may be released.
func (v *survey) claim(d placed) placed {
	to := d.located
	to.setInfo(makeInfo(blockClaimed, 0, 0))
	to.blocks++
	v.run.pool.heap.counters.Activate(to.Size)
	d.To = to.addr()
	return d
}

// undo releases reserved targets, the last one first.
func (v *survey) undo(claims []placed) {
	r := v.run
	r.releasePassed()
	for _, d := range slices.Backward(claims) {
		r.step()
		to, ok := r.pool.heap.locate(d.To)
		if !ok || to.info().state() != blockClaimed {
			return // the pool is closing and has released the segment
		}
		r.pool.heap.releasePlace(to)
		v.Return(d.Place, to.Size)
	}
}

// open makes a region without blocks a target, if it can hold the blocks of this
// candidate and of the next one.
func (v *survey) open() bool {
	need, words, ok := v.NeedToOpen()
	v.run.looks += words / regions.LooksPerWord
	if !ok {
		return false
	}
	for _, s := range v.run.pool.heap.segments {
		key, ok := v.idleRegion(s)
		if !ok || need > s.regionBytes() {
			continue
		}
		v.Open(key, startOf(key), s.regionBytes(), s.placer != nil)
		return true
	}
	return false
}

// idleRegion returns the first region of a segment that has memory, has no block and is
// not a target yet.
func (v *survey) idleRegion(s *segment) (key regionKey, ok bool) {
	if s.pages == nil {
		key = regionKey{Segment: s}
		return key, s.blocks == 0 && !v.IsOpen(key)
	}
	v.run.looks += int(s.pages.Len() / 64 / regions.LooksPerWord)
	for page := range s.pages.Idle() {
		key = regionKey{Segment: s, Page: page}
		if !s.pages.IsLarge(page) && !v.IsOpen(key) && startOf(key)+s.regionBytes() <= s.usable {
			return key, true
		}
	}
	return key, false
}
