package cuda

import (
	"fmt"
	"math/bits"
	"runtime"
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/gpu/virtual"
	"ferrum_mem/internal/dl"
)

// Virtual memory: a page is one physical handle of the vendor driver. It is mapped whole,
// from its offset 0. So the vendor driver is called once for each mapped page. Setting
// access and unmapping are one call for a whole range.
//
// The book records what is reserved, mapped and in use by a call. A call claims its pages
// in the book, calls the vendor driver, and records the result in the book.

// virtualMemory is the virtual memory of one open device.
type virtualMemory struct {
	ctx         *driverContext
	scrub       *scrubber
	book        *virtual.Book
	granularity device.Granularity

	// opening is held for reading by calls that map, unmap and set access. It is held for
	// writing while another device gets access, once for each pair of devices.
	opening sync.RWMutex
	// accessors are the vendor driver's numbers of the devices that have access: the same
	// access to each page as this device.
	accessors []int32
}

func (v *virtualMemory) init(ctx *driverContext, scrub *scrubber) {
	v.ctx, v.scrub, v.book = ctx, scrub, virtual.New(ctx.errorf)
}

func (v *virtualMemory) pageProperties(backing device.Backing) *pageProperties {
	properties := &pageProperties{kind: allocationPinned, location: location{locationDevice, v.ctx.cuDevice}}
	properties.handles = int32(handleKind(backing))
	if backing == device.BackingRDMA {
		properties.rdma = 1
	}
	return properties
}

// measure queries the granularity of sizes and addresses.
func (v *virtualMemory) measure(op string) error {
	of := v.pageProperties(device.BackingMovable)
	defer runtime.KeepAlive(of)
	defer func() { v.book.SetGranularity(v.granularity.MinimumBytes) }()
	return v.ctx.within(op, func() error {
		for which, out := range map[uintptr]*uint64{
			granularityMinimum: &v.granularity.MinimumBytes, granularityRecommended: &v.granularity.RecommendedBytes,
		} {
			if err := v.ctx.call(op, "", &v.ctx.api.granularity, dl.Pointer(out), dl.Pointer(of), which); err != nil {
				return err
			}
			if bits.OnesCount64(*out) != 1 {
				return v.ctx.errorf(device.CodeUnsupported, op, "the driver reports the granularity %d, which is not a power of two", *out)
			}
		}
		if v.granularity.RecommendedBytes < largePageBytes {
			v.granularity.LargeBytes = largePageBytes
		}
		return nil
	})
}

// largePageBytes is the page size for long ranges. A handle of 32 MiB needs as many calls
// as a handle of 2 MiB, and a pool that uses only a part of the page wastes little.
const largePageBytes = 32 << 20

// Granularity returns the values of the vendor driver: usually 2 MiB.
func (o *openDevice) Granularity() device.Granularity { return o.virtual.granularity }

// startVirtual makes the checks that are common to all calls of virtual memory.
func (o *openDevice) startVirtual(op string) error {
	if err := o.ctx.checkOpen(op); err != nil {
		return err
	}
	if !o.info.VirtualMemory {
		return o.ctx.errorf(device.CodeUnsupported, op,
			"the device has no virtual memory, or the driver lacks %v", o.driver.lacking[groupVirtual])
	}
	return nil
}

// mostReserved is above the address space of any device, and keeps sums within 64 bits.
const mostReserved = 1 << 56

// Reserve reserves address space.
func (o *openDevice) Reserve(size, align uint64) (device.Addr, error) {
	const op = "cuda.reserve"
	v := &o.virtual
	if err := o.startVirtual(op); err != nil {
		return 0, err
	}
	if err := v.book.CheckSize(op, size); err != nil {
		return 0, err
	}
	if bits.OnesCount64(align) != 1 || align < v.granularity.MinimumBytes {
		return 0, o.ctx.errorf(device.CodeInvalidAlignment, op,
			"alignment %d: want a power of two of at least %d", align, v.granularity.MinimumBytes)
	}
	if size > mostReserved || align > mostReserved {
		return 0, o.ctx.errorf(device.CodeOutOfVirtualMemory, op,
			"size %d, alignment %d: no device has so much address space", size, align)
	}
	if err := o.hold(op, 1); err != nil {
		return 0, err
	}
	r := &virtual.Reservation{Size: size}
	if err := o.ctx.within(op, func() error { return o.virtual.takeSpace(op, r, align) }); err != nil {
		o.drop(1)
		return 0, err
	}
	o.virtual.book.Insert(r)
	return device.Addr(r.Base), nil
}

// takeSpace requests the alignment, and reserves more where the vendor driver ignores it.
func (v *virtualMemory) takeSpace(op string, r *virtual.Reservation, align uint64) error {
	r.TakenBytes = r.Size
	for {
		what := fmt.Sprintf("size %d, alignment %d", r.TakenBytes, align)
		err := v.ctx.call(op, what, &v.ctx.api.reserve, dl.Pointer(&r.Taken), uintptr(r.TakenBytes), uintptr(align), 0, 0)
		if device.CodeOf(err) == device.CodeOutOfMemory {
			err.(*device.Error).Code = device.CodeOutOfVirtualMemory
		}
		if err != nil {
			return err
		}
		r.Base = (r.Taken + align - 1) &^ (align - 1)
		if r.Base-r.Taken <= r.TakenBytes-r.Size {
			return nil
		}
		v.ctx.undo(op, what, &v.ctx.api.unreserve, uintptr(r.Taken), uintptr(r.TakenBytes))
		r.TakenBytes = r.Size + align
	}
}

// Unreserve releases address space.
func (o *openDevice) Unreserve(addr device.Addr, size uint64) error {
	const op = "cuda.unreserve"
	v := &o.virtual
	if err := o.startVirtual(op); err != nil {
		return err
	}
	r, err := v.book.Take(op, uint64(addr), size)
	if err != nil {
		return err
	}
	err = o.ctx.releasingSpace(op, func() error {
		return o.ctx.callBack(op, fmt.Sprintf("address %#x, size %d", r.Taken, r.TakenBytes),
			&o.ctx.api.unreserve, uintptr(r.Taken), uintptr(r.TakenBytes))
	})
	if err != nil {
		v.book.Insert(r)
		return err
	}
	o.drop(1)
	return nil
}

// releasingSpace is like giveBack, for addresses and pages. They belong to no context, so
// the memory of a lost device is not released with its context. If the context cannot be
// made current any more, they are released without it.
func (c *driverContext) releasingSpace(op string, body func() error) error {
	tried := false
	err := c.releasing(op, func() error {
		tried = true
		return body()
	})
	if err == nil && !tried {
		_ = body()
	}
	return err
}

// callBack is like call, for releasing addresses or pages. On a lost device the error may
// be the one of its work instead of this call's, so the call is tried once more.
func (c *driverContext) callBack(op, what string, f *dl.Function, arguments ...uintptr) error {
	err := c.call(op, what, f, arguments...)
	if err != nil && c.lost.Load() != nil {
		f.Call(arguments...)
	}
	return err
}

// startExport makes the checks that are common to calls that export or import pages of the
// backing.
func (o *openDevice) startExport(op string, backing device.Backing) error {
	if err := o.startVirtual(op); err != nil {
		return err
	}
	switch {
	case backing == device.BackingShareable && !o.info.Exporter:
		return o.ctx.errorf(device.CodeUnsupported, op, "the device or its driver has no memory that is shared by descriptors")
	case backing == device.BackingFabric && !o.info.FabricExporter:
		return o.ctx.errorf(device.CodeUnsupported, op, "the device or its driver has no memory that is shared by fabric handles")
	}
	return nil
}
