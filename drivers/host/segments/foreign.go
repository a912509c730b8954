package segments

import (
	"math"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/gate"
	"ferrum_mem/drivers/host/mapping"
)

// Foreign is the memory of others that work on one device may use. Its owner may
// give it back to the system all the same, so it is looked at before it is touched.
type Foreign struct {
	id    device.ID
	calls *mapping.Calls
	gate  *gate.Gate

	ranges table
}

// NewForeign has no ranges.
func NewForeign(id device.ID, calls *mapping.Calls, gate *gate.Gate) *Foreign {
	return &Foreign{id: id, calls: calls, gate: gate}
}

func (f *Foreign) errorf(code device.Code, op, format string, args ...any) error {
	return device.Errorf(code, op, format, args...).On(f.id)
}

// Check refuses what can be no range of others' memory.
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

// Add enters a range that has been checked, for work with that access; taken says whether
// the device has some of it already, and is asked while the device cannot be closed.
func (f *Foreign) Add(
	op string, addr device.Addr, size uint64, access device.Access, taken func(base, size uint64) bool,
) error {
	if err := f.gate.Add(op, gate.Foreign, 1); err != nil {
		return err
	}
	base := uint64(addr)
	if taken(base, size) || !f.ranges.insertAlone(&Segment{Range: mapping.Range{Base: base, Size: size}, foreign: f, access: access}) {
		f.gate.Remove(gate.Foreign, 1)
		return f.errorf(device.CodeAlreadyExists, op,
			"address %#x, size %d: overlaps memory that the device has already", base, size)
	}
	return nil
}

// Remove ends what Enter began. The memory is left alone.
func (f *Foreign) Remove(op string, addr device.Addr, size uint64) error {
	if err := f.gate.Check(op); err != nil {
		return err
	}
	if _, err := f.ranges.remove(op, addr, size, false); err != nil {
		return device.About(f.id, err)
	}
	f.gate.Remove(gate.Foreign, 1)
	return nil
}

// Acquire is known for what lies in one of the ranges, and counts an operation in flight
// on it.
func (f *Foreign) Acquire(
	op, what string, addr device.Addr, size uint64, need device.Access,
) (found *Segment, known bool, err error) {
	found, err = f.ranges.acquire(op, what, addr, size)
	if err != nil {
		return nil, false, nil
	}
	if found.access < need {
		found.Release()
		return nil, true, f.errorf(device.CodePermissionDenied, op, "%s %#x, size %d: was adopted to be read only", what, uint64(addr), size)
	}
	if err := found.Check(op, uint64(addr), size); err != nil {
		found.Release()
		return nil, true, err
	}
	return found, true, nil
}

// checkThere refuses memory of others that its owner has given back to the system all
// the same: whoever reads it ends the process. It sees no owner who does that while
// the work runs.
func (f *Foreign) checkThere(op string, address, size uint64) error {
	if f.calls.IsMapped(address, size) {
		return nil
	}
	return f.errorf(device.CodeInvalidAddress, op,
		"address %#x, size %d: adopted memory that is not mapped any more", address, size)
}
