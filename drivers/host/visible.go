package host

import (
	"bytes"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/mapping"
	"ferrum_mem/drivers/host/streams"
)

// lookBytes is the size of one step of a comparison.
const lookBytes = 64 << 10

// FillNow fills on the calling thread. The memory cannot be freed or unmapped meanwhile.
func (o *openDevice) FillNow(addr device.Addr, value byte, size uint64) error {
	const op = "host.fill_now"
	if err := o.gate.Check(op); err != nil {
		return err
	}
	used, err := o.Acquire(op, "destination", addr, size, device.AccessReadWrite)
	if err != nil {
		return err
	}
	defer used.Release()
	streams.Fill(mapping.Bytes(uint64(addr), size), device.Pattern{Value: uint64(value), WidthBytes: 1})
	return nil
}

// FirstOther searches on the calling thread. The memory cannot be freed or unmapped
// meanwhile.
func (o *openDevice) FirstOther(addr device.Addr, value byte, size uint64) (device.Difference, bool, error) {
	const op = "host.first_other"
	if err := o.gate.Check(op); err != nil {
		return device.Difference{}, false, err
	}
	used, err := o.Acquire(op, "source", addr, size, device.AccessRead)
	if err != nil {
		return device.Difference{}, false, err
	}
	defer used.Release()
	for done := uint64(0); done < size; {
		n := min(size-done, lookBytes)
		part := mapping.Bytes(uint64(addr)+done, n)
		if i := firstOther(part, value); i >= 0 {
			return device.Difference{OffsetBytes: done + uint64(i), Found: part[i]}, true, nil
		}
		done += n
	}
	return device.Difference{}, false, nil
}

// firstOther returns the index of the first byte that differs from value, or -1. If each
// byte equals its neighbour, all bytes are equal. The runtime compares many neighbours at a
// time.
func firstOther(part []byte, value byte) int {
	if part[0] == value && bytes.Equal(part[1:], part[:len(part)-1]) {
		return -1
	}
	for i, b := range part {
		if b != value {
			return i
		}
	}
	return -1
}
