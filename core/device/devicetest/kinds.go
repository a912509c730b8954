package devicetest

import (
	"slices"

	"ferrum_mem/core/device"
)

// The kinds of memory that Config.Kinds gives the devices of a driver.

// AllocManaged allocates memory that the test reads with HostBytes.
func (d *Device) AllocManaged(size uint64) (device.PinnedMemory, error) {
	return d.allocateKind(AllocManaged, size, true)
}

// FreeManaged frees what AllocManaged returned.
func (d *Device) FreeManaged(addr device.Addr, size uint64) error {
	return d.freeKind(FreeManaged, AllocManaged, addr, size)
}

// Advise stores the advice for the whole segment.
func (d *Device) Advise(addr device.Addr, size uint64, advice device.Advice) error {
	err := d.enter(Advise)
	defer d.driver.mu.Unlock()
	if err != nil {
		return err
	}
	for start, s := range d.segments {
		if s.made == AllocManaged && addr >= start && uint64(addr-start) < s.size && size <= s.size-uint64(addr-start) {
			s.advice = advice
			d.segments[start] = s
			return nil
		}
	}
	return d.refuse(Advise, device.CodeInvalidAddress, "%v at %#x are no managed memory", device.Size(size), uint64(addr))
}

// Advice returns the last advice for the managed segment of an address.
func (d *Device) Advice(addr device.Addr) device.Advice {
	d.driver.mu.Lock()
	defer d.driver.mu.Unlock()
	for start, s := range d.segments {
		if s.made == AllocManaged && addr >= start && uint64(addr-start) < s.size {
			return s.advice
		}
	}
	return device.Advice{}
}

// Register registers memory of the process that HostBuffer named.
func (d *Device) Register(host device.HostAddr, size uint64, access device.Access) (device.Addr, error) {
	err := d.enter(Register)
	defer d.driver.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if !d.driver.config.Kinds {
		return 0, d.refuse(Register, device.CodeUnsupported, "there is no such capability")
	}
	bytes, err := d.hostSlice("devicetest.register", host, size)
	if err != nil {
		return 0, d.refuse(Register, device.CodeInvalidAddress, "%v at %#x are none of the process", device.Size(size), uint64(host))
	}
	for _, s := range d.segments {
		if s.host < host+device.HostAddr(size) && host < s.host+device.HostAddr(s.size) && s.host != 0 {
			return 0, d.refuse(Register, device.CodeAlreadyExists, "%v at %#x overlap a segment", device.Size(size), uint64(host))
		}
	}
	addr := d.place(size)
	d.segments[addr] = segment{size: size, bytes: bytes, host: host, made: Register, readOnly: access == device.AccessRead}
	return addr, nil
}

// Unregister ends a Register.
func (d *Device) Unregister(addr device.Addr, size uint64) error {
	return d.forget(Unregister, addr, size, func(s segment) bool { return s.made == Register })
}

// AllocOrdered is Alloc for a segment that only FreeOrdered frees.
func (d *Device) AllocOrdered(size uint64) (device.Addr, error) {
	made, err := d.allocateKind(AllocOrdered, size, false)
	return made.Addr, err
}

// FreeOrdered frees what AllocOrdered returned.
func (d *Device) FreeOrdered(addr device.Addr, size uint64) error {
	return d.freeKind(FreeOrdered, AllocOrdered, addr, size)
}

func (d *Device) allocateKind(call Call, size uint64, shared bool) (device.PinnedMemory, error) {
	err := d.enter(call)
	defer d.driver.mu.Unlock()
	switch {
	case err != nil:
		return device.PinnedMemory{}, err
	case !d.driver.config.Kinds:
		return device.PinnedMemory{}, d.refuse(call, device.CodeUnsupported, "there is no such memory")
	case size == 0 || size%d.info.GranularityBytes != 0:
		return device.PinnedMemory{}, d.refuse(call, device.CodeInvalidSize,
			"size %d is not a multiple of %d above 0", size, d.info.GranularityBytes)
	case !shared && !d.hasRoom(size):
		return device.PinnedMemory{}, d.refuse(call, device.CodeOutOfMemory, "%v: %v are held", device.Size(size), device.Size(d.held))
	}
	made := segment{size: size, made: call, bytes: make([]byte, size)}
	if shared {
		made.host = d.addHost(made.bytes)
	} else {
		d.held += size
	}
	addr := d.place(size)
	d.segments[addr] = made
	return device.PinnedMemory{Addr: addr, HostAddr: made.host}, nil
}

func (d *Device) freeKind(call, made Call, addr device.Addr, size uint64) error {
	err := d.enter(call)
	defer d.driver.mu.Unlock()
	if err != nil {
		return err
	}
	known, ok := d.segments[addr]
	if !ok || known.size != size || known.made != made {
		return d.refuse(call, device.CodeInvalidAddress, "%v at %#x are no such segment", device.Size(size), uint64(addr))
	}
	if made == AllocManaged {
		d.hosts = slices.DeleteFunc(d.hosts, func(h hostBuffer) bool { return h.addr == known.host })
	} else {
		d.held -= size
	}
	delete(d.segments, addr)
	return nil
}
