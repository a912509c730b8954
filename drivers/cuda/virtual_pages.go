package cuda

import (
	"fmt"
	"math/bits"
	"runtime"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/gpu/virtual"
	"ferrum_mem/internal/dl"
)

var _ device.UnfilledCreator = (*openDevice)(nil)

// Create creates pages and fills them with zeros, because the vendor driver does not
// promise zeros.
func (o *openDevice) Create(pages []device.Page, pageBytes uint64, backing device.Backing) error {
	return createPages(o, pages, pageBytes, backing, true)
}

// CreateUnfilled creates pages and does not fill them. A fill costs more driver calls than
// the page itself.
func (o *openDevice) CreateUnfilled(pages []device.Page, pageBytes uint64, backing device.Backing) error {
	return createPages(o, pages, pageBytes, backing, false)
}

func createPages(o *openDevice, pages []device.Page, pageBytes uint64, backing device.Backing, filled bool) error {
	const op = "cuda.create"
	v := &o.virtual
	if err := o.startVirtual(op); err != nil {
		return err
	}
	switch {
	case len(pages) == 0:
		return o.ctx.errorf(device.CodeInvalidSize, op, "the number of pages is 0")
	case bits.OnesCount64(pageBytes) != 1 || pageBytes < v.granularity.MinimumBytes:
		return o.ctx.errorf(device.CodeInvalidPageSize, op,
			"page size %d: want a power of two of at least %d", pageBytes, v.granularity.MinimumBytes)
	case backing < device.BackingMovable || backing > device.BackingFabric:
		return o.ctx.errorf(device.CodeInvalidArgument, op,
			"backing %d: want %d (movable), %d (private), %d (shareable), %d (RDMA) or %d (fabric)", backing,
			device.BackingMovable, device.BackingPrivate, device.BackingShareable, device.BackingRDMA, device.BackingFabric)
	case backing == device.BackingRDMA && !o.info.RDMAPages:
		return o.ctx.errorf(device.CodeUnsupported, op, "the device or its driver has no GPUDirect RDMA for virtual memory")
	case pageBytes > o.info.TotalBytes/uint64(len(pages)):
		return o.ctx.errorf(device.CodeOutOfMemory, op, "%s of %v: the device has %v",
			device.Count(len(pages), "page"), device.Size(pageBytes), device.Size(o.info.TotalBytes))
	}
	if err := o.startExport(op, backing); err != nil {
		return err
	}
	if err := o.hold(op, len(pages)); err != nil {
		return err
	}
	var made []*virtual.Page
	err := o.ctx.within(op, func() (err error) {
		made, err = v.createPages(op, len(pages), pageBytes, backing, filled)
		return err
	})
	if err != nil {
		o.drop(len(pages))
		return err
	}
	v.book.Add(made...)
	for i, p := range made {
		pages[i] = p.Number
	}
	return nil
}

// createPages creates all of the pages or none.
func (v *virtualMemory) createPages(op string, count int, bytes uint64, backing device.Backing, filled bool) (made []*virtual.Page, err error) {
	defer func() {
		if err != nil {
			for _, p := range made {
				v.ctx.undo(op, "after a page that could not be created", &v.ctx.api.pageRelease, uintptr(p.Handle))
			}
		}
	}()
	properties := v.pageProperties(backing)
	defer runtime.KeepAlive(properties)
	for i := range count {
		p := &virtual.Page{Bytes: bytes, Backing: backing, Unfilled: !filled}
		err := v.ctx.call(op, fmt.Sprintf("page %d of %d, %v", i, count, device.Size(bytes)),
			&v.ctx.api.pageCreate, dl.Pointer(&p.Handle), uintptr(bytes), dl.Pointer(properties), 0)
		if err != nil {
			return made, err
		}
		made = append(made, p)
	}
	if !filled {
		return made, nil
	}
	return made, v.scrubPages(op, made)
}

// scrubPages fills unmapped pages with zeros. It maps them at a temporary reservation for
// that. The caller has the context current.
func (v *virtualMemory) scrubPages(op string, pages []*virtual.Page) error {
	total := uint64(0)
	for _, p := range pages {
		total += p.Bytes
	}
	window := &virtual.Reservation{Size: total}
	if err := v.takeSpace(op, window, v.granularity.MinimumBytes); err != nil {
		return err
	}
	mapped := uint64(0)
	defer func() { v.closeWindow(op, window, mapped) }()
	for _, p := range pages {
		if err := v.mapPage(op, p, window.Base+mapped); err != nil {
			return err
		}
		mapped += p.Bytes
	}
	if err := v.giveAccess(op, window.Base, total, device.AccessReadWrite, nil); err != nil {
		return err
	}
	return v.scrub.zero(op, window.Base, total)
}

// closeWindow unmaps the pages from the temporary reservation where they were filled with
// zeros, once the fill has ended.
func (v *virtualMemory) closeWindow(op string, window *virtual.Reservation, mapped uint64) {
	const what = "after allocating zeros"
	if mapped > 0 {
		v.ctx.undo(op, what, &v.ctx.api.pageUnmap, uintptr(window.Base), uintptr(mapped))
	}
	v.ctx.undo(op, what, &v.ctx.api.unreserve, uintptr(window.Taken), uintptr(window.TakenBytes))
}

// zero fills mapped memory with zeros on the driver's own stream and waits for the fill.
func (s *scrubber) zero(op string, addr, size uint64) error {
	what := fmt.Sprintf("zeros at %#x, size %d", addr, size)
	if err := s.ctx.call(op, what, &s.ctx.api.fill8, uintptr(addr), 0, uintptr(size), s.stream.handle); err != nil {
		return err
	}
	return s.settle(op, what)
}

// Release releases pages to the vendor driver. If it rejects the first one, all still exist.
// After the first one nothing can be undone: a page that the driver rejects then is owed.
func (o *openDevice) Release(list []device.Page) error {
	const op = "cuda.release"
	v := &o.virtual
	if err := o.startVirtual(op); err != nil {
		return err
	}
	pages, err := v.book.ClaimIdle(op, list)
	if err != nil {
		return err
	}
	err = o.ctx.releasingSpace(op, func() error {
		for i, p := range pages {
			what := fmt.Sprintf("page %d", p.Number)
			if i > 0 {
				o.ctx.undo(op, what, &o.ctx.api.pageRelease, uintptr(p.Handle))
				continue
			}
			err := o.ctx.callBack(op, what, &o.ctx.api.pageRelease, uintptr(p.Handle))
			if err != nil && o.ctx.lost.Load() == nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		v.book.Settle(pages)
		return err
	}
	v.book.Forget(pages)
	o.drop(len(pages))
	return nil
}

// Zero fills unmapped pages with zeros.
func (o *openDevice) Zero(list []device.Page) error {
	const op = "cuda.zero"
	v := &o.virtual
	if err := o.startVirtual(op); err != nil {
		return err
	}
	pages, err := v.book.ClaimIdle(op, list)
	if err != nil {
		return err
	}
	err = o.ctx.within(op, func() error { return o.virtual.scrubPages(op, pages) })
	v.book.Settle(pages)
	return err
}
