package devicetest

import (
	"math/bits"
	"slices"
	"time"

	"ferrum_mem/core/device"
)

// firstAddr is the first address; 0 is not an address.
const firstAddr = device.Addr(1) << 40

// SetOthersBytes sets how much of the capacity other processes use.
func (d *Device) SetOthersBytes(bytes uint64) {
	d.driver.mu.Lock()
	defer d.driver.mu.Unlock()
	d.others = bytes
}

// SetReading sets the result of Memory; nil restores the real numbers.
func (d *Device) SetReading(reading *device.MemoryReading) {
	d.driver.mu.Lock()
	defer d.driver.mu.Unlock()
	d.reading = reading
}

// HeldBytes returns the sum of the allocated segments and of the created pages.
func (d *Device) HeldBytes() uint64 {
	d.driver.mu.Lock()
	defer d.driver.mu.Unlock()
	return d.held
}

// Segments returns the number of allocated segments, including page-locked ones, links
// and adopted ranges.
func (d *Device) Segments() int {
	d.driver.mu.Lock()
	defer d.driver.mu.Unlock()
	return len(d.segments)
}

// OpenEvents returns the number of open events.
func (d *Device) OpenEvents() int {
	d.driver.mu.Lock()
	defer d.driver.mu.Unlock()
	return d.openEvents
}

// OpenStreams returns the number of streams, without the default one.
func (d *Device) OpenStreams() int {
	d.driver.mu.Lock()
	defer d.driver.mu.Unlock()
	return d.openStreams
}

// Info describes the device.
func (d *Device) Info() device.Info { return d.info }

// enter takes the lock, counts the call and returns an error if the call fails. The
// caller unlocks in any case.
func (d *Device) enter(call Call) error {
	d.driver.mu.Lock()
	if d.closed {
		return device.Errorf(device.CodeInvalidState, "devicetest."+string(call),
			"the device is closed").On(d.info.ID)
	}
	return d.faults.enter(call)
}

// Alloc allocates a segment. It has bytes if the device is backed, and is only a range
// of numbers otherwise.
func (d *Device) Alloc(size uint64) (device.Addr, error) {
	err := d.enter(Alloc)
	defer d.driver.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if size == 0 || size%d.info.GranularityBytes != 0 {
		return 0, device.Errorf(device.CodeInvalidSize, "devicetest.alloc",
			"size %d is not a multiple of %d above 0", size, d.info.GranularityBytes).On(d.info.ID)
	}
	if !d.hasRoom(size) {
		return 0, device.Errorf(device.CodeOutOfMemory, "devicetest.alloc",
			"%v: %v are held, %v used by others, of %v", device.Size(size), device.Size(d.held), device.Size(d.others), device.Size(d.info.TotalBytes)).On(d.info.ID)
	}
	addr := d.place(size)
	made := segment{size: size}
	if d.driver.config.Backed {
		made.bytes = make([]byte, size)
	}
	d.segments[addr] = made
	d.held += size
	return addr, nil
}

// hasRoom reports whether the device has that many bytes left.
func (d *Device) hasRoom(size uint64) bool {
	total := d.info.TotalBytes
	after, carry := bits.Add64(d.held, size, 0)
	return carry == 0 && (total == 0 || (after <= total && total-after >= d.others))
}

// Free releases exactly what one Alloc returned.
func (d *Device) Free(addr device.Addr, size uint64) error {
	err := d.enter(Free)
	defer d.driver.mu.Unlock()
	if err != nil {
		return err
	}
	known, ok := d.segments[addr]
	if !ok || known.size != size || !known.own() {
		return device.Errorf(device.CodeInvalidAddress, "devicetest.free",
			"address %#x with size %d is no segment", uint64(addr), size).On(d.info.ID)
	}
	delete(d.segments, addr)
	d.held -= size
	return nil
}

// Memory returns the capacity, and the part of it that neither the test nor other
// processes use.
func (d *Device) Memory() (device.MemoryReading, error) {
	err := d.enter(Memory)
	defer d.driver.mu.Unlock()
	if err != nil {
		return device.MemoryReading{}, err
	}
	if d.reading != nil {
		return *d.reading, nil
	}
	reading := device.MemoryReading{TotalBytes: d.info.TotalBytes}
	if used := d.held + d.others; used < reading.TotalBytes {
		reading.FreeBytes = reading.TotalBytes - used
	}
	return reading, nil
}

// DefaultStream returns the default stream; it is a *Stream.
func (d *Device) DefaultStream() device.Stream { return d.defaultStream }

// Default returns the default stream with the test's controls.
func (d *Device) Default() *Stream { return d.defaultStream }

// NewStream creates a stream; it is a *Stream.
func (d *Device) NewStream() (device.Stream, error) {
	err := d.enter(NewStream)
	defer d.driver.mu.Unlock()
	if err != nil {
		return nil, err
	}
	d.openStreams++
	return d.addStream(), nil
}

func (d *Device) addStream() *Stream {
	s := &Stream{dev: d, hold: d.driver.config.Manual}
	d.driver.streams = append(d.driver.streams, s)
	return s
}

// Synchronize waits for all streams of the device.
func (d *Device) Synchronize(timeout time.Duration) error {
	err := d.enter(DeviceSynchronize)
	defer d.driver.mu.Unlock()
	if err != nil {
		return err
	}
	for _, s := range d.driver.streams {
		if s.dev == d {
			if err := s.uncaptured(DeviceSynchronize); err != nil {
				return err
			}
		}
	}
	return d.driver.wait(timeout, "devicetest.device_synchronize", func() bool {
		for _, s := range d.driver.streams {
			if s.dev == d && len(s.queue) > 0 {
				return false
			}
		}
		return true
	})
}

// Close closes the device. It returns CodeBusy while segments, streams, pages or
// reservations exist.
func (d *Device) Close() error {
	err := d.enter(DeviceClose)
	defer d.driver.mu.Unlock()
	if err != nil {
		return err
	}
	pages, reservations := len(d.virtual.pages), len(d.virtual.reservations)
	if len(d.segments) > 0 || d.openStreams > 0 || pages > 0 || reservations > 0 {
		return d.refuse(DeviceClose, device.CodeBusy,
			"%d segments, %d streams, %d pages and %d reservations are left",
			len(d.segments), d.openStreams, pages, reservations)
	}
	d.closed = true
	d.driver.dropStream(d.defaultStream)
	return nil
}

func (d *Driver) dropStream(s *Stream) {
	d.streams = slices.DeleteFunc(d.streams, func(other *Stream) bool { return other == s })
}

// wait waits until done returns true, and returns CodeTimeout after timeout. The caller
// holds mu.
func (d *Driver) wait(timeout time.Duration, op string, done func() bool) error {
	deadline := time.Now().Add(timeout)
	if timeout > 0 {
		timer := time.AfterFunc(timeout, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.progress.Broadcast()
		})
		defer timer.Stop()
	}
	for !done() {
		if timeout >= 0 && !time.Now().Before(deadline) {
			return device.Errorf(device.CodeTimeout, op, "not done within %v", timeout)
		}
		d.progress.Wait()
	}
	return nil
}

// FailNth makes the n-th call of the kind from now, counting from 1, fail with err; nil
// means a CodeDevice error. The failed call has no effect.
func (d *Device) FailNth(call Call, n int, err error) {
	d.driver.mu.Lock()
	defer d.driver.mu.Unlock()
	if err == nil {
		err = device.Errorf(device.CodeDevice, "devicetest."+string(call),
			"failure %d of kind %s asked for by the test", n, call).On(d.info.ID)
	}
	d.faults.armed = append(d.faults.armed, fault{call: call, left: n, err: err})
}

// ClearFaults removes the failures that have not occurred, and returns their number.
func (d *Device) ClearFaults() int {
	d.driver.mu.Lock()
	defer d.driver.mu.Unlock()
	left := len(d.faults.armed)
	d.faults.armed = nil
	return left
}

// Calls returns how many calls of the kind were made so far.
func (d *Device) Calls(call Call) int {
	d.driver.mu.Lock()
	defer d.driver.mu.Unlock()
	return d.faults.counts[call]
}
