package devicetest

import "ferrum_mem/core/device"

// FillNow writes into a backed device.
func (d *Device) FillNow(addr device.Addr, value byte, size uint64) error {
	err := d.enter(FillNow)
	defer d.driver.mu.Unlock()
	if err != nil {
		return err
	}
	part, err := d.visible("devicetest.fill_now", addr, size)
	for i := range part {
		part[i] = value
	}
	return err
}

// FirstOther looks into a backed device.
func (d *Device) FirstOther(addr device.Addr, value byte, size uint64) (device.Difference, bool, error) {
	err := d.enter(FirstOther)
	defer d.driver.mu.Unlock()
	if err != nil {
		return device.Difference{}, false, err
	}
	part, err := d.visible("devicetest.first_other", addr, size)
	for i, found := range part {
		if found != value {
			return device.Difference{OffsetBytes: uint64(i), Found: found}, true, nil
		}
	}
	return device.Difference{}, false, err
}

// SetBytes writes into a backed device as a stray pointer does.
func (d *Device) SetBytes(addr device.Addr, bytes []byte) error {
	d.driver.mu.Lock()
	defer d.driver.mu.Unlock()
	part, err := d.visible("devicetest.set_bytes", addr, uint64(len(bytes)))
	copy(part, bytes)
	return err
}

func (d *Device) visible(op string, addr device.Addr, size uint64) ([]byte, error) {
	if !d.driver.config.Backed {
		return nil, device.Errorf(device.CodeUnsupported, op, "the device has no bytes").On(d.info.ID)
	}
	if size == 0 {
		return nil, device.Errorf(device.CodeInvalidSize, op, "size is 0").On(d.info.ID)
	}
	return d.slice(op, addr, size)
}
