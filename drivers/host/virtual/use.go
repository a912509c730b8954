package virtual

import (
	"math"

	"ferrum_mem/core/device"
)

// Use is the pages of a range that an operation uses.
type Use struct {
	virtual       *Memory
	space         *reservation
	address, size uint64
}

// Acquire returns known for a range that starts in a reservation.
func (v *Memory) Acquire(op, what string, addr device.Addr, size uint64, need device.Access) (found *Use, known bool, err error) {
	if v.count.Load() == 0 {
		return nil, false, nil
	}
	found, known, err = v.hold(op, what, uint64(addr), size, need)
	return found, known, v.about(err)
}

func (v *Memory) hold(op, what string, address, size uint64, need device.Access) (found *Use, known bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := v.reservationAt(address)
	if r == nil {
		return nil, false, nil
	}
	switch {
	case size == 0:
		return nil, true, device.Errorf(device.CodeInvalidSize, op, "size 0: must not be 0")
	case size > math.MaxUint64-address:
		return nil, true, device.Errorf(device.CodeOverflow, op,
			"%s %#x, size %d: the end does not fit 64 bits", what, address, size)
	case size > r.size()-(address-r.base()):
		return nil, true, device.Errorf(device.CodeInvalidAddress, op,
			"%s %#x, size %d: not within one reservation", what, address, size)
	}
	covered := r.each(address, size, func(p place) bool {
		switch {
		case err != nil:
		case p.changing:
			err = device.Errorf(device.CodeBusy, op, "%s %#x, size %d: another call changes the page at %#x",
				what, address, size, p.address)
		case device.Access(p.access) < need:
			err = device.Errorf(device.CodePermissionDenied, op, "%s %#x, size %d: the page at %#x has access %d, wanted is %d",
				what, address, size, p.address, p.access, need)
		case p.uses == math.MaxUint32:
			err = device.Errorf(device.CodeResourceExhausted, op, "%s %#x, size %d: %d uses of the page at %#x are queued",
				what, address, size, p.uses, p.address)
		}
		return true
	})
	if !covered {
		err = device.Errorf(device.CodeNotMapped, op, "%s %#x, size %d: not mapped throughout", what, address, size)
	}
	if err != nil {
		return nil, true, err
	}
	r.each(address, size, func(p place) bool {
		p.uses++
		return true
	})
	return &Use{virtual: v, space: r, address: address, size: size}, true, nil
}

// Release ends the use of the pages by the operation. The pages have not moved, because
// pages in use are not unmapped.
func (h *Use) Release() {
	h.virtual.mu.Lock()
	defer h.virtual.mu.Unlock()
	h.space.each(h.address, h.size, func(p place) bool {
		p.uses--
		return true
	})
}

// Overlaps states whether a range overlaps a reservation.
func (v *Memory) Overlaps(base, size uint64) bool {
	if v.count.Load() == 0 {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, r := range v.reservations {
		if r.base() < base+size && base < r.base()+r.size() {
			return true
		}
	}
	return false
}

// Check returns nil, because held pages exist.
func (h *Use) Check(string, uint64, uint64) error { return nil }
