package plan

import (
	"cmp"
	"math"
	"slices"
)

// neighbours returns for each item those that it overlaps in time, the smallest first.
func neighbours(items []item) [][]int32 {
	bySize := make([]int32, len(items))
	for i := range bySize {
		bySize[i] = int32(i)
	}
	slices.SortFunc(bySize, func(a, b int32) int { return cmp.Compare(items[a].size, items[b].size) })
	found := make([][]int32, len(items))
	for i := range items {
		for _, j := range bySize {
			if int32(i) != j && items[i].overlaps(&items[j]) {
				found[i] = append(found[i], j)
			}
		}
	}
	return found
}

// raise finds the least offset of each item that cannot be placed now. Such an item must
// come to lie on another waiting item that it overlaps, whose offset is at or above the
// present step. raise also sorts the list. It returns false if there is no item on which
// another one could lie.
func (r *run) raise(list []entry, step entry) bool {
	for i := range list {
		e := &list[i]
		if e.free {
			continue
		}
		it := &r.items[e.item]
		least := uint64(math.MaxUint64)
		for _, other := range r.neighbours[e.item] {
			size := r.items[other].size
			if step.low+size >= least {
				break // All further ones are as large.
			}
			if !r.placed[other] {
				least = min(least, max(r.low[other], step.low)+size)
			}
		}
		if least == math.MaxUint64 {
			return false
		}
		e.low = up(least, it.align)
	}
	// The list is nearly in order already.
	for i := range list {
		e := list[i]
		j := i
		for ; j > 0 && e.before(list[j-1]); j-- {
			list[j] = list[j-1]
		}
		list[j] = e
	}
	return true
}

// fits states whether the items of each section fit below the capacity: one on the other,
// each at or above its least offset, in order of these offsets, which gives the lowest
// end.
func (r *run) fits(c *component, list []entry) bool {
	levels := r.levels[c.first:c.end]
	clear(levels)
	for _, e := range list {
		it := &r.items[e.item]
		highest := uint64(0)
		own := levels[it.first-c.first : it.end-c.first]
		for s, level := range own {
			level = max(level, e.low) + it.size
			own[s] = level
			highest = max(highest, level)
		}
		if highest > r.capacity {
			return false
		}
	}
	return true
}

// obstruction finds the entries that need not be tried. An item obstructs another one if
// they overlap in time, and the other one may come to lie below the item's end. An item
// that obstructs none can be lowered in every placement without a conflict. So if it is
// free, it is the last one to try, because each later step would be above it. If it is not
// free, the sum of offsets of each placement from here on can be reduced, and the state
// can be left out.
//
// Also, no step may be at or above the end that a waiting item would have at its lowest
// offset: all further items would be above it, and it could be lowered.
func (r *run) obstruction(list []entry) (last int, ok bool) {
	last = len(list)
	lowest := uint64(math.MaxUint64)
	for i := range list {
		e := &list[i]
		top := r.low[e.item] + r.items[e.item].size
		lowest = min(lowest, top)
		if e.free && i >= last || r.obstructs(list, i, top) {
			continue
		}
		if !e.free {
			return 0, false
		}
		last = min(last, i+1)
	}
	for last > 0 && list[last-1].low >= lowest {
		last--
	}
	return last, last > 0
}

func (r *run) obstructs(list []entry, i int, top uint64) bool {
	it := &r.items[list[i].item]
	for j := range list {
		if list[j].low >= top {
			return false
		}
		if j != i && it.overlaps(&r.items[list[j].item]) {
			return true
		}
	}
	return false
}
