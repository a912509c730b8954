package devicetest

import (
	"math/bits"
	"slices"

	"ferrum_mem/core/device"
)

// own reports whether Alloc allocated the segment.
func (s segment) own() bool { return s.host == 0 && s.linked.dev == nil && !s.adopted && s.made == "" }

// AllocPinned allocates memory that the test reads with HostBytes.
func (d *Device) AllocPinned(size uint64) (device.PinnedMemory, error) {
	err := d.enter(AllocPinned)
	defer d.driver.mu.Unlock()
	if err != nil {
		return device.PinnedMemory{}, err
	}
	limit := d.driver.config.PinnedBytes
	if limit == 0 {
		return device.PinnedMemory{}, d.refuse(AllocPinned, device.CodeUnsupported, "there is no such memory")
	}
	if size == 0 || size%d.info.GranularityBytes != 0 {
		return device.PinnedMemory{}, d.refuse(AllocPinned, device.CodeInvalidSize,
			"size %d is not a multiple of %d above 0", size, d.info.GranularityBytes)
	}
	if after, carry := bits.Add64(d.pinned, size, 0); carry != 0 || after > limit {
		return device.PinnedMemory{}, d.refuse(AllocPinned, device.CodeResourceExhausted,
			"%v: the limit is %v, of which %v are in use", device.Size(size), device.Size(limit), device.Size(d.pinned))
	}
	made := segment{size: size, bytes: make([]byte, size)}
	made.host = d.addHost(made.bytes)
	addr := d.place(size)
	d.segments[addr] = made
	d.pinned += size
	return device.PinnedMemory{Addr: addr, HostAddr: made.host}, nil
}

// FreePinned frees what AllocPinned returned.
func (d *Device) FreePinned(addr device.Addr, size uint64) error {
	err := d.enter(FreePinned)
	defer d.driver.mu.Unlock()
	if err != nil {
		return err
	}
	known, ok := d.segments[addr]
	if !ok || known.size != size || known.host == 0 || known.made != "" {
		return d.refuse(FreePinned, device.CodeInvalidAddress, "%v at %#x are no page-locked segment", device.Size(size), uint64(addr))
	}
	d.hosts = slices.DeleteFunc(d.hosts, func(h hostBuffer) bool { return h.addr == known.host })
	delete(d.segments, addr)
	d.pinned -= size
	return nil
}

// PinnedBytes returns the sum of the memory from AllocPinned.
func (d *Device) PinnedBytes() uint64 {
	d.driver.mu.Lock()
	defer d.driver.mu.Unlock()
	return d.pinned
}

// HostBytes returns the bytes at a host address, to read and write; nil if there are
// none.
func (d *Device) HostBytes(addr device.HostAddr, size uint64) []byte {
	d.driver.mu.Lock()
	defer d.driver.mu.Unlock()
	found, err := d.hostSlice("devicetest.host_bytes", addr, size)
	if err != nil {
		return nil
	}
	return found
}

// Adopt adopts a range that no segment overlaps. On a backed device it has bytes. A Shared
// range may be exactly another Shared one: then both count as one, with the access of the
// first.
func (d *Device) Adopt(addr device.Addr, size uint64, access device.Access, how device.Sharing) error {
	err := d.enterSharing(Adopt, addr, size)
	defer d.driver.mu.Unlock()
	if err != nil {
		return err
	}
	if access != device.AccessRead && access != device.AccessReadWrite {
		return d.refuse(Adopt, device.CodeInvalidArgument, "access %d", access)
	}
	if s := d.segments[addr]; how == device.Shared && s.sharers > 0 && s.size == size {
		s.sharers++
		d.segments[addr] = s
		return nil
	}
	for start, s := range d.segments {
		if uint64(start) < uint64(addr)+size && uint64(addr) < uint64(start)+s.size {
			return d.refuse(Adopt, device.CodeAlreadyExists, "%v at %#x overlap a segment", device.Size(size), uint64(addr))
		}
	}
	made := segment{size: size, adopted: true, readOnly: access == device.AccessRead}
	if how == device.Shared {
		made.sharers = 1
	}
	if d.driver.config.Backed {
		made.bytes = make([]byte, size)
	}
	d.segments[addr] = made
	return nil
}

// Disown ends an Adopt.
func (d *Device) Disown(addr device.Addr, size uint64, how device.Sharing) error {
	return d.forget(Disown, addr, size, func(s segment) bool { return s.adopted && (s.sharers > 0) == bool(how) })
}

// Link links memory of another device of the driver. It gets its own address.
func (d *Device) Link(from device.Device, addr device.Addr, size uint64) (device.Addr, error) {
	err := d.enterSharing(Link, addr, size)
	defer d.driver.mu.Unlock()
	if err != nil {
		return 0, err
	}
	other, ok := from.(*Device)
	if !ok || other.driver != d.driver {
		return 0, d.refuse(Link, device.CodeUnsupported, "the other device is of another driver")
	}
	if other == d {
		return 0, d.refuse(Link, device.CodeInvalidArgument, "both are the same device")
	}
	if _, err := other.locate("devicetest.link", addr, size, device.AccessReadWrite); err != nil {
		return 0, err
	}
	made := d.place(size)
	d.segments[made] = segment{size: size, linked: use{dev: other, addr: addr, size: size}}
	return made, nil
}

// Unlink ends a Link.
func (d *Device) Unlink(addr device.Addr, size uint64) error {
	return d.forget(Unlink, addr, size, func(s segment) bool { return s.linked.dev != nil })
}

// Prefetch queues work that changes nothing.
func (d *Device) Prefetch(stream device.Stream, addr device.Addr, size uint64, to device.Device) error {
	s, ok := stream.(*Stream)
	target, sameBackend := to.(*Device)
	if !ok || s.dev != d || !sameBackend || target.driver != d.driver || d.driver.config.NoLinks {
		return device.Errorf(device.CodeUnsupported, "devicetest.prefetch",
			"the stream or the target is not of this driver, or the device cannot").On(d.info.ID)
	}
	return s.push(Prefetch, work{
		cost: 1, uses: [2]use{{d, addr, size}},
		run: func() error {
			_, err := d.locate("devicetest.prefetch", addr, size, device.AccessRead)
			return err
		},
	})
}

// AdoptStream returns a stream for any native handle except 0.
func (d *Device) AdoptStream(foreign device.ForeignStream) (device.Stream, error) {
	err := d.enter(AdoptStream)
	defer d.driver.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if d.driver.config.NoLinks {
		return nil, d.refuse(AdoptStream, device.CodeUnsupported, "there is no such capability")
	}
	if foreign.Native == 0 {
		return nil, d.refuse(AdoptStream, device.CodeInvalidArgument, "native handle 0 is none")
	}
	d.openStreams++
	s := d.addStream()
	s.foreign = foreign.Native
	return s, nil
}

// Foreign returns the native handle of an adopted stream; 0 for others.
func (s *Stream) Foreign() uint64 { return s.foreign }

// enterSharing takes the lock like enter, and checks a range.
func (d *Device) enterSharing(call Call, addr device.Addr, size uint64) error {
	if err := d.enter(call); err != nil {
		return err
	}
	_, carry := bits.Add64(uint64(addr), size, 0)
	switch {
	case d.driver.config.NoLinks:
		return d.refuse(call, device.CodeUnsupported, "there is no such capability")
	case size == 0:
		return d.refuse(call, device.CodeInvalidSize, "size is 0")
	case carry != 0:
		return d.refuse(call, device.CodeOverflow, "%v at %#x do not fit 64 bits", device.Size(size), uint64(addr))
	case addr == 0:
		return d.refuse(call, device.CodeInvalidAddress, "address is 0")
	}
	return nil
}

// forget removes a range that no queued work uses.
func (d *Device) forget(call Call, addr device.Addr, size uint64, kind func(segment) bool) error {
	err := d.enter(call)
	defer d.driver.mu.Unlock()
	if err != nil {
		return err
	}
	known, ok := d.segments[addr]
	if !ok || known.size != size || !kind(known) {
		return d.refuse(call, device.CodeInvalidAddress, "%v at %#x are no such range", device.Size(size), uint64(addr))
	}
	if d.inUse(addr, size) {
		return d.refuse(call, device.CodeBusy, "%v at %#x are used by queued work", device.Size(size), uint64(addr))
	}
	if known.sharers > 1 {
		known.sharers--
		d.segments[addr] = known
		return nil
	}
	delete(d.segments, addr)
	return nil
}

// place chooses addresses for a segment.
func (d *Device) place(size uint64) device.Addr {
	align := device.Addr(d.info.AlignmentBytes)
	addr := (d.next + align - 1) / align * align
	// The gap after each segment reveals ranges that run over its end.
	d.next = addr + device.Addr(size) + align
	return addr
}
