package host

import (
	"strconv"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/hostmemory"
)

// quickCheckBytes is the largest range whose access is checked by one call of the system, which may
// give memory to its pages. To read the list of all mappings takes much longer.
const quickCheckBytes = 1 << 20

// Adopt allows work to use external memory of this process.
func (o *openDevice) Adopt(addr device.Addr, size uint64, access device.Access, how device.Sharing) error {
	const op = "host.adopt"
	if err := o.foreign.Check(op, addr, size); err != nil {
		return err
	}
	protection, words := "rw", "readable and writable"
	switch access {
	case device.AccessRead:
		protection, words = "r", "readable"
	case device.AccessReadWrite:
	default:
		return o.errorf(device.CodeInvalidArgument, op, "access %d: want %d or %d", access, device.AccessRead, device.AccessReadWrite)
	}
	isAllowed := size <= quickCheckBytes && o.driver.mapper.Allows(uint64(addr), size, access)
	if !isAllowed {
		isKnown := false
		if isAllowed, isKnown = o.driver.system.allows(protection, uint64(addr), size); !isKnown {
			isAllowed = o.driver.mapper.IsMapped(uint64(addr), size)
		}
	}
	if !isAllowed {
		return o.errorf(device.CodeInvalidAddress, op, "address %#x, size %d: not %s throughout", uint64(addr), size, words)
	}
	return o.foreign.Add(op, addr, size, access, how, o.overlaps)
}

// Disown ends what Adopt began. It does not touch the memory.
func (o *openDevice) Disown(addr device.Addr, size uint64, how device.Sharing) error {
	return o.foreign.Remove("host.disown", addr, size, how)
}

// Link allows work to use memory of another host device, at the address that it has there.
func (o *openDevice) Link(from device.Device, addr device.Addr, size uint64) (device.Addr, error) {
	const op = "host.link"
	if err := o.gate.Check(op); err != nil {
		return 0, err
	}
	other, ok := from.(*openDevice)
	if !ok || other == nil {
		return 0, o.errorf(device.CodeUnsupported, op, "device of type %T: its memory is not of this process", from)
	}
	if other == o {
		return 0, o.errorf(device.CodeInvalidArgument, op, "both devices are %v", o.info.ID)
	}
	if err := o.foreign.Check(op, addr, size); err != nil {
		return 0, err
	}
	held, err := other.Acquire(op, "memory", addr, size, device.AccessReadWrite)
	if err != nil {
		return 0, err
	}
	defer held.Release()
	return addr, o.foreign.Add(op, addr, size, device.AccessReadWrite, device.Alone, o.overlaps)
}

// Unlink ends what Link began.
func (o *openDevice) Unlink(addr device.Addr, size uint64) error {
	return o.foreign.Remove("host.unlink", addr, size, device.Alone)
}

// overlaps states whether a range overlaps memory that the device allocated.
func (o *openDevice) overlaps(base, size uint64) bool {
	return o.Allocator.Overlaps(base, size) || o.virtual.Overlaps(base, size)
}

// allows states whether the protection of a whole range begins with these letters. isKnown is false if the
// system does not report it, for example because the process has no more file descriptors.
func (s *system) allows(protection string, base, size uint64) (isAllowed, isKnown bool) {
	listed := s.Read("proc/self/maps")
	if listed == "" || len(listed) >= hostmemory.MaxReadingBytes {
		return false, false
	}
	next, end := base, base+size
	for line := range strings.Lines(listed) {
		bounds, rest, _ := strings.Cut(line, " ")
		from, to, _ := strings.Cut(bounds, "-")
		first, err := strconv.ParseUint(from, 16, 64)
		if err != nil {
			return false, false
		}
		last, err := strconv.ParseUint(to, 16, 64)
		if err != nil {
			return false, false
		}
		if last <= next {
			continue
		}
		if first > next || !strings.HasPrefix(rest, protection) {
			return false, true
		}
		if next = last; next >= end {
			return true, true
		}
	}
	return false, true
}
