package segments

import (
	"math"
	"slices"
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/gate"
	"ferrum_mem/drivers/host/mapping"
)

// Foreign is the external memory that work on one device may use. Its owner may release it
// to the system at any time, so each operation checks it before use.
type Foreign struct {
	id    device.ID
	calls *mapping.Calls
	gate  *gate.Gate

	ranges table
	shared sharedTable
}

// NewForeign returns a Foreign without ranges.
func NewForeign(id device.ID, calls *mapping.Calls, gate *gate.Gate) *Foreign {
	return &Foreign{id: id, calls: calls, gate: gate}
}

func (f *Foreign) errorf(code device.Code, op, format string, args ...any) error {
	return device.Errorf(code, op, format, args...).On(f.id)
}

// Check returns an error for a range that cannot be external memory.
func (f *Foreign) Check(op string, addr device.Addr, size uint64) error {
	switch {
	case addr == 0:
		return f.errorf(device.CodeInvalidAddress, op, "address is 0")
	case size == 0:
		return f.errorf(device.CodeInvalidSize, op, "size 0: must not be 0")
	case size > math.MaxUint64-uint64(addr):
		return f.errorf(device.CodeOverflow, op,
			"address %#x, size %d: the end does not fit 64 bits", uint64(addr), size)
	}
	return nil
}

// Add records a checked range, for work with that access. taken states whether the device
// already uses a part of the range. Add calls it while the device cannot be closed.
func (f *Foreign) Add(
	op string, addr device.Addr, size uint64, access device.Access, how device.Sharing, taken func(base, size uint64) bool,
) error {
	if err := f.gate.Add(op, gate.Foreign, 1); err != nil {
		return err
	}
	base := uint64(addr)
	made := &Segment{Range: mapping.Range{Base: base, Size: size}, foreign: f, access: access}
	isFree := !taken(base, size)
	if isFree && how == device.Shared {
		f.shared.insert(made)
	} else if isFree {
		isFree = f.ranges.insertAlone(made)
	}
	if !isFree {
		f.gate.Remove(gate.Foreign, 1)
		return f.errorf(device.CodeAlreadyExists, op,
			"address %#x, size %d: overlaps memory of the device", base, size)
	}
	return nil
}

// Remove ends what Add began. It does not touch the memory.
func (f *Foreign) Remove(op string, addr device.Addr, size uint64, how device.Sharing) error {
	err := f.gate.Check(op)
	if err != nil {
		return err
	}
	if how == device.Shared {
		err = f.shared.remove(op, addr, size)
	} else {
		_, err = f.ranges.remove(op, addr, size, false)
	}
	if err != nil {
		return device.About(f.id, err)
	}
	f.gate.Remove(gate.Foreign, 1)
	return nil
}

// Acquire returns known for a range inside a recorded range, and counts an operation in
// flight on it.
func (f *Foreign) Acquire(
	op, what string, addr device.Addr, size uint64, need device.Access,
) (found *Segment, known bool, err error) {
	found, err = f.ranges.acquire(op, what, addr, size)
	if err != nil || found.access < need {
		if shared := f.shared.acquire(uint64(addr), size, need); shared != nil {
			if err == nil {
				found.Release()
			}
			found, err = shared, nil
		}
	}
	if err != nil {
		return nil, false, nil
	}
	if found.access < need {
		found.Release()
		return nil, true, f.errorf(device.CodePermissionDenied, op, "%s %#x, size %d: was adopted as read-only", what, uint64(addr), size)
	}
	if err := found.Check(op, uint64(addr), size); err != nil {
		found.Release()
		return nil, true, err
	}
	return found, true, nil
}

// checkThere returns an error if the owner has released external memory to the system,
// because a read of it would end the process. It cannot detect a release while the work
// runs.
func (f *Foreign) checkThere(op string, address, size uint64) error {
	if f.calls.IsMapped(address, size) {
		return nil
	}
	return f.errorf(device.CodeInvalidAddress, op,
		"address %#x, size %d: adopted memory that is no longer mapped", address, size)
}

// sharedTable holds external segments that may overlap. The lock orders operations and
// removals as that of table does.
type sharedTable struct {
	mu sync.RWMutex
	// in any order
	list []*Segment
}

func (t *sharedTable) insert(s *Segment) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = append(t.list, s)
}

// acquire finds a segment that contains the whole range, and counts an operation in flight
// on it. It prefers one that allows the access. nil: no segment contains the range.
func (t *sharedTable) acquire(start, size uint64, need device.Access) *Segment {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var found *Segment
	for _, s := range t.list {
		offset := start - s.Base
		if start < s.Base || offset >= s.Size || size > s.Size-offset {
			continue
		}
		if found = s; s.access >= need {
			break
		}
	}
	if found != nil {
		found.inFlight.Add(1)
	}
	return found
}

// remove removes a segment with this range that no operation uses, a read-only one first.
func (t *sharedTable) remove(op string, addr device.Addr, size uint64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	found, isBusy := -1, false
	for i, s := range t.list {
		if s.Base != uint64(addr) || s.Size != size {
			continue
		}
		if s.inFlight.Load() != 0 {
			isBusy = true
		} else if found < 0 || s.access < t.list[found].access {
			found = i
		}
	}
	switch {
	case found < 0 && isBusy:
		return device.Errorf(device.CodeBusy, op, "address %#x, size %d: queued work uses it", uint64(addr), size)
	case found < 0:
		return device.Errorf(device.CodeInvalidAddress, op, "address %#x, size %d: no shared range is there", uint64(addr), size)
	}
	t.list = slices.Delete(t.list, found, found+1)
	return nil
}
