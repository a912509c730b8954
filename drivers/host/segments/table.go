package segments

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/mapping"
)

// Segment is one mapping of Alloc, AllocPinned or Reserve, or adopted or linked external
// memory.
type Segment struct {
	mapping.Range
	// locked states that the segment comes from AllocPinned.
	locked bool
	// foreign is the list that owns an external segment, or nil.
	foreign *Foreign
	// access is the access of work to an external segment.
	access device.Access
	// inFlight counts queued operations that touch the segment.
	inFlight atomic.Int64
}

// Release ends the use of the segment by an operation.
func (s *Segment) Release() { s.inFlight.Add(-1) }

// Check returns an error if a range of the segment is not mapped any more, which can happen
// only to external memory.
func (s *Segment) Check(op string, address, size uint64) error {
	if s.foreign == nil {
		return nil
	}
	return s.foreign.checkThere(op, address, size)
}

// table finds the live segment that contains a range. An operation finds its segments when
// it is queued, and counts itself in flight under the lock under which a free reads the
// count. So neither can miss the other.
type table struct {
	mu sync.RWMutex
	// sorted by base
	list []*Segment
}

// acquire finds the segment that contains the whole range, and counts an operation in
// flight on it.
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

// holding returns the segment that contains an address, or nil.
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

// overlaps states whether a range overlaps a segment. The end of the range must fit in 64
// bits.
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

// remove removes a segment from the table, so that no new operation can find it. insert
// undoes it. locked must be the kind of the segment.
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
			"address %#x, size %d: the segment there has %v", uint64(addr), size, device.Size(found.Size))
	}
	if count := found.inFlight.Load(); count != 0 {
		return nil, device.Errorf(device.CodeBusy, op,
			"address %#x, size %d: %s by queued work", uint64(addr), size, device.Count(count, "use"))
	}
	t.list = slices.Delete(t.list, i, i+1)
	return found, nil
}
