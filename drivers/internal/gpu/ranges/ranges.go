package ranges

import (
	"slices"
	"sync"

	"ferrum_mem/drivers/internal/gpu/hostpages"
)

// Kind states where a span comes from.
type Kind int

const (
	Segment Kind = iota
	Pinned
	Foreign
	Linked
	Shared
	Managed
	Registered
	// Locked is host memory that code outside this library has page-locked.
	Locked
	Ordered
)

// Span is memory that the device may use. O is the type of a device.
type Span[O any] struct {
	Base, Size uint64
	Kind       Kind
	// ReadOnly states that work must not write to the span.
	ReadOnly bool
	// Host is the address of the memory in this process. 0: it has none.
	Host uint64
	// Pages are the ordinary memory that was page-locked for a Pinned span. None: the runtime
	// allocated the memory.
	Pages hostpages.Pages
	// Opened is the address by which memory of another process is closed.
	Opened uint64
	// Owner is the device that owns linked memory.
	Owner O
}

// Table holds the spans of a device. The zero value is empty.
type Table[O any] struct {
	mu sync.RWMutex
	// spans are sorted by base.
	spans []Span[O]
	// shared are the spans of Share, in any order.
	shared []Span[O]
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

// Insert adds a span that the runtime allocated. It overlaps no other span.
func (t *Table[O]) Insert(s Span[O]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, _ := t.search(s.Base)
	t.spans = slices.Insert(t.spans, at, s)
}

// InsertApart is like Insert, for a span that may overlap another one. false: it overlaps,
// and nothing was added.
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

// Remove removes exactly this span. false: there is none.
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

// Holding returns the span that contains an address. whole: it contains the whole range.
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

// Share adds a span that shared and Foreign spans may overlap. false: it overlaps a span of
// another kind, and nothing was added.
func (t *Table[O]) Share(s Span[O]) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, other := range t.spans {
		if other.Kind != Foreign && other.Base < s.Base+s.Size && s.Base < other.Base+other.Size {
			return false
		}
	}
	t.shared = append(t.shared, s)
	return true
}

// Unshare removes one span of Share with this range, a read-only one first. false: there is
// none.
func (t *Table[O]) Unshare(base, size uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := -1
	for i, s := range t.shared {
		if s.Base == base && s.Size == size && (found < 0 || s.ReadOnly) {
			found = i
		}
	}
	if found < 0 {
		return false
	}
	t.shared = slices.Delete(t.shared, found, found+1)
	return true
}

// Sharing returns whether a shared span contains a range, and whether one of those allows
// work to write.
func (t *Table[O]) Sharing(addr, size uint64) (whole, writable bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, s := range t.shared {
		if offset := addr - s.Base; addr >= s.Base && offset < s.Size && size <= s.Size-offset {
			whole, writable = true, writable || !s.ReadOnly
		}
	}
	return whole, writable
}
