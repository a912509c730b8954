package rangealloc

import "ferrum_mem/core/lending"

// fewRuns keeps free runs while they are few, without an order, and reads all of them in
// a search. That is less work than to maintain an order, and they are adjacent in memory.
// Segments with large blocks never have more runs than that.
type fewRuns[U unit] struct {
	runs  [mostFew]fewRun
	count uint32
}

// mostFew is the most runs that are kept here.
const mostFew = lending.FewMost

// fewAgain is the number of runs at which the runs leave their bins. It is half of
// mostFew, so that they do not move back and forth all the time.
const fewAgain = lending.FewAgain

// fewRun has the fields of a record that the search needs.
type fewRun struct {
	size, offset uint64
	at           uint32
}

// add adds a run if there is room. The run's left is its index from then on.
func (f *fewRuns[U]) add(all []record[U], at uint32) bool {
	if f.count == mostFew {
		return false
	}
	n := &all[at]
	f.runs[f.count] = fewRun{size: n.size(), offset: n.offset(), at: at}
	n.left, n.right = f.count, none
	f.count++
	return true
}

// remove removes a run; the last run takes its place.
func (f *fewRuns[U]) remove(all []record[U], at uint32) {
	place := all[at].left
	f.count--
	last := f.runs[f.count%mostFew]
	f.runs[place%mostFew] = last
	all[last.at].left = place
}

func (f *fewRuns[U]) resize(all []record[U], at uint32, offset, size uint64) {
	n := &all[at]
	n.place(offset, size)
	run := &f.runs[n.left%mostFew]
	run.offset, run.size = offset, size
}

// ceil returns the first run at or after (size, offset) in the order of before.
func (f *fewRuns[U]) ceil(size, offset uint64) uint32 {
	best := fewRun{size: ^uint64(0), at: none}
	runs := f.runs[:f.count]
	for i := range runs {
		r := &runs[i]
		if r.size > best.size || r.size < size {
			continue
		}
		if r.size == size && r.offset < offset || r.size == best.size && r.offset > best.offset && best.at != none {
			continue
		}
		best = *r
	}
	return best.at
}

// largest returns the size of the largest run.
func (f *fewRuns[U]) largest() uint64 {
	size := uint64(0)
	for i := range f.runs[:f.count] {
		size = max(size, f.runs[i].size)
	}
	return size
}

// below returns the size of the largest run that is shorter than size.
func (f *fewRuns[U]) below(size uint64) (largest uint64) {
	for i := range f.runs[:f.count] {
		if r := &f.runs[i]; r.size < size {
			largest = max(largest, r.size)
		}
	}
	return largest
}

// check compares the runs with their records.
func (f *fewRuns[U]) check(all []record[U]) error {
	for i, run := range f.runs[:f.count] {
		r := &all[run.at]
		if r.next == 0 || !r.isFree() || r.left != uint32(i) || r.size() != run.size || r.offset() != run.offset {
			return broken("run %d of a few is record %d, [%d,+%d), and does not belong there", i, run.at, run.offset, run.size)
		}
	}
	return nil
}
