package cuda

import (
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/dl"
)

// Virtual memory: a page is one physical handle of the driver, which is mapped whole
// and at the offset 0 within it, so one call of the driver for each page that is
// mapped; access is one call for a whole range, and so is taking a range out.
//
// The driver spoils the context where work touches what is not mapped: the books here
// know what is, and work is held against them first.
//
// A call of the driver can take long, so mu is not held over one: pages that a call
// works on are claimed by their state, and a second call that names them meanwhile is
// CodeBusy.

// virtualMemory is the virtual memory of one open device.
type virtualMemory struct {
	ctx         *driverContext
	scrub       *scrubber
	granularity device.Granularity

	// opening is held for reading by calls that map, unmap and give access, and for
	// writing while another device is let in, which is once for each pair.
	opening sync.RWMutex
	// guests are the driver's numbers of the devices that have been let in: they have
	// the access to each page that this device has.
	guests []int32

	mu sync.RWMutex
	// reservations are sorted by base.
	reservations []*reservation
	pages        map[device.Page]*page
	last         device.Page
}

// reservation is address space. The driver was asked for it as taken of takenBytes,
// which is more where it did not give the alignment by itself.
type reservation struct {
	base, size        uint64
	taken, takenBytes uint64
	// mapped are sorted by address.
	mapped []*page
}

// pageState is what becomes of a page.
type pageState uint8

const (
	pageThere pageState = iota
	// pageChanging: a call changes its access, and work may use it as before.
	pageChanging
	// pageLeaving: a call maps, unmaps, zeroes or releases it, or takes access away;
	// work may not use it.
	pageLeaving
)

// page is physical memory.
type page struct {
	number  device.Page
	handle  uint64
	bytes   uint64
	backing device.Backing
	// imported says that another process made it, so that it cannot be made again.
	imported bool
	state    pageState
	// in is where it is mapped, or nil.
	in     *reservation
	at     uint64
	access device.Access
}

func (v *virtualMemory) init(ctx *driverContext, scrub *scrubber) {
	v.ctx, v.scrub, v.pages = ctx, scrub, make(map[device.Page]*page)
}

func (v *virtualMemory) pageProperties(backing device.Backing) *pageProperties {
	properties := &pageProperties{kind: allocationPinned, location: location{locationDevice, v.ctx.cuDevice}}
	if backing == device.BackingShareable {
		properties.handles = handleFileDescriptor
	}
	return properties
}

// enter numbers a page. The caller holds v.mu.
func (v *virtualMemory) enter(p *page) {
	v.last++
	p.number = v.last
	v.pages[p.number] = p
}

// measure asks what sizes and addresses are multiples of.
func (v *virtualMemory) measure(op string) error {
	of := v.pageProperties(device.BackingMovable)
	defer runtime.KeepAlive(of)
	return v.ctx.within(op, func() error {
		for which, out := range map[uintptr]*uint64{
			granularityMinimum: &v.granularity.MinimumBytes, granularityRecommended: &v.granularity.RecommendedBytes,
		} {
			if err := v.ctx.call(op, "", &v.ctx.api.granularity, dl.Pointer(out), dl.Pointer(of), which); err != nil {
				return err
			}
			if bits.OnesCount64(*out) != 1 {
				return v.ctx.errorf(device.CodeUnsupported, op, "the driver gives the granularity %d, which is no power of two", *out)
			}
		}
		return nil
	})
}

// Granularity is what the driver says: usually 2 MiB.
func (o *openDevice) Granularity() device.Granularity { return o.virtual.granularity }

// startVirtual refuses what no call of virtual memory can do.
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

func (v *virtualMemory) checkSize(op string, size uint64) error {
	if size == 0 || size%v.granularity.MinimumBytes != 0 {
		return v.ctx.errorf(device.CodeInvalidSize, op,
			"size %d: want a multiple of %d, not 0", size, v.granularity.MinimumBytes)
	}
	return nil
}

// mostReserved is above what any device addresses, and keeps sums in 64 bits.
const mostReserved = 1 << 56

// Reserve takes address space.
func (o *openDevice) Reserve(size, align uint64) (device.Addr, error) {
	const op = "cuda.reserve"
	v := &o.virtual
	if err := o.startVirtual(op); err != nil {
		return 0, err
	}
	if err := v.checkSize(op, size); err != nil {
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
	r := &reservation{size: size}
	if err := o.ctx.within(op, func() error { return o.virtual.takeSpace(op, r, align) }); err != nil {
		o.drop(1)
		return 0, err
	}
	o.virtual.insertReservation(r)
	return device.Addr(r.base), nil
}

// takeSpace asks for the alignment, and takes more where the driver does not keep it.
func (v *virtualMemory) takeSpace(op string, r *reservation, align uint64) error {
	r.takenBytes = r.size
	for {
		what := fmt.Sprintf("size %d, alignment %d", r.takenBytes, align)
		err := v.ctx.call(op, what, &v.ctx.api.reserve, dl.Pointer(&r.taken), uintptr(r.takenBytes), uintptr(align), 0, 0)
		if device.CodeOf(err) == device.CodeOutOfMemory {
			err.(*device.Error).Code = device.CodeOutOfVirtualMemory
		}
		if err != nil {
			return err
		}
		r.base = (r.taken + align - 1) &^ (align - 1)
		if r.base-r.taken <= r.takenBytes-r.size {
			return nil
		}
		if err := v.ctx.takeBack(op, what, &v.ctx.api.unreserve, uintptr(r.taken), uintptr(r.takenBytes)); err != nil {
			return err
		}
		r.takenBytes = r.size + align
	}
}

// place is where in the list a reservation with that base is or would be.
func (v *virtualMemory) place(base uint64) (int, bool) {
	return slices.BinarySearchFunc(v.reservations, base, func(r *reservation, base uint64) int {
		switch {
		case r.base < base:
			return -1
		case r.base > base:
			return 1
		}
		return 0
	})
}

// Unreserve gives address space back.
func (o *openDevice) Unreserve(addr device.Addr, size uint64) error {
	const op = "cuda.unreserve"
	v := &o.virtual
	if err := o.startVirtual(op); err != nil {
		return err
	}
	r, err := v.takeReservation(op, uint64(addr), size)
	if err != nil {
		return err
	}
	err = o.ctx.giveBackSpace(op, func() error {
		return o.ctx.callBack(op, fmt.Sprintf("address %#x, size %d", r.taken, r.takenBytes),
			&o.ctx.api.unreserve, uintptr(r.taken), uintptr(r.takenBytes))
	})
	if err != nil {
		v.insertReservation(r)
		return err
	}
	o.drop(1)
	return nil
}

// giveBackSpace is giveBack for addresses and pages. They belong to no context, and the
// memory of a device that is lost does not come back with its context: where that
// cannot be made current any more, they are given back without it.
func (c *driverContext) giveBackSpace(op string, body func() error) error {
	tried := false
	err := c.giveBack(op, func() error {
		tried = true
		return body()
	})
	if err == nil && !tried {
		_ = body()
	}
	return err
}

// callBack is call for what gives addresses or pages back. The error of a device that is
// lost is that of its work and need not be this call's, which is tried once more.
func (c *driverContext) callBack(op, what string, f *dl.Function, arguments ...uintptr) error {
	err := c.call(op, what, f, arguments...)
	if err != nil && c.lost.Load() != nil {
		f.Call(arguments...)
	}
	return err
}

func (v *virtualMemory) insertReservation(r *reservation) {
	v.mu.Lock()
	defer v.mu.Unlock()
	at, _ := v.place(r.base)
	v.reservations = slices.Insert(v.reservations, at, r)
}

// takeReservation takes one out of the list in which nothing is mapped.
func (v *virtualMemory) takeReservation(op string, addr, size uint64) (*reservation, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	at, found := v.place(addr)
	if !found || v.reservations[at].size != size {
		return nil, v.ctx.errorf(device.CodeInvalidAddress, op,
			"address %#x, size %d: no reservation starts there and has that size", addr, size)
	}
	r := v.reservations[at]
	if len(r.mapped) > 0 {
		return nil, v.ctx.errorf(device.CodeBusy, op,
			"address %#x, size %d: %d pages are mapped there", addr, size, len(r.mapped))
	}
	v.reservations = slices.Delete(v.reservations, at, at+1)
	return r, nil
}

func (o *openDevice) startExport(op string) error {
	if err := o.startVirtual(op); err != nil {
		return err
	}
	if !o.info.Exporter {
		return o.ctx.errorf(device.CodeUnsupported, op, "the device or its driver has no memory that is shared by descriptors")
	}
	return nil
}
