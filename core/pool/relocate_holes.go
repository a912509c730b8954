package pool

import (
	"sort"

	"ferrum_mem/core/pool/regions"
	"ferrum_mem/core/rangealloc"
)

// walk is a way through the blocks of a segment whose strategy takes blocks at a
// place that it is told.
type walk struct {
	segment *segment
	// seen is up to where the segment was looked at.
	seen uint64
	// lives are the offsets of the live blocks seen, in order.
	lives regions.Pieces[uint64]
}

// see notes a live block.
func (w *walk) see(offset uint64) {
	if n := w.lives.Len(); n == 0 || *w.lives.At(n - 1) < offset {
		w.lives.Add(offset)
	}
}

// enterHoles finds the free memory beside blocks.
func (v *survey) enterHoles() bool {
	if v.walkOf == nil {
		v.walkOf = map[*segment]*walk{}
		for _, s := range v.run.pool.heap.segments {
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
	for r.pool.heap.has(w.segment) {
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
	for ; w.lives.Len() > 0; w.lives.Cut() {
		last := *w.lives.At(w.lives.Len() - 1)
		if _, live := w.segment.strategy.Lookup(last); live {
			return last
		}
		r.looks++
	}
	return rangealloc.FromStart
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
	at := sort.Search(lives.Len(), func(i int) bool { return *lives.At(i) > offset })
	for leap := 1; at >= leap; leap *= 2 {
		if leap > regions.FindLooks {
			return rangealloc.FromStart, false
		}
		at -= leap
		if _, live := s.strategy.Lookup(*lives.At(at)); live {
			return *lives.At(at), true
		}
	}
	return rangealloc.FromStart, at < regions.FindLooks
}
