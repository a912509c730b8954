package pool

import (
	"sort"

	"ferrum_mem/core/pool/regions"
	"ferrum_mem/core/rangealloc"
)

// walk is a traversal of the blocks of a segment whose strategy can allocate at a given
// place.
type walk struct {
	segment *segment
	// seen is the offset up to which the segment was read.
	seen uint64
	// lives are the offsets of the live blocks that were read, in order.
	lives regions.Pieces[uint64]
}

// see records a live block.
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

// walk finds the free runs of a segment. After the lock was released, it continues behind
// the last block that it has read and that is still live.
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

// resume removes the freed blocks from the end of lives, and returns the offset of the
// last live block.
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

// behind returns a live block before an offset, for rangealloc.Place: one of those that
// were read, if it is still live. It searches backwards in steps that double, so that it
// finds one even where many blocks were freed. near is false if it would take too many
// looks.
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
