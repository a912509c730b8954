package host

import (
	"math"
	"strconv"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/mapping"
)

// Adopt lets work use memory of this process that somebody else has.
func (o *openDevice) Adopt(addr device.Addr, size uint64) error {
	const op = "host.adopt"
	if err := o.checkForeign(op, addr, size); err != nil {
		return err
	}
	if !o.driver.system.isWritable(uint64(addr), size) {
		return o.errorf(device.CodeInvalidAddress, op,
			"address %#x, size %d: not readable and writable throughout", uint64(addr), size)
	}
	return o.enterForeign(op, addr, size)
}

// Disown ends what Adopt began. The memory is left alone.
func (o *openDevice) Disown(addr device.Addr, size uint64) error {
	return o.leaveForeign("host.disown", addr, size)
}

// Link lets work use memory of another host device, at the address that it has
// there.
func (o *openDevice) Link(from device.Device, addr device.Addr, size uint64) (device.Addr, error) {
	const op = "host.link"
	if err := o.checkOpen(op); err != nil {
		return 0, err
	}
	other, ok := from.(*openDevice)
	if !ok || other == nil {
		return 0, o.errorf(device.CodeUnsupported, op, "device of type %T: its memory is not of this process", from)
	}
	if other == o {
		return 0, o.errorf(device.CodeInvalidArgument, op, "both devices are %v", o.info.ID)
	}
	if err := o.checkForeign(op, addr, size); err != nil {
		return 0, err
	}
	held, err := other.acquire(op, "memory", addr, size, device.AccessReadWrite)
	if err != nil {
		return 0, err
	}
	defer held.Release()
	return addr, o.enterForeign(op, addr, size)
}

// Unlink ends what Link began.
func (o *openDevice) Unlink(addr device.Addr, size uint64) error {
	return o.leaveForeign("host.unlink", addr, size)
}

func (o *openDevice) checkForeign(op string, addr device.Addr, size uint64) error {
	switch {
	case addr == 0:
		return o.errorf(device.CodeInvalidAddress, op, "address is 0")
	case size == 0:
		return o.errorf(device.CodeInvalidSize, op, "size 0: must not be 0")
	case size > math.MaxUint64-uint64(addr):
		return o.errorf(device.CodeOverflow, op,
			"address %#x, size %d: the end does not fit 64 bits", uint64(addr), size)
	}
	return nil
}

// enterForeign enters a range that is none of this device's yet. The device cannot
// be closed meanwhile.
func (o *openDevice) enterForeign(op string, addr device.Addr, size uint64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.check(op); err != nil {
		return err
	}
	base := uint64(addr)
	if o.segments.overlaps(base, size) || o.virtual.Overlaps(base, size) ||
		!o.foreign.insertAlone(&segment{Range: mapping.Range{Base: base, Size: size}, foreign: true}) {
		return o.errorf(device.CodeAlreadyExists, op,
			"address %#x, size %d: overlaps memory that the device has already", base, size)
	}
	return nil
}

func (o *openDevice) leaveForeign(op string, addr device.Addr, size uint64) error {
	if err := o.checkOpen(op); err != nil {
		return err
	}
	_, err := o.foreign.remove(op, addr, size, false)
	return o.about(err)
}

// checkThere refuses memory of others that its owner has given back to the system all
// the same: whoever reads it ends the process. It sees no owner who does that while
// the work runs.
func (o *openDevice) checkThere(op string, address, size uint64) error {
	if o.driver.mapper.IsMapped(address, size) {
		return nil
	}
	return o.errorf(device.CodeInvalidAddress, op,
		"address %#x, size %d: adopted memory that is not mapped any more", address, size)
}

// checkForeign is checkThere for what an operation is about to use.
func (s *stream) checkForeign(o *operation) error {
	for _, used := range [...]struct {
		held    held
		address uint64
	}{{o.dstHeld, o.dst}, {o.srcHeld, o.src}} {
		if found, ok := used.held.(*segment); ok && found.foreign {
			if err := s.owner.checkThere("host.execute", used.address, o.size); err != nil {
				return err
			}
		}
	}
	return nil
}

// isWritable says whether the process may read and write all of a range, as far as
// the system says.
func (s *system) isWritable(base, size uint64) bool {
	listed := s.read("proc/self/maps")
	if listed == "" || len(listed) >= maxReadingBytes {
		return true
	}
	next, end := base, base+size
	for line := range strings.Lines(listed) {
		bounds, rest, _ := strings.Cut(line, " ")
		from, to, _ := strings.Cut(bounds, "-")
		first, err := strconv.ParseUint(from, 16, 64)
		if err != nil {
			return true
		}
		last, err := strconv.ParseUint(to, 16, 64)
		if err != nil {
			return true
		}
		if last <= next {
			continue
		}
		if first > next || !strings.HasPrefix(rest, "rw") {
			return false
		}
		if next = last; next >= end {
			return true
		}
	}
	return false
}
