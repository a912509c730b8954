package ir

import (
	"container/heap"
	"strings"

	"ferrum_mem/core/device"
)

// The order of the nodes: Kahn's algorithm with a heap, in O(n log n) without recursion.

// positions is a heap of positions, the smallest first.
type positions []int

func (p positions) Len() int           { return len(p) }
func (p positions) Less(i, j int) bool { return p[i] < p[j] }
func (p positions) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }
func (p *positions) Push(at any)       { *p = append(*p, at.(int)) }

func (p *positions) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}

// order sets the order of the nodes, without those of a cycle and those after it, and reports cycles.
func (r *resolver) order() {
	nodes := r.graph.Nodes
	waits := make([]int, len(nodes)) // the operands whose source has not run
	first, users := r.users()
	var ready positions
	for at := range nodes {
		for _, o := range nodes[at].Operands {
			if o.Node != None {
				waits[at]++
			}
		}
		if waits[at] == 0 {
			ready = append(ready, at) // in ascending order, which is a heap
		}
	}
	r.graph.Order = make([]int, 0, len(nodes))
	for len(ready) > 0 {
		at := heap.Pop(&ready).(int)
		r.graph.Order = append(r.graph.Order, at)
		for _, user := range users[first[at]:first[at+1]] {
			if waits[user]--; waits[user] == 0 {
				heap.Push(&ready, user)
			}
		}
	}
	if len(r.graph.Order) < len(nodes) {
		r.cycles(waits)
	}
}

// users returns the nodes that use each node: those of node i are users[first[i]:first[i+1]]. A node
// occurs once for each operand.
func (r *resolver) users() (first, users []int) {
	nodes := r.graph.Nodes
	first = make([]int, len(nodes)+1)
	for at := range nodes {
		for _, o := range nodes[at].Operands {
			if o.Node != None {
				first[o.Node+1]++
			}
		}
	}
	for at := range nodes {
		first[at+1] += first[at]
	}
	users = make([]int, first[len(nodes)])
	next := append([]int(nil), first...)
	for at := range nodes {
		for _, o := range nodes[at].Operands {
			if o.Node != None {
				users[next[o.Node]] = at
				next[o.Node]++
			}
		}
	}
	return first, users
}

// cycles reports cycles among the nodes that wait. Each of them has an operand that waits as well, so
// a walk from operand to operand ends in a cycle. Each node is visited once.
func (r *resolver) cycles(waits []int) {
	visited := make([]int, len(waits)) // the number of the walk, from 1 on
	for start := range waits {
		if waits[start] == 0 || visited[start] != 0 {
			continue
		}
		at := start
		for visited[at] == 0 {
			visited[at] = start + 1
			at = r.waitingSource(at, waits)
		}
		if visited[at] == start+1 {
			r.cycle(at, waits)
		}
	}
}

// waitingSource returns the first source of a node that waits.
func (r *resolver) waitingSource(at int, waits []int) int {
	for _, o := range r.graph.Nodes[at].Operands {
		if o.Node != None && waits[o.Node] > 0 {
			return o.Node
		}
	}
	return at // not reached: a node waits for a source that waits
}

// cycle reports the cycle with a node.
func (r *resolver) cycle(start int, waits []int) {
	const most = 16
	var names []string
	length := 0
	for at := start; length == 0 || at != start; length++ {
		if len(names) < most {
			names = append(names, quoted(r.nodeNames[at]))
		}
		at = r.waitingSource(at, waits)
	}
	if length > most {
		names = append(names, "...")
	}
	names = append(names, names[0])
	r.report(Critical, CategoryGraph, elementPath("graph.nodes", start), "a cycle of %s: %s", device.Count(length, "node"), strings.Join(names, " uses ")).
		suggest("remove an edge between them")
}
