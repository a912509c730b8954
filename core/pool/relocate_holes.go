package pool

import (
	"slices"
	"sort"

	"ferrum_mem/core/rangealloc"
)

// enterHoles finds the free memory beside blocks, in segments whose strategy takes
// blocks at a place that it is told.
func (v *survey) enterHoles() bool {
	for _, s := range slices.Clone(v.run.pool.segments) {
		if s.placer != nil && !v.walk(s) {
			return false
		}
	}
	return true
}

// walk finds the holes of a segment. It goes on behind the last live block that it
// has seen and that is live still when the lock was let go of.
func (v *survey) walk(s *segment) bool {
	r := v.run
	for seen := uint64(0); r.pool.has(s); {
		ended := true
		s.placer.WalkFrom(v.resume(s), func(b rangealloc.Block) bool {
			if r.looks++; r.looks >= r.hold {
				ended = false
				return false
			}
			v.enterWalked(s, b, seen)
			seen = max(seen, b.Offset+b.Size)
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
func (v *survey) resume(s *segment) uint64 {
	lives := v.lives[s]
	for len(lives) > 0 {
		last := lives[len(lives)-1]
		if _, live := s.strategy.Lookup(last); live {
			v.lives[s] = lives
			return last
		}
		v.run.looks++
		lives = lives[:len(lives)-1]
	}
	delete(v.lives, s)
	return rangealloc.FromStart
}

// enterWalked enters a block, and the holes of what is free: of a run of pages only
// the first and the last have a block beside it.
func (v *survey) enterWalked(s *segment, b rangealloc.Block, seen uint64) {
	if b.Live {
		if lives := v.lives[s]; len(lives) == 0 || lives[len(lives)-1] < b.Offset {
			v.lives[s] = append(lives, b.Offset)
		}
		return
	}
	from, to := max(b.Offset, seen), b.Offset+b.Size
	if from >= to {
		return
	}
	shift := s.regionShift()
	first, last := from>>shift, (to-1)>>shift
	if first == last {
		v.enterHole(s, first, from, to)
		return
	}
	v.enterHole(s, first, from, (first+1)<<shift)
	v.enterHole(s, last, last<<shift, to)
}

func (v *survey) enterHole(s *segment, number, from, to uint64) {
	key := regionKey{s, number}
	if !key.isUsed() {
		return
	}
	found := v.fixedAt(key)
	found.free += to - from
	found.holes = append(found.holes, hole{segment: s, region: found, offset: from, size: to - from})
}

// behind is a live block in front of an offset, as rangealloc.Place has it: one of
// those seen, if it has not gone. Ever longer leaps find one where many have.
func (v *survey) behind(s *segment, offset uint64) uint64 {
	lives := v.lives[s]
	at := sort.Search(len(lives), func(i int) bool { return lives[i] > offset })
	for leap := 1; at >= leap; leap *= 2 {
		at -= leap
		if _, live := s.strategy.Lookup(lives[at]); live {
			return lives[at]
		}
	}
	return rangealloc.FromStart
}
