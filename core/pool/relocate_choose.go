package pool

import (
	"cmp"
	"slices"
)

// Blocks go to regions that stay, or cost more, so no block moves twice in a run;
// the fullest are taken into use first, and the next only when those have no place,
// because a region that got a block is not emptied by the same run.
// When there is no room in those, a region that has memory and no block is opened,
// if the two cheapest candidates fit into it together.

// looksPerWord is how many words of memory are read in the time of a look.
const looksPerWord = 16

// next claims places for the blocks of the cheapest candidate for which there are
// some; no claims: there is none left, or the run has to stop.
func (v *survey) next() Evacuation {
	for ; v.at < len(v.candidates); v.at++ {
		if !v.run.step() {
			return Evacuation{}
		}
		victim := v.candidates[v.at]
		if victim.filled || !v.isIntact(victim) {
			continue
		}
		claims, ok := v.claimAll(victim)
		if !ok && v.run.goesOn() && v.open(v.at) {
			claims, ok = v.claimAll(victim)
		}
		if !v.run.goesOn() {
			v.undo(claims)
			return Evacuation{}
		}
		if ok {
			victim.emptied = true
		}
		if len(claims) > 0 {
			v.at++
			v.gained = true
			return v.evacuation(claims)
		}
		if !ok {
			v.failed = true
			v.countNoRoom(victim)
		}
	}
	return Evacuation{}
}

// isIntact says that a region has no block that is not known to be movable.
func (v *survey) isIntact(victim *region) bool {
	return v.run.pool.has(victim.key.segment) && victim.key.blocksIn() <= uint64(len(victim.blocks))
}

func (v *survey) evacuation(claims []placed) Evacuation {
	e := Evacuation{Claims: make([]Claim, 0, len(claims))}
	for _, c := range claims {
		v.run.claimed[c.Index] = true
		if v.lacks[c.Index] {
			v.lacks[c.Index] = false
			v.noRoom--
		}
		e.Claims = append(e.Claims, c.Claim)
	}
	v.run.looks += len(claims) / looksPerWord
	return e
}

// countNoRoom counts the blocks of a region that found no place though the other
// regions have as much free as it takes.
func (v *survey) countNoRoom(victim *region) {
	own := victim.key.segment.regionBytes() - victim.inside
	if v.free-min(v.free, own) < victim.bytes {
		return
	}
	for _, b := range victim.blocks {
		if !v.run.claimed[b.index] && !v.lacks[b.index] {
			v.lacks[b.index] = true
			v.noRoom++
		}
	}
	v.run.looks += len(victim.blocks) / looksPerWord
}

// claimAll claims a place for every block of a region, or none. The longest find
// their place first.
func (v *survey) claimAll(victim *region) (claims []placed, ok bool) {
	r := v.run
	r.outside(func() {
		claims = make([]placed, 0, len(victim.blocks))
		slices.SortStableFunc(victim.blocks, func(a, b seenBlock) int { return cmp.Compare(b.size, a.size) })
	})
	for _, b := range victim.blocks {
		if !r.step() {
			v.undo(claims)
			return nil, false
		}
		if r.claimed[b.index] {
			continue
		}
		l, live := r.pool.locate(r.movable[b.index].Addr)
		if !live || l.info().state() != blockLive || l.Size != b.size {
			continue
		}
		got, found := v.placeOne(victim, b, l)
		if !found {
			v.undo(claims)
			return nil, false
		}
		claims = append(claims, got)
	}
	r.giveBackPassed()
	if r.pool.has(victim.key.segment) && victim.key.blocksIn() == uint64(len(claims)) {
		return claims, true
	}
	// Somebody has come or gone meanwhile.
	v.undo(claims)
	return nil, false
}

// claim enters a place that was taken, so that the lock may be let go of.
func (v *survey) claim(d placed) placed {
	to := d.located
	to.setInfo(makeInfo(blockClaimed, 0, 0))
	to.blocks++
	v.run.pool.books.Board(to.Size)
	v.free -= min(v.free, to.Size)
	d.To = to.addr()
	return d
}

// undo gives places back, the last first.
func (v *survey) undo(claims []placed) {
	r := v.run
	r.giveBackPassed()
	for _, d := range slices.Backward(claims) {
		r.step()
		to, ok := r.pool.locate(d.To)
		if !ok || to.info().state() != blockClaimed {
			return // the pool is closing, and the segment has gone
		}
		r.pool.giveBackPlace(to)
		v.free += to.Size
		if d.at != noHole {
			v.places.change(d.at, d.was.offset, d.was.size)
		}
		if d.filled {
			d.was.region.filled = false
			delete(r.filled, d.was.region.key)
		}
	}
}

// open has a region without blocks taken into use if it can hold the candidate of
// that rank and the next one.
func (v *survey) open(rank int) bool {
	next := slices.IndexFunc(v.candidates[rank+1:], func(f *region) bool { return !f.filled })
	v.run.looks += max(next, 0) / looksPerWord
	if next < 0 {
		return false
	}
	need := v.candidates[rank].bytes + v.candidates[rank+1+next].bytes
	for _, s := range v.run.pool.segments {
		key, ok := v.idleRegion(s)
		if !ok || need > s.regionBytes() {
			continue
		}
		opened := v.regionAt(key)
		opened.fixed, opened.filled, opened.emptied = true, true, false
		v.run.filled[key] = true
		v.free += s.regionBytes()
		if s.placer != nil {
			v.places.list(int32(v.places.holes.add(hole{region: opened, offset: key.first(), size: s.regionBytes()})))
		}
		return true
	}
	return false
}

// first is the offset at which a region starts.
func (k regionKey) first() uint64 {
	if k.segment.pages == nil {
		return 0
	}
	return k.page << k.segment.pages.Shift()
}

// idleRegion is the first region of a segment that has memory and no block, and was
// not opened.
func (v *survey) idleRegion(s *segment) (key regionKey, ok bool) {
	if s.pages == nil {
		key = regionKey{s, 0}
		return key, s.blocks == 0 && !v.run.filled[key]
	}
	v.run.looks += int(s.pages.Len() / 64 / looksPerWord)
	for page := range s.pages.Idle() {
		key = regionKey{s, page}
		if !v.run.filled[key] && key.first()+s.regionBytes() <= s.usable {
			return key, true
		}
	}
	return key, false
}
