package vmm

// freeRuns is the free address space of a pool as runs of pages that touch
// nowhere: a treap ordered by address, in which every node knows the longest run
// below it. So the first run that is long enough, the run at a page and the
// longest of all are found in logarithmic time, and a range of any size without a
// hole costs one node.
type freeRuns struct {
	// nodes[0] is no node: an empty tree of longest run 0.
	nodes []runNode
	spare []int32
	root  int32
	// free is the sum of all runs.
	free uint64
	// weight is the state of the sequence of node weights, which only have to be
	// unlike each other: it is the same in every run of a program.
	weight uint64
}

// run is pages one after the other.
type run struct{ start, pages uint64 }

func (r run) end() uint64 { return r.start + r.pages }

type runNode struct {
	run
	longest     uint64
	weight      uint64
	left, right int32
}

// newFreeRuns is one run of so many pages, at least one.
func newFreeRuns(pages uint64) *freeRuns {
	f := &freeRuns{nodes: make([]runNode, 1, 16)}
	f.insert(run{pages: pages})
	return f
}

// longest is the length of the longest run.
func (f *freeRuns) longest() uint64 { return f.nodes[f.root].longest }

// firstFit is the lowest place for so many pages, at least one.
func (f *freeRuns) firstFit(pages uint64) (start uint64, ok bool) {
	at := f.root
	if f.nodes[at].longest < pages {
		return 0, false
	}
	for {
		n := &f.nodes[at]
		switch {
		case f.nodes[n.left].longest >= pages:
			at = n.left
		case n.pages >= pages:
			return n.start, true
		default:
			at = n.right
		}
	}
}

// around is the last run that starts at or before the page.
func (f *freeRuns) around(page uint64) (run, bool) {
	var found run
	ok := false
	for at := f.root; at != 0; {
		n := &f.nodes[at]
		if n.start <= page {
			found, ok = n.run, true
			at = n.right
		} else {
			at = n.left
		}
	}
	return found, ok
}

// take takes a range out, all of which lies in one run; false: it does not, and
// nothing has changed.
func (f *freeRuns) take(r run) bool {
	in, ok := f.around(r.start)
	if !ok || in.end() < r.end() {
		return false
	}
	f.remove(in.start)
	if r.start > in.start {
		f.insert(run{start: in.start, pages: r.start - in.start})
	}
	if in.end() > r.end() {
		f.insert(run{start: r.end(), pages: in.end() - r.end()})
	}
	return true
}

// put makes a range free that was taken, and joins it to its neighbours.
func (f *freeRuns) put(r run) {
	if before, ok := f.around(r.start); ok && before.end() == r.start {
		f.remove(before.start)
		r = run{start: before.start, pages: before.pages + r.pages}
	}
	if after, ok := f.around(r.end()); ok && after.start == r.end() {
		f.remove(after.start)
		r.pages += after.pages
	}
	f.insert(r)
}

func (f *freeRuns) insert(r run) {
	left, right := f.split(f.root, r.start)
	f.root = f.join(f.join(left, f.newNode(r)), right)
	f.free += r.pages
}

// remove takes out the run that starts there.
func (f *freeRuns) remove(start uint64) {
	left, rest := f.split(f.root, start)
	gone, right := f.split(rest, start+1)
	f.free -= f.nodes[gone].pages
	f.spare = append(f.spare, gone)
	f.root = f.join(left, right)
}

func (f *freeRuns) newNode(r run) int32 {
	// The splitmix64 sequence.
	f.weight += 0x9e3779b97f4a7c15
	w := f.weight
	w = (w ^ w>>30) * 0xbf58476d1ce4e5b9
	w = (w ^ w>>27) * 0x94d049bb133111eb
	node := runNode{run: r, longest: r.pages, weight: w ^ w>>31}
	if last := len(f.spare) - 1; last >= 0 {
		at := f.spare[last]
		f.spare = f.spare[:last]
		f.nodes[at] = node
		return at
	}
	f.nodes = append(f.nodes, node)
	return int32(len(f.nodes) - 1)
}

// split divides a tree into the runs that start before a page and the others. Its
// depth is that of the tree, which is logarithmic.
func (f *freeRuns) split(at int32, page uint64) (before, others int32) {
	if at == 0 {
		return 0, 0
	}
	n := &f.nodes[at]
	if n.start < page {
		n.right, others = f.split(n.right, page)
		f.measure(at)
		return at, others
	}
	before, n.left = f.split(n.left, page)
	f.measure(at)
	return before, at
}

// join makes one tree of two, all of the first before all of the second.
func (f *freeRuns) join(left, right int32) int32 {
	switch {
	case left == 0:
		return right
	case right == 0:
		return left
	case f.nodes[left].weight > f.nodes[right].weight:
		f.nodes[left].right = f.join(f.nodes[left].right, right)
		f.measure(left)
		return left
	default:
		f.nodes[right].left = f.join(left, f.nodes[right].left)
		f.measure(right)
		return right
	}
}

func (f *freeRuns) measure(at int32) {
	n := &f.nodes[at]
	n.longest = max(n.pages, f.nodes[n.left].longest, f.nodes[n.right].longest)
}
