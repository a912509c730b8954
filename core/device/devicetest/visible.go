package devicetest

import (
	"bytes"

	"ferrum_mem/core/device"
)

// FillNow writes into a backed device.
func (d *Device) FillNow(addr device.Addr, value byte, size uint64) error {
	err := d.enter(FillNow)
	defer d.driver.mu.Unlock()
	if err != nil {
		return err
	}
	found, err := d.visible("devicetest.fill_now", addr, size, device.AccessReadWrite)
	if err != nil {
		return err
	}
	found.write(bytes.Repeat([]byte{value}, int(size)))
	return nil
}

// FirstOther compares memory of a backed device.
func (d *Device) FirstOther(addr device.Addr, value byte, size uint64) (device.Difference, bool, error) {
	err := d.enter(FirstOther)
	defer d.driver.mu.Unlock()
	if err != nil {
		return device.Difference{}, false, err
	}
	found, err := d.visible("devicetest.first_other", addr, size, device.AccessRead)
	if err != nil {
		return device.Difference{}, false, err
	}
	seen := found.read()
	// Compare the whole range at once, because a loop over the bytes is slow under the
	// race detector.
	if len(seen) > 0 && seen[0] == value && bytes.Equal(seen[1:], seen[:len(seen)-1]) {
		return device.Difference{}, false, nil
	}
	for i, b := range seen {
		if b != value {
			return device.Difference{OffsetBytes: uint64(i), Found: b}, true, nil
		}
	}
	return device.Difference{}, false, nil
}

// SetBytes writes to a backed device as a stray pointer does.
func (d *Device) SetBytes(addr device.Addr, bytes []byte) error {
	d.driver.mu.Lock()
	defer d.driver.mu.Unlock()
	found, err := d.visible("devicetest.set_bytes", addr, uint64(len(bytes)), device.AccessReadWrite)
	if err != nil {
		return err
	}
	found.write(bytes)
	return nil
}

func (d *Device) visible(op string, addr device.Addr, size uint64, need device.Access) (place, error) {
	if !d.driver.config.Backed {
		return place{}, device.Errorf(device.CodeUnsupported, op, "the device has no bytes").On(d.info.ID)
	}
	if size == 0 {
		return place{}, device.Errorf(device.CodeInvalidSize, op, "size is 0").On(d.info.ID)
	}
	return d.locate(op, addr, size, need)
}
