package segments

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/mapping"
)

// Segment is one mapping that Alloc, AllocPinned or Reserve gave out, or
// memory of somebody else's that was adopted or linked.
type Segment struct {
	mapping.Range
	// locked says that it is of AllocPinned.
	locked bool
	// foreign is what it belongs to where it is somebody else's, or nil.
	foreign *Foreign
	// access is what work may do there where it is somebody else's.
	access device.Access
	// inFlight counts queued operations that touch the segment.
	inFlight atomic.Int64
}

// Release says that an operation no longer touches the segment.
func (s *Segment) Release() { s.inFlight.Add(-1) }

// Check refuses a range of the segment that is not there any more: only memory of others
// can be so.
func (s *Segment) Check(op string, address, size uint64) error {
	if s.foreign == nil {
		return nil
	}
	return s.foreign.checkThere(op, address, size)
}

// table finds the live segment that a range lies in. An operation finds
// its segments when it is queued and counts itself in flight under the same
// lock under which a free looks at the count, so neither can miss the other.
type table struct {
	mu sync.RWMutex
	// sorted by base
	list []*Segment
}

// acquire finds the segment that holds the whole range and counts an operation
// in flight on it.
func (t *table) acquire(op, what string, addr device.Addr, size uint64) (*Segment, error) {
	start := uint64(addr)
	if size == 0 {
		return nil, device.Errorf(device.CodeInvalidSize, op, "size 0: must not be 0")
	}
	if size > math.MaxUint64-start {
		return nil, device.Errorf(device.CodeOverflow, op,
			"%s %#x, size %d: the end does not fit 64 bits", what, start, size)
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	found := t.holding(start)
	if found == nil || size > found.Base+found.Size-start {
		return nil, device.Errorf(device.CodeInvalidAddress, op,
			"%s %#x, size %d: not within a live segment", what, start, size)
	}
	found.inFlight.Add(1)
	return found, nil
}

// holding is the segment that an address lies in, or nil.
func (t *table) holding(address uint64) *Segment {
	i, exact := t.search(address)
	if exact {
		return t.list[i]
	}
	if i == 0 || address-t.list[i-1].Base >= t.list[i-1].Size {
		return nil
	}
	return t.list[i-1]
}

func (t *table) search(base uint64) (int, bool) {
	return slices.BinarySearchFunc(t.list, base, func(s *Segment, target uint64) int {
		switch {
		case s.Base < target:
			return -1
		case s.Base > target:
			return 1
		}
		return 0
	})
}

func (t *table) insert(s *Segment) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i, _ := t.search(s.Base)
	t.list = slices.Insert(t.list, i, s)
}

// insertAlone inserts a segment unless it overlaps another.
func (t *table) insertAlone(s *Segment) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.overlapsLocked(s.Base, s.Size) {
		return false
	}
	i, _ := t.search(s.Base)
	t.list = slices.Insert(t.list, i, s)
	return true
}

// overlaps says whether a range, whose end fits 64 bits, touches a segment.
func (t *table) overlaps(base, size uint64) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.overlapsLocked(base, size)
}

// overlapsLocked is overlaps. The caller holds mu.
func (t *table) overlapsLocked(base, size uint64) bool {
	i, _ := t.search(base)
	return i < len(t.list) && t.list[i].Base-base < size || t.holding(base) != nil
}

// remove takes a segment, locked or not, out of the table, so that no new operation
// can find it; insert undoes it.
func (t *table) remove(op string, addr device.Addr, size uint64, locked bool) (*Segment, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i, exact := t.search(uint64(addr))
	if !exact || t.list[i].locked != locked {
		return nil, device.Errorf(device.CodeInvalidAddress, op,
			"address %#x: no live segment of this kind starts there", uint64(addr))
	}
	found := t.list[i]
	if found.Size != size {
		return nil, device.Errorf(device.CodeInvalidAddress, op,
			"address %#x, size %d: the segment there has %d bytes", uint64(addr), size, found.Size)
	}
	if count := found.inFlight.Load(); count != 0 {
		return nil, device.Errorf(device.CodeBusy, op,
			"address %#x, size %d: %d uses by queued work", uint64(addr), size, count)
	}
	t.list = slices.Delete(t.list, i, i+1)
	return found, nil
}
