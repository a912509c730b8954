package cuda

import (
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/gpu/ranges"
	"ferrum_mem/internal/dl"
)

var (
	_ device.Managed    = (*openDevice)(nil)
	_ device.Prefetcher = (*openDevice)(nil)
)

func (o *openDevice) needManaged(op string) error {
	if o.info.Managed {
		return nil
	}
	return o.ctx.errorf(device.CodeUnsupported, op,
		"the device has no managed memory that the host may use at the same time, or the driver lacks %v%v",
		o.driver.lacking[groupManaged], o.driver.lacking[groupAdvice])
}

// AllocManaged allocates memory that every device of the process may use.
func (o *openDevice) AllocManaged(size uint64) (device.PinnedMemory, error) {
	const op = "cuda.alloc_managed"
	if err := o.needManaged(op); err != nil {
		return device.PinnedMemory{}, err
	}
	if err := o.startAllocation(op, size); err != nil {
		return device.PinnedMemory{}, err
	}
	var base uint64
	err := o.ctx.within(op, func() error {
		return o.ctx.call(op, fmt.Sprintf("size %d", size), &o.ctx.api.managedAlloc, dl.Pointer(&base), uintptr(size), attachGlobal)
	})
	if err != nil {
		o.drop(1)
		return device.PinnedMemory{}, err
	}
	o.ranges.Insert(span{Base: base, Size: size, Kind: ranges.Managed, Host: base})
	return device.PinnedMemory{Addr: device.Addr(base), HostAddr: device.HostAddr(base)}, nil
}

// FreeManaged frees memory of AllocManaged.
func (o *openDevice) FreeManaged(addr device.Addr, size uint64) error {
	const op = "cuda.free_managed"
	if err := o.needManaged(op); err != nil {
		return err
	}
	return o.free(op, ranges.Managed, uint64(addr), size, &o.ctx.api.memoryFree)
}

// managed states whether a range lies in one managed allocation of this device.
func (o *openDevice) managed(addr, size uint64) bool {
	s, whole := o.ranges.Holding(addr, size)
	return whole && s.Kind == ranges.Managed
}

// byValue returns a location in the form that is passed by value: in one register.
func (l location) byValue() uintptr {
	return uintptr(uint64(uint32(l.kind)) | uint64(uint32(l.id))<<32)
}

// number returns the number by which the older calls name a location.
func (l location) number() uintptr {
	if l.kind == locationHost {
		host := int32(deviceHost)
		return uintptr(host)
	}
	return uintptr(l.id)
}

// Prefetch moves managed memory to the host, or to a CUDA device that may use the memory at
// the same time as the host. Other memory does not move: memory of the device stays on the
// device, page-locked memory on the host.
func (o *openDevice) Prefetch(queue device.Stream, addr device.Addr, size uint64, to device.Device) error {
	const op = "cuda.prefetch"
	s, ok := queue.(*stream)
	if !ok || s == nil || s.owner != o {
		return o.ctx.errorf(device.CodeInvalidArgument, op, "stream: of type %T, which is not this device's", queue)
	}
	if err := s.check(op); err != nil {
		return err
	}
	if err := o.check(op, "memory", addr, size, device.AccessRead); err != nil {
		return err
	}
	place, err := o.placeOf(op, to)
	if err != nil {
		return err
	}
	if !o.managed(uint64(addr), size) {
		if s, _ := o.ranges.Holding(uint64(addr), size); place.has(s, o.ctx.cuDevice) {
			return nil
		}
		return o.ctx.errorf(device.CodeUnsupported, op,
			"address %#x, size %d: is not managed memory, so it cannot be prefetched", uint64(addr), size)
	}
	what := fmt.Sprintf("address %#x, size %d", uint64(addr), size)
	return s.use(op, func() error {
		captures, err := s.captures(op)
		if err == nil && captures {
			err = o.ctx.errorf(device.CodeInvalidState, op, "the stream is capturing, and a graph can hold no prefetch")
		}
		if err != nil {
			return err
		}
		if o.ctx.api.prefetchTo.Found() {
			return o.ctx.call(op, what, &o.ctx.api.prefetchTo, uintptr(addr), uintptr(size), place.byValue(), 0, s.handle)
		}
		return o.ctx.call(op, what, &o.ctx.api.prefetch, uintptr(addr), uintptr(size), place.number(), s.handle)
	})
}

// placeOf returns the location of a device's memory.
func (o *openDevice) placeOf(op string, to device.Device) (location, error) {
	other, ok := to.(*openDevice)
	switch {
	case to == nil:
		return location{}, o.ctx.errorf(device.CodeNullPointer, op, "target: must not be nil")
	case !ok && to.Info().HostAddressable:
		return location{kind: locationHost}, nil
	case !ok || other == nil || other.driver.api != o.ctx.api:
		return location{}, o.ctx.errorf(device.CodeUnsupported, op, "target: of type %T, which is another backend's", to)
	case other != o && !other.info.Managed:
		return location{}, o.ctx.errorf(device.CodeUnsupported, op, "target: %v has no managed memory", other.info.ID)
	}
	return location{locationDevice, other.ctx.cuDevice}, nil
}

// has states whether memory of a device that does not move is at the location.
func (l location) has(s span, cuDevice int32) bool {
	if s.Host != 0 {
		return l.kind == locationHost
	}
	return l == location{locationDevice, cuDevice}
}

// Advise passes both kinds of advice to the vendor driver.
func (o *openDevice) Advise(addr device.Addr, size uint64, advice device.Advice) error {
	const op = "cuda.advise"
	if err := o.needManaged(op); err != nil {
		return err
	}
	if err := o.check(op, "memory", addr, size, device.AccessRead); err != nil {
		return err
	}
	if !o.managed(uint64(addr), size) {
		return o.ctx.errorf(device.CodeInvalidAddress, op, "address %#x, size %d: is not managed memory", uint64(addr), size)
	}
	read, near := uintptr(adviseReadSeldom), uintptr(adviseNotPreferred)
	if advice.ReadMostly {
		read = adviseReadMostly
	}
	if advice.Resident {
		near = advisePreferred
	}
	return o.ctx.within(op, func() error {
		for _, one := range []uintptr{read, near} {
			if err := o.adviseOne(op, uint64(addr), size, one); err != nil {
				return err
			}
		}
		return nil
	})
}

func (o *openDevice) adviseOne(op string, addr, size uint64, advice uintptr) error {
	what := fmt.Sprintf("address %#x, size %d, advice %d", addr, size, advice)
	here := location{locationDevice, o.ctx.cuDevice}
	if o.ctx.api.adviseAt.Found() {
		return o.ctx.call(op, what, &o.ctx.api.adviseAt, uintptr(addr), uintptr(size), advice, here.byValue())
	}
	return o.ctx.call(op, what, &o.ctx.api.advise, uintptr(addr), uintptr(size), advice, here.number())
}
