package cuda

import (
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/gpu/ranges"
	"ferrum_mem/internal/dl"
)

// Alloc allocates memory of the device. It returns CodeOutOfMemory also if another process
// allocated the memory after Memory reported it as free.
func (o *openDevice) Alloc(size uint64) (device.Addr, error) {
	const op = "cuda.alloc"
	if err := o.startAllocation(op, size); err != nil {
		return 0, err
	}
	var base uint64
	err := o.ctx.within(op, func() error {
		return o.ctx.call(op, fmt.Sprintf("size %d", size), &o.ctx.api.memoryAlloc, dl.Pointer(&base), uintptr(size))
	})
	if err != nil {
		o.drop(1)
		return 0, err
	}
	o.ranges.Insert(span{Base: base, Size: size})
	return device.Addr(base), nil
}

func (o *openDevice) startAllocation(op string, size uint64) error {
	if err := o.ctx.checkOpen(op); err != nil {
		return err
	}
	if size == 0 || size%granularityBytes != 0 {
		return o.ctx.errorf(device.CodeInvalidSize, op, "size %d: want a multiple of %d, not 0", size, granularityBytes)
	}
	return o.hold(op, 1)
}

// Free frees memory. The call returns CodeInvalidAddress unless Alloc returned this address
// with this size and it was not freed since.
func (o *openDevice) Free(addr device.Addr, size uint64) error {
	return o.free("cuda.free", ranges.Segment, uint64(addr), size, &o.ctx.api.memoryFree)
}

func (o *openDevice) free(op string, of ranges.Kind, addr, size uint64, f *dl.Function) error {
	if err := o.ctx.checkOpen(op); err != nil {
		return err
	}
	s, found := o.ranges.Remove(of, addr, size)
	if !found {
		return o.ctx.errorf(device.CodeInvalidAddress, op,
			"address %#x, size %d: no allocated memory has this address and size", addr, size)
	}
	where := s.Base
	switch of {
	case ranges.Pinned, ranges.Registered:
		where = s.Host
		if s.Pages.Exist() {
			f = &o.ctx.api.hostUnregister
		}
	case ranges.Shared:
		where = s.Opened
	}
	err := o.ctx.releasing(op, func() error {
		return o.ctx.call(op, fmt.Sprintf("address %#x, size %d", addr, size), f, uintptr(where))
	})
	if err != nil {
		o.ranges.Insert(s)
		return err
	}
	o.ctx.unmap(s.Pages)
	o.drop(1)
	return nil
}

// releasing runs a body that releases something. It succeeds on a lost device.
func (c *driverContext) releasing(op string, body func() error) error {
	if err := c.outsideHostFunction(op); err != nil {
		return err
	}
	c.gate.RLock()
	defer c.gate.RUnlock()
	if err := c.checkOpen(op); err != nil {
		return err
	}
	return c.returned(c.current(op, func() error {
		if err := c.payFirst(op); err != nil {
			return err
		}
		return body()
	}))
}

// Memory queries the vendor driver, whose value includes the use by all processes.
func (o *openDevice) Memory() (device.MemoryReading, error) {
	const op = "cuda.memory"
	var free, total uint64
	err := o.ctx.within(op, func() error {
		return o.ctx.call(op, "", &o.ctx.api.memoryInfo, dl.Pointer(&free), dl.Pointer(&total))
	})
	if err != nil {
		return device.MemoryReading{}, err
	}
	return device.MemoryReading{TotalBytes: total, FreeBytes: free}, nil
}

// ReadMemory queries the memory of a device that need not be open. It retains the primary
// context during the query and creates it if it does not exist.
func (d *Driver) ReadMemory(index int) (device.MemoryReading, error) {
	const op = "cuda.read_memory"
	one, err := d.at(op, index)
	if err != nil {
		return device.MemoryReading{}, err
	}
	o := &openDevice{driver: d, ctx: driverContext{api: d.api, cuDevice: one.handle, id: one.info.ID}, info: one.info}
	if err := o.ctx.retainContext(op); err != nil {
		return device.MemoryReading{}, err
	}
	defer o.ctx.releaseContext()
	return o.Memory()
}
