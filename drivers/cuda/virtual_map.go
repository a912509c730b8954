package cuda

import (
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/gpu/virtual"
)

// Map maps each page with a separate call. If a call fails, Map unmaps the pages of the
// calls before.
func (o *openDevice) Map(addr device.Addr, list []device.Page) error {
	const op = "cuda.map"
	v := &o.virtual
	if err := o.startVirtual(op); err != nil {
		return err
	}
	v.opening.RLock()
	defer v.opening.RUnlock()
	pages, err := v.book.ClaimRoom(op, uint64(addr), list)
	if err != nil {
		return err
	}
	err = o.ctx.within(op, func() error { return o.virtual.mapRun(op, pages, uint64(addr)) })
	if err != nil {
		v.book.Unmap(pages)
	} else {
		v.book.Settle(pages)
	}
	return err
}

func (v *virtualMemory) mapPage(op string, p *virtual.Page, at uint64) error {
	return v.ctx.call(op, fmt.Sprintf("page %d, address %#x, size %d", p.Number, at, p.Bytes),
		&v.ctx.api.pageMap, uintptr(at), uintptr(p.Bytes), 0, uintptr(p.Handle), 0)
}

func (v *virtualMemory) mapRun(op string, pages []*virtual.Page, addr uint64) error {
	done := uint64(0)
	for _, p := range pages {
		err := v.mapPage(op, p, addr+done)
		if err == nil {
			done += p.Bytes
			continue
		}
		if done > 0 {
			v.ctx.finishFirst(op, "after a page that could not be mapped", &v.ctx.api.pageUnmap, uintptr(addr), uintptr(done))
		}
		return err
	}
	return nil
}

// SetAccess sets the access to a range for this device and for its guests.
func (o *openDevice) SetAccess(addr device.Addr, size uint64, access device.Access) error {
	const op = "cuda.set_access"
	v := &o.virtual
	if err := o.startVirtual(op); err != nil {
		return err
	}
	if access < device.AccessNone || access > device.AccessReadWrite {
		return o.ctx.errorf(device.CodeInvalidArgument, op, "access %d: want %d to %d",
			access, device.AccessNone, device.AccessReadWrite)
	}
	v.opening.RLock()
	defer v.opening.RUnlock()
	pages, err := v.book.ClaimMapped(op, uint64(addr), size, func(p *virtual.Page) virtual.State {
		if access < p.Access {
			return virtual.Leaving
		}
		return virtual.Changing
	})
	if err != nil {
		return err
	}
	err = o.ctx.within(op, func() error { return o.virtual.giveAccess(op, uint64(addr), size, access, v.accessors) })
	if err == nil {
		v.book.SetAccess(pages, access)
	} else {
		v.book.Settle(pages)
	}
	return err
}

// Unmap unmaps the pages of a range by one call. It fills private pages with zeros first.
func (o *openDevice) Unmap(addr device.Addr, size uint64) error {
	const op = "cuda.unmap"
	v := &o.virtual
	if err := o.startVirtual(op); err != nil {
		return err
	}
	v.opening.RLock()
	defer v.opening.RUnlock()
	pages, err := v.book.ClaimMapped(op, uint64(addr), size, func(*virtual.Page) virtual.State { return virtual.Leaving })
	if err != nil {
		return err
	}
	err = o.ctx.releasingSpace(op, func() error {
		for _, p := range pages {
			if o.ctx.lost.Load() != nil {
				break
			}
			if err := o.virtual.zeroPrivate(op, p); err != nil && o.ctx.lost.Load() == nil {
				return err
			}
		}
		return o.ctx.callBack(op, fmt.Sprintf("address %#x, size %d", uint64(addr), size),
			&o.ctx.api.pageUnmap, uintptr(addr), uintptr(size))
	})
	if err == nil {
		v.book.Unmap(pages)
	} else {
		v.book.Settle(pages)
	}
	return err
}

// zeroPrivate fills a private page with zeros, because a private page loses its contents
// when it is unmapped. It leaves a page whose owner does not need zeros.
func (v *virtualMemory) zeroPrivate(op string, p *virtual.Page) error {
	if p.Backing != device.BackingPrivate || p.Unfilled {
		return nil
	}
	if p.Access == device.AccessReadWrite {
		return v.scrub.zero(op, p.At, p.Bytes)
	}
	if err := v.giveAccess(op, p.At, p.Bytes, device.AccessReadWrite, nil); err != nil {
		return err
	}
	err := v.scrub.zero(op, p.At, p.Bytes)
	if v.ctx.owed.mustWait() {
		// The fill may still run, and needs the access.
		return err
	}
	// The page can stay mapped.
	if back := v.giveAccess(op, p.At, p.Bytes, p.Access, nil); err == nil {
		err = back
	}
	return err
}

// Resident returns the whole size: the vendor driver allocates the memory of a page when it
// creates the page.
func (o *openDevice) Resident(addr device.Addr, size uint64) (uint64, error) {
	const op = "cuda.resident"
	v := &o.virtual
	if err := o.startVirtual(op); err != nil {
		return 0, err
	}
	if err := v.book.Covers(op, uint64(addr), size); err != nil {
		return 0, err
	}
	return size, nil
}
