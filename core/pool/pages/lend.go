package pages

import (
	"math"

	"ferrum_mem/core/lending"
)

// Lend writes where the table is. Code outside of Go may call Touch and Release on it
// until Absorb. It returns false if the table cannot be lent now.
func (t *Table) Lend(to *lending.Pages) bool {
	words := len(t.busy) + 1 // an edge may be behind the last page
	if t.edgeMemory.Grow(&t.edges, words) != nil {
		return false
	}
	t.edges = t.edges[:words]
	entries, entriesShared := t.entryMemory.Share(&t.entries)
	mapped, mappedShared := t.mappedMemory.Share(&t.mapped)
	edges, edgesShared := t.edgeMemory.Share(&t.edges)
	if !entriesShared || !mappedShared || !edgesShared {
		return false
	}
	if !t.known && t.largeBytes == 0 {
		t.findLongest()
	}
	*to = lending.Pages{
		Shift: uint64(t.shift), Count: t.Len(), LargeBytes: t.largeBytes,
		Entries: entries, Mapped: mapped, MappedFrom: t.from, MappedTo: t.to,
		Edges: edges, EdgeLow: math.MaxUint64,
		Idle: t.counts.Idle, Low: t.counts.Low,
	}
	return true
}

// findLongest finds the longest run of mapped pages.
func (t *Table) findLongest() {
	t.from, t.to, t.known = 0, 0, true
	from, to := uint64(0), uint64(0) // the last run
	for page := uint64(0); page < t.Len(); {
		mapped := t.IsMapped(page)
		end := t.nextChange(page, mapped)
		if mapped {
			if page != to {
				from = page
			}
			if to = end; to-from > t.to-t.from {
				t.from, t.to = from, to
			}
		}
		page = end
	}
}

// Absorb reads the changes of a lent table.
func (t *Table) Absorb(from *lending.Pages) {
	t.counts.Idle, t.counts.Low = from.Idle, from.Low
	if from.EdgeLow > from.EdgeHigh {
		return
	}
	// All bits of odd are set while the number of edges so far is odd.
	odd := uint64(0)
	for word := from.EdgeLow >> 6; word <= from.EdgeHigh>>6; word++ {
		changed := prefixParities(t.edges[word]) ^ odd
		odd = -(changed >> 63)
		t.edges[word] = 0
		if changed != 0 {
			t.busy[word] ^= changed
		}
	}
}

// prefixParities returns a word in which a bit is set if the number of bits set up to it is
// odd.
func prefixParities(word uint64) uint64 {
	for shift := uint(1); shift < 64; shift *= 2 {
		word ^= word << shift
	}
	return word
}
