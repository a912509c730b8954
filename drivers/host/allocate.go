package host

import (
	"syscall"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/mapping"
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
		o.ended()
		return 0, err
	}
	o.segments.insert(found)
	return device.Addr(found.Base), nil
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
	if err := o.capacity.Hold(op, size); err != nil {
		return nil, err
	}
	align := o.driver.granularity
	if size >= mapping.HugePageBytes {
		align = max(align, mapping.HugePageBytes)
	}
	found, err := o.driver.mapper.Aligned(size, align, o.driver.mapper.Reserve)
	if err == nil {
		if size >= mapping.HugePageBytes {
			o.driver.mapper.AdviseHuge(found.Base, size)
		}
		return &segment{Range: found}, nil
	}
	o.capacity.GiveBack(size)
	number := mapping.Errno(err)
	code := device.CodeMappingFailed
	if number == syscall.ENOMEM {
		code = device.CodeOutOfMemory
	}
	return nil, device.Errorf(code, op,
		"size %d: the system refused to map it, %d bytes of the capacity of %d are free: %w",
		size, o.capacity.memory.room(), o.capacity.Bytes(), err).On(o.info.ID).WithNative(int64(number))
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
	if err := o.driver.mapper.Release(found.MapBase, found.MapSize); err != nil {
		o.segments.insert(found)
		return device.Errorf(device.CodeUnmappingFailed, op,
			"address %#x, size %d: the system refused to unmap it: %w", uint64(addr), size, err).
			On(o.info.ID).WithNative(int64(mapping.Errno(err)))
	}
	o.capacity.GiveBack(size)
	o.ended()
	return nil
}

// about adds the device to an error that was made without knowing it.
func (o *openDevice) about(err error) error { return device.About(o.info.ID, err) }

// ended counts one segment less.
func (o *openDevice) ended() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.live--
}
