package host

import (
	"errors"
	"math"
	"syscall"

	"ferrum_mem/core/device"
)

// Alloc maps a segment. It has no memory of the system before it is touched;
// then in huge pages where it is at least 2 MiB large and the system has them,
// for which its address is a multiple of 2 MiB. No room under the capacity or,
// unless that is forced, in the system is CodeOutOfMemory: an error here rather
// than the end of the process at the first touch.
func (o *openDevice) Alloc(size uint64) (device.Addr, error) {
	const op = "host.alloc"
	if err := o.startAllocation(op, size); err != nil {
		return 0, err
	}
	found, err := o.take(op, size)
	if err != nil {
		o.drop(&o.live, 1)
		return 0, err
	}
	o.segments.insert(found)
	return device.Addr(found.base), nil
}

// startAllocation counts a segment that is not there yet.
func (o *openDevice) startAllocation(op string, size uint64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.check(op); err != nil {
		return err
	}
	if size == 0 || size%o.info.GranularityBytes != 0 {
		return o.errorf(device.CodeInvalidSize, op,
			"size %d: want a multiple of %d, not 0", size, o.info.GranularityBytes)
	}
	o.live++
	return nil
}

func (o *openDevice) take(op string, size uint64) (*segment, error) {
	if err := o.hold(op, size); err != nil {
		return nil, err
	}
	align := o.driver.granularity
	if size >= hugePageBytes {
		align = max(align, hugePageBytes)
	}
	found, err := o.driver.mapAligned(size, align, o.driver.mapper.reserve)
	if err == nil {
		if size >= hugePageBytes {
			o.driver.mapper.adviseHuge(found.base, size)
		}
		return found, nil
	}
	o.memory.giveBack(size)
	number := errnoOf(err)
	code := device.CodeMappingFailed
	if number == syscall.ENOMEM {
		code = device.CodeOutOfMemory
	}
	return nil, device.Errorf(code, op,
		"size %d: the system refused to map it, %d bytes of the capacity of %d are free: %w",
		size, o.memory.room(), o.memory.capacity, err).On(o.info.ID).WithNative(int64(number))
}

// hold counts bytes as held, if there is room for them under the capacity and in
// the system.
func (o *openDevice) hold(op string, size uint64) error {
	if free, ok := o.memory.take(size); !ok {
		return o.errorf(device.CodeOutOfMemory, op,
			"size %d: %d bytes of the capacity of %d are free", size, free, o.memory.capacity)
	}
	if available := o.driver.available(size); size > available {
		o.memory.giveBack(size)
		return o.errorf(device.CodeOutOfMemory, op,
			"size %d: the system has %d bytes available for this process; %d of the capacity of %d are free",
			size, available, o.memory.room(), o.memory.capacity)
	}
	return nil
}

// mapAligned maps more than size and cuts off what lies before and after the
// first aligned address. An end that cannot be cut off is kept and unmapped
// with the segment: untouched, it costs address space only.
func (d *Driver) mapAligned(size, align uint64, reserve func(uint64) (uint64, error)) (*segment, error) {
	if size > math.MaxInt64-min(align, math.MaxInt64) {
		return nil, syscall.ENOMEM
	}
	start, err := reserve(size + align)
	if err != nil {
		return nil, err
	}
	end := start + size + align
	base := (start + align - 1) / align * align
	if base > start && d.mapper.release(start, base-start) == nil {
		start = base
	}
	if end > base+size && d.mapper.release(base+size, end-base-size) == nil {
		end = base + size
	}
	return &segment{base: base, size: size, mapBase: start, mapSize: end - start}, nil
}

// Free unmaps a segment; its memory is the system's again when it returns. An
// address and size that Alloc did not return together, or not any more, are
// CodeInvalidAddress; a segment that queued work still touches is CodeBusy.
func (o *openDevice) Free(addr device.Addr, size uint64) error {
	return o.free("host.free", addr, size, false)
}

func (o *openDevice) free(op string, addr device.Addr, size uint64, locked bool) error {
	if err := o.checkOpen(op); err != nil {
		return err
	}
	found, err := o.segments.remove(op, addr, size, locked)
	if err != nil {
		return o.about(err)
	}
	if err := o.driver.mapper.release(found.mapBase, found.mapSize); err != nil {
		o.segments.insert(found)
		return device.Errorf(device.CodeUnmappingFailed, op,
			"address %#x, size %d: the system refused to unmap it: %w", uint64(addr), size, err).
			On(o.info.ID).WithNative(int64(errnoOf(err)))
	}
	o.memory.giveBack(size)
	o.drop(&o.live, 1)
	return nil
}

// about adds the device to an error that was made without knowing it.
func (o *openDevice) about(err error) error {
	if err == nil {
		return nil
	}
	var typed *device.Error
	if errors.As(err, &typed) {
		return typed.On(o.info.ID)
	}
	return err
}
