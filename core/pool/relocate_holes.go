package pool

import (
	"sort"

	"ferrum_mem/core/rangealloc"
)

// walk is a way through the blocks of a segment whose strategy takes blocks at a
// place that it is told.
type walk struct {
	segment *segment
	// seen is up to where the segment was looked at.
	seen uint64
	// lives are the offsets of the live blocks seen, in order.
	lives pieces[uint64]
}

// enterHoles finds the free memory beside blocks.
func (v *survey) enterHoles() bool {
	if v.walkOf == nil {
		v.walkOf = map[*segment]*walk{}
		for _, s := range v.run.pool.segments {
			if s.placer != nil {
				v.walkOf[s] = &walk{segment: s}
				v.walks = append(v.walks, v.walkOf[s])
			}
		}
	}
	for ; v.nextWalk < len(v.walks); v.nextWalk++ {
		if !v.walk(v.walks[v.nextWalk]) {
			return false
		}
	}
	return true
}

// walk finds the holes of a segment. It goes on behind the last live block that it
// has seen and that is live still when the lock was let go of.
func (v *survey) walk(w *walk) bool {
	r := v.run
	for r.pool.has(w.segment) {
		ended := true
		w.segment.placer.WalkFrom(w.resume(r), func(b rangealloc.Block) bool {
			if r.looks++; r.looks >= r.hold {
				ended = false
				return false
			}
			v.enterWalked(w, b)
			return true
		})
		if ended {
			return true
		}
		if !r.breathe() {
			return false
		}
	}
	return true
}

// resume forgets the blocks that have gone of those seen last, and is the offset of
// the last that is live.
func (w *walk) resume(r *Relocation) uint64 {
	for ; w.lives.count > 0; w.lives.count-- {
		last := *w.lives.at(w.lives.count - 1)
		if _, live := w.segment.strategy.Lookup(last); live {
			return last
		}
		r.looks++
	}
	return rangealloc.FromStart
}

// enterWalked enters a block, and the holes of what is free: of a run of pages only
// the first and the last have a block beside it.
func (v *survey) enterWalked(w *walk, b rangealloc.Block) {
	from, to := max(b.Offset, w.seen), b.Offset+b.Size
	w.seen = max(w.seen, to)
	if b.Live {
		if n := w.lives.count; n == 0 || *w.lives.at(n - 1) < b.Offset {
			w.lives.add(b.Offset)
		}
		return
	}
	if from >= to {
		return
	}
	shift := w.segment.regionShift()
	first, last := from>>shift, (to-1)>>shift
	if first == last {
		v.enterHole(w.segment, first, from, to)
		return
	}
	v.enterHole(w.segment, first, from, (first+1)<<shift)
	v.enterHole(w.segment, last, last<<shift, to)
}

// enterHole enters a hole; those of a region come one after the other.
func (v *survey) enterHole(s *segment, number, from, to uint64) {
	key := regionKey{s, number}
	if !key.isUsed() {
		return
	}
	found := v.fixedAt(key)
	at := v.places.holes.add(hole{region: found, offset: from, size: to - from})
	if found.holes == 0 {
		found.firstHole = at
	}
	found.holes++
	found.free += to - from
}

// behind is a live block in front of an offset, as rangealloc.Place has it: one of
// those seen, if it has not gone. Ever longer leaps find one where many have; not
// near: far too many have.
func (v *survey) behind(s *segment, offset uint64) (behind uint64, near bool) {
	w := v.walkOf[s]
	if w == nil {
		return rangealloc.FromStart, false
	}
	lives := &w.lives
	at := sort.Search(lives.count, func(i int) bool { return *lives.at(i) > offset })
	for leap := 1; at >= leap; leap *= 2 {
		if leap > findLooks {
			return rangealloc.FromStart, false
		}
		at -= leap
		if _, live := s.strategy.Lookup(*lives.at(at)); live {
			return *lives.at(at), true
		}
	}
	return rangealloc.FromStart, at < findLooks
}
