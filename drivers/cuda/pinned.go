package cuda

import (
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/gpu/hostpages"
	"ferrum_mem/drivers/internal/gpu/ranges"
	"ferrum_mem/internal/dl"
)

// Page-locked memory of at least one huge page is ordinary memory that the vendor driver page-locks. On
// an H100 with driver 580, cuMemHostAlloc took 3.7 s for 8 GiB with any number of threads. 8 threads gave
// ordinary memory its pages in 1.0 s, and to register it took 0.22 s. Copies were equally fast. A copy
// must not span two registered ranges, so one allocation is one range. Other page-locked memory is from
// cuMemHostAlloc.

// AllocPinned allocates page-locked memory that every device of the process can use.
func (o *openDevice) AllocPinned(size uint64) (device.PinnedMemory, error) {
	const op = "cuda.alloc_pinned"
	if !o.info.PinnedHost {
		return device.PinnedMemory{}, o.ctx.errorf(device.CodeUnsupported, op,
			"the device cannot use memory of the host, or the driver lacks %v", o.driver.lacking[groupPinned])
	}
	if err := o.startAllocation(op, size); err != nil {
		return device.PinnedMemory{}, err
	}
	made := span{Size: size, Kind: ranges.Pinned}
	err := o.ctx.within(op, func() error {
		if size >= hostpages.HugeBytes && o.info.Registrar {
			if done, err := o.ctx.registerPages(op, &o.driver.pages, &made); done || err != nil {
				return err
			}
		}
		return o.ctx.allocHost(op, &made)
	})
	if err != nil {
		o.drop(1)
		return device.PinnedMemory{}, err
	}
	o.ranges.Insert(made)
	return device.PinnedMemory{Addr: device.Addr(made.Base), HostAddr: device.HostAddr(made.Host)}, nil
}

// registerPages page-locks ordinary memory. false without an error: the vendor driver has to allocate
// the memory.
func (c *driverContext) registerPages(op string, mapper *hostpages.Mapper, made *span) (done bool, err error) {
	what := fmt.Sprintf("size %d", made.Size)
	pages, err := mapper.Map(made.Size)
	if err != nil {
		c.unmap(pages)
		if device.CodeOf(err) == device.CodeOutOfMemory {
			return false, c.errorf(device.CodeOutOfMemory, op, "%s: %w", what, err)
		}
		return false, nil
	}
	f := &c.api.hostRegister
	switch number := f.Call(uintptr(pages.Addr), uintptr(made.Size), registerPortable|registerDeviceMap); number {
	case 0:
	case resultOutOfMemory:
		c.unmap(pages)
		return false, c.failure(op, f, number, what)
	default:
		// If the device is lost, the vendor driver reports it for its own memory too.
		c.unmap(pages)
		return false, nil
	}
	if err := c.call(op, what, &c.api.hostPointer, dl.Pointer(&made.Base), uintptr(pages.Addr), 0); err != nil {
		c.tryNow(op, owedCall{
			what: what, f: &c.api.hostUnregister, arguments: []uintptr{uintptr(pages.Addr)}, pages: pages,
		})
		return false, err
	}
	made.Host, made.Pages = pages.Addr, pages
	return true, nil
}

// allocHost lets the vendor driver allocate page-locked memory.
func (c *driverContext) allocHost(op string, made *span) error {
	what := fmt.Sprintf("size %d", made.Size)
	err := c.call(op, what, &c.api.hostAlloc, dl.Pointer(&made.Host), uintptr(made.Size), hostPortable|hostDeviceMap)
	if err != nil {
		return err
	}
	if err := c.call(op, what, &c.api.hostPointer, dl.Pointer(&made.Base), uintptr(made.Host), 0); err != nil {
		c.undo(op, what, &c.api.hostFree, uintptr(made.Host))
		return err
	}
	return nil
}

// FreePinned frees memory of AllocPinned. Nothing is unmapped before the vendor driver has unlocked it,
// or the device is lost: then the kernel keeps the pages until the vendor driver releases them.
func (o *openDevice) FreePinned(addr device.Addr, size uint64) error {
	return o.free("cuda.free_pinned", ranges.Pinned, uint64(addr), size, &o.ctx.api.hostFree)
}
