package ranges

import (
	"slices"
	"sync"
)

// Kind is who gave a span.
type Kind int

const (
	Segment Kind = iota
	Pinned
	Foreign
	Linked
	Shared
	Managed
	Registered
	// Locked is memory of the process that somebody else has page-locked.
	Locked
	Ordered
)

// Span is memory that the device may use; O is a device.
type Span[O any] struct {
	Base, Size uint64
	Kind       Kind
	// ReadOnly says that work may not write there.
	ReadOnly bool
	// Host is where this process has the memory; 0: nowhere.
	Host uint64
	// Opened is the address by which memory of another process is closed.
	Opened uint64
	// Owner is the device that has linked memory.
	Owner O
}

// Table has the spans of a device. The zero value has none.
type Table[O any] struct {
	mu sync.RWMutex
	// spans are sorted by base.
	spans []Span[O]
}

func (t *Table[O]) search(base uint64) (int, bool) {
	return slices.BinarySearchFunc(t.spans, base, func(s Span[O], base uint64) int {
		switch {
		case s.Base < base:
			return -1
		case s.Base > base:
			return 1
		}
		return 0
	})
}

// Insert enters a span that the runtime gave, which overlaps no other one.
func (t *Table[O]) Insert(s Span[O]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, _ := t.search(s.Base)
	t.spans = slices.Insert(t.spans, at, s)
}

// InsertApart is Insert for a span that may overlap another one; false: it does.
func (t *Table[O]) InsertApart(s Span[O]) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, found := t.search(s.Base)
	if found || at < len(t.spans) && t.spans[at].Base-s.Base < s.Size ||
		at > 0 && s.Base-t.spans[at-1].Base < t.spans[at-1].Size {
		return false
	}
	t.spans = slices.Insert(t.spans, at, s)
	return true
}

// Remove takes out exactly that span; false: there is none.
func (t *Table[O]) Remove(of Kind, base, size uint64) (Span[O], bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, found := t.search(base)
	if !found || t.spans[at].Size != size || t.spans[at].Kind != of {
		return Span[O]{}, false
	}
	s := t.spans[at]
	t.spans = slices.Delete(t.spans, at, at+1)
	return s, true
}

// Holding is the span that an address lies in, if whole is true with the whole range.
func (t *Table[O]) Holding(addr, size uint64) (s Span[O], whole bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	at, found := t.search(addr)
	if !found {
		at--
	}
	if at < 0 {
		return Span[O]{}, false
	}
	s = t.spans[at]
	offset := addr - s.Base
	return s, offset < s.Size && size <= s.Size-offset
}
