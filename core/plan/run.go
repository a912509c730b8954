package plan

// The search follows minimalloc (Moffitt, ASPLOS 2023). It asks whether the items of a part
// fit below a given capacity, and looks only for canonical placements: the items are
// placed in order of their offsets, items with equal offsets in a fixed order (their
// rank), and each at the lowest offset above the items placed before it with which it
// overlaps in time. If there is a placement, there is a canonical one: lower each item
// until it lies on another one or on the ground.
//
// After each step, sections in which no item waits divide the waiting items into
// components. A component is solved by itself; if it has no solution, the search goes back
// to the step that made the component, past the steps of other components.
//
// Four rules exclude steps without a solution. Each of them keeps the placement with the
// least sum of offsets, so the search is complete:
//   - The waiting items of each section must fit above the lowest offsets that they can
//     still have (levels, in inference.go).
//   - An item that obstructs no other one lies as low as it can (obstruction, there too).
//   - Of equal items the one with the lower rank lies lower.
//   - A state that had no solution before has none now (seen.go).
//
// The stack of components is a table, so the depth of the search is bounded by the number
// of items and not by the stack of the goroutine.

// entry is an item that waits.
type entry struct {
	// low is a lower bound of the item's offset.
	low  uint64
	item int32
	// free: the item may be placed at low. Otherwise its rank or its offset is below the
	// last step, so another item must first come below it.
	free bool
}

// before is the order of entries, and of steps.
func (e entry) before(other entry) bool {
	return e.low < other.low || e.low == other.low && e.item < other.item
}

// component is a range of sections whose waiting items are independent of all others.
type component struct {
	first, end int32 // the sections
	from, to   int32 // its entries
	// try is the next entry to place, and last is just after the last one that needs to be
	// tried.
	try, last int32
	// parent is the component whose step made this one, and next the one to solve after it;
	// -1: none.
	parent, next int32
	key          key
	// began is the number of steps before the component.
	began uint64
	// before is what the stacks held before the present step of the component.
	before marks
}

// marks are the heights of the stacks of a run.
type marks struct{ steps, changes, entries, components int32 }

// change is a former value of low of an item.
type change struct {
	low  uint64
	item int32
}

// run is one search: one part, one capacity, one order.
type run struct {
	items    []item // by rank
	capacity uint64
	// low is the lowest offset of each item above the placed items that it overlaps. For
	// placed items it is their offset.
	low    []uint64
	placed []bool
	// neighbours are the items that overlap each item in time, the smallest first.
	neighbours [][]int32
	// twin is the item before each item that is equal to it, or -1.
	twin []int32
	// waiting is the number of waiting items of each section.
	waiting []int32
	// levels is used by inference only.
	levels []uint64

	path       []int32 // the placed items, in order
	changes    []change
	entries    []entry
	components []component

	seen *seen
	salt uint64
	// steps counts the attempts to place an item. The run ends when pause returns true,
	// which it asks before each step.
	steps uint64
	pause func() bool
}

// outcome is the result of a run.
type outcome int

const (
	// found: all items are placed.
	found outcome = iota
	// excluded: there is no placement within the capacity.
	excluded
	// paused: the budget is used up.
	paused
)

// none stands for no component and no item.
const none = int32(-1)

// newRun prepares a run for items in order of their rank.
func newRun(items []item, sections int32, capacity uint64) *run {
	r := &run{
		items: items, capacity: capacity, low: make([]uint64, len(items)), placed: make([]bool, len(items)),
		twin: make([]int32, len(items)), waiting: make([]int32, sections), levels: make([]uint64, sections),
	}
	r.neighbours = neighbours(items)
	type shape struct {
		size, align uint64
		first, end  int32
	}
	last := make(map[shape]int32, len(items))
	for i := range items {
		it := &items[i]
		for s := it.first; s < it.end; s++ {
			r.waiting[s]++
		}
		s := shape{it.size, it.align, it.first, it.end}
		r.twin[i] = none
		if twin, ok := last[s]; ok {
			r.twin[i] = twin
		}
		last[s] = int32(i)
	}
	return r
}

// solve runs the search. After found, low has the offsets.
func (r *run) solve() outcome {
	ground := entry{item: none}
	all := make([]entry, len(r.items))
	for i := range all {
		all[i].item = int32(i)
	}
	root := component{first: 0, end: int32(len(r.waiting)), parent: none, next: none}
	if !r.open(root, all, ground) {
		return excluded
	}
	at := int32(0)
	for at != none {
		next, state := r.advance(at)
		switch state {
		case paused:
			return paused
		case found:
			at = next
			continue
		}
		c := &r.components[at]
		r.seen.add(c.key, uint32(min(r.steps-c.began, 1<<31))+1)
		at = c.parent
		if at == none {
			return excluded
		}
		r.undo(at)
	}
	return found
}

// advance takes the next step of a component. It returns the component to solve after the
// step, or excluded if no step is left.
func (r *run) advance(at int32) (next int32, state outcome) {
	for {
		c := &r.components[at]
		if c.try == c.last {
			return none, excluded
		}
		e := r.entries[c.try]
		c.try++
		if twin := r.twin[e.item]; !e.free || twin != none && !r.placed[twin] {
			continue
		}
		if r.pause() {
			return none, paused
		}
		r.steps++
		r.place(c, e)
		if next, ok := r.divide(at, e); ok {
			return next, found
		}
		r.undo(at)
	}
}

// place puts the item of an entry at its lowest offset.
func (r *run) place(c *component, e entry) {
	c.before = marks{int32(len(r.path)), int32(len(r.changes)), int32(len(r.entries)), int32(len(r.components))}
	it := &r.items[e.item]
	r.placed[e.item] = true
	r.path = append(r.path, e.item)
	for s := it.first; s < it.end; s++ {
		r.waiting[s]--
	}
	top := e.low + it.size
	for _, other := range r.entries[c.from:c.to] {
		i := other.item
		if i == e.item || r.low[i] >= top || !it.overlaps(&r.items[i]) {
			continue
		}
		r.changes = append(r.changes, change{r.low[i], i})
		r.low[i] = up(top, r.items[i].align)
	}
}

// undo takes back the present step of a component and all steps after it.
func (r *run) undo(at int32) {
	before := r.components[at].before
	for n := len(r.changes) - 1; n >= int(before.changes); n-- {
		r.low[r.changes[n].item] = r.changes[n].low
	}
	for _, i := range r.path[before.steps:] {
		r.placed[i] = false
		for s := r.items[i].first; s < r.items[i].end; s++ {
			r.waiting[s]++
		}
	}
	r.path, r.changes = r.path[:before.steps], r.changes[:before.changes]
	r.entries, r.components = r.entries[:before.entries], r.components[:before.components]
}

// divide makes the components that are left of a component after a step. It returns the
// first one, or false if one of them has no solution.
func (r *run) divide(at int32, step entry) (next int32, ok bool) {
	parent := r.components[at]
	next = parent.next
	entries := r.entries[parent.from:parent.to]
	for s := parent.end; s > parent.first; {
		if r.waiting[s-1] == 0 {
			s--
			continue
		}
		end := s
		for s > parent.first && r.waiting[s-1] > 0 {
			s--
		}
		if !r.open(component{first: s, end: end, parent: at, next: next}, entries, step) {
			return none, false
		}
		next = int32(len(r.components) - 1)
	}
	return next, true
}

// open adds a component whose items are among the entries of its parent. It returns false
// if the component has no solution.
func (r *run) open(c component, parent []entry, step entry) bool {
	c.from = int32(len(r.entries))
	for _, e := range parent {
		it := &r.items[e.item]
		if it.first < c.first || it.first >= c.end || r.placed[e.item] {
			continue
		}
		e = entry{low: r.low[e.item], item: e.item, free: true}
		if !step.before(e) {
			e.free = false
		}
		r.entries = append(r.entries, e)
	}
	c.to = int32(len(r.entries))
	c.try, c.last = c.from, c.to
	list := r.entries[c.from:c.to]
	if !r.raise(list, step) || !r.fits(&c, list) {
		return false
	}
	for _, e := range list {
		c.key.add(e, r.low[e.item], r.salt)
	}
	if r.seen.has(c.key) {
		return false
	}
	last, ok := r.obstruction(list)
	if !ok {
		return false
	}
	c.last = c.from + int32(last)
	c.began = r.steps
	r.components = append(r.components, c)
	return true
}
