package pageset

// FreeRuns has the free address space of a pool as runs that do not touch. It is a
// treap ordered by address. Every node has the length of the longest run of its
// subtree. So the first run that is long enough, the run at a page and the longest run
// are found in logarithmic time. A free run of any length costs one node.
type FreeRuns struct {
	// nodes[0] is the empty tree, with a longest run of 0.
	nodes []runNode
	spare []int32
	root  int32
	// pages is the sum of all runs.
	pages uint64
	// weight is the state of the sequence of node weights. The weights only have to
	// differ. The sequence is the same in every run of a program.
	weight uint64
}

// Run is a number of adjacent pages.
type Run struct{ Start, Pages uint64 }

// End returns the page behind the run.
func (r Run) End() uint64 { return r.Start + r.Pages }

type runNode struct {
	Run
	longest     uint64
	weight      uint64
	left, right int32
}

// NewFreeRuns returns one free run of that many pages, at least one.
func NewFreeRuns(pages uint64) *FreeRuns {
	f := &FreeRuns{nodes: make([]runNode, 1, 16)}
	f.insert(Run{Pages: pages})
	return f
}

// Pages returns the number of free pages.
func (f *FreeRuns) Pages() uint64 { return f.pages }

// Longest returns the length of the longest run.
func (f *FreeRuns) Longest() uint64 { return f.nodes[f.root].longest }

// FirstFit returns the lowest start of a free run of that many pages, at least one.
func (f *FreeRuns) FirstFit(pages uint64) (start uint64, ok bool) {
	at := f.root
	if f.nodes[at].longest < pages {
		return 0, false
	}
	for {
		n := &f.nodes[at]
		switch {
		case f.nodes[n.left].longest >= pages:
			at = n.left
		case n.Pages >= pages:
			return n.Start, true
		default:
			at = n.right
		}
	}
}

// Around returns the last run that starts at or before the page.
func (f *FreeRuns) Around(page uint64) (Run, bool) {
	var found Run
	ok := false
	for at := f.root; at != 0; {
		n := &f.nodes[at]
		if n.Start <= page {
			found, ok = n.Run, true
			at = n.right
		} else {
			at = n.left
		}
	}
	return found, ok
}

// Take removes a range that lies in one run; false: it does not, and nothing has
// changed.
func (f *FreeRuns) Take(r Run) bool {
	in, ok := f.Around(r.Start)
	if !ok || in.End() < r.End() {
		return false
	}
	f.remove(in.Start)
	if r.Start > in.Start {
		f.insert(Run{Start: in.Start, Pages: r.Start - in.Start})
	}
	if in.End() > r.End() {
		f.insert(Run{Start: r.End(), Pages: in.End() - r.End()})
	}
	return true
}

// Put makes a taken range free, and joins it to its neighbours.
func (f *FreeRuns) Put(r Run) {
	if before, ok := f.Around(r.Start); ok && before.End() == r.Start {
		f.remove(before.Start)
		r = Run{Start: before.Start, Pages: before.Pages + r.Pages}
	}
	if after, ok := f.Around(r.End()); ok && after.Start == r.End() {
		f.remove(after.Start)
		r.Pages += after.Pages
	}
	f.insert(r)
}

func (f *FreeRuns) insert(r Run) {
	left, right := f.split(f.root, r.Start)
	f.root = f.join(f.join(left, f.newNode(r)), right)
	f.pages += r.Pages
}

// remove removes the run that starts at start.
func (f *FreeRuns) remove(start uint64) {
	left, rest := f.split(f.root, start)
	gone, right := f.split(rest, start+1)
	f.pages -= f.nodes[gone].Pages
	f.spare = append(f.spare, gone)
	f.root = f.join(left, right)
}

func (f *FreeRuns) newNode(r Run) int32 {
	// The splitmix64 sequence.
	f.weight += 0x9e3779b97f4a7c15
	w := f.weight
	w = (w ^ w>>30) * 0xbf58476d1ce4e5b9
	w = (w ^ w>>27) * 0x94d049bb133111eb
	node := runNode{Run: r, longest: r.Pages, weight: w ^ w>>31}
	if last := len(f.spare) - 1; last >= 0 {
		at := f.spare[last]
		f.spare = f.spare[:last]
		f.nodes[at] = node
		return at
	}
	f.nodes = append(f.nodes, node)
	return int32(len(f.nodes) - 1)
}

// split divides a tree into the runs that start before a page and the others. Its depth
// is logarithmic, like that of the tree.
func (f *FreeRuns) split(at int32, page uint64) (before, others int32) {
	if at == 0 {
		return 0, 0
	}
	n := &f.nodes[at]
	if n.Start < page {
		n.right, others = f.split(n.right, page)
		f.measure(at)
		return at, others
	}
	before, n.left = f.split(n.left, page)
	f.measure(at)
	return before, at
}

// join joins two trees. All runs of left come before all runs of right.
func (f *FreeRuns) join(left, right int32) int32 {
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

func (f *FreeRuns) measure(at int32) {
	n := &f.nodes[at]
	n.longest = max(n.Pages, f.nodes[n.left].longest, f.nodes[n.right].longest)
}
