package cuda

import (
	"math"
	"slices"
	"sync"

	"ferrum_mem/core/device"
)

// kind is who gave a range.
type kind int

const (
	kindSegment kind = iota
	kindPinned
	kindForeign
	kindLinked
	kindShared
	kindManaged
	kindRegistered
	// kindLocked is memory of the process that somebody else has page-locked.
	kindLocked
	kindOrdered
)

// span is memory that the device may use from its first to its last byte.
type span struct {
	base, size uint64
	kind       kind
	// host is where this process has the memory; 0: nowhere.
	host uint64
	// opened is the address by which memory of another process is closed.
	opened uint64
	// owner is the device that has linked memory.
	owner *openDevice
}

// ranges are the spans of a device, sorted by base.
type ranges struct {
	mu    sync.RWMutex
	spans []span
}

func (r *ranges) search(base uint64) (int, bool) {
	return slices.BinarySearchFunc(r.spans, base, func(s span, base uint64) int {
		switch {
		case s.base < base:
			return -1
		case s.base > base:
			return 1
		}
		return 0
	})
}

func (r *ranges) insert(s span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, _ := r.search(s.base)
	r.spans = slices.Insert(r.spans, at, s)
}

// insertApart is insert for a span that overlaps no other one; false: it does.
func (r *ranges) insertApart(s span) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, found := r.search(s.base)
	if found || at < len(r.spans) && r.spans[at].base-s.base < s.size ||
		at > 0 && s.base-r.spans[at-1].base < r.spans[at-1].size {
		return false
	}
	r.spans = slices.Insert(r.spans, at, s)
	return true
}

// remove takes out exactly that span; false: there is none.
func (r *ranges) remove(of kind, base, size uint64) (span, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, found := r.search(base)
	if !found || r.spans[at].size != size || r.spans[at].kind != of {
		return span{}, false
	}
	s := r.spans[at]
	r.spans = slices.Delete(r.spans, at, at+1)
	return s, true
}

// holds says whether a range lies in one span.
func (r *ranges) holds(addr, size uint64) bool {
	_, whole := r.holding(addr, size)
	return whole
}

// holding is the span that a range lies in; false: there is none.
func (r *ranges) holding(addr, size uint64) (s span, whole bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	at, found := r.search(addr)
	if !found {
		at--
	}
	if at < 0 {
		return span{}, false
	}
	s = r.spans[at]
	offset := addr - s.base
	return s, offset < s.size && size <= s.size-offset
}

// check refuses a range that work may not use.
func (o *openDevice) check(op, what string, addr device.Addr, size uint64, need device.Access) error {
	if size == 0 {
		return o.ctx.errorf(device.CodeInvalidSize, op, "size 0: there is nothing to do")
	}
	if size > math.MaxUint64-uint64(addr) {
		return o.ctx.errorf(device.CodeOverflow, op, "%s %#x, size %d: the end does not fit 64 bits", what, uint64(addr), size)
	}
	if o.ranges.holds(uint64(addr), size) {
		return nil
	}
	return o.virtual.check(op, what, uint64(addr), size, need)
}
