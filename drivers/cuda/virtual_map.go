package cuda

import (
	"fmt"
	"slices"

	"ferrum_mem/core/device"
)

// holding is the reservation that a range lies in, or nil. The caller holds v.mu.
func (v *virtualMemory) holding(addr, size uint64) *reservation {
	at, found := v.place(addr)
	if !found {
		at--
	}
	if at < 0 {
		return nil
	}
	r := v.reservations[at]
	offset := addr - r.base
	if offset >= r.size || size > r.size-offset {
		return nil
	}
	return r
}

// overlaps says whether a range touches a reservation.
func (v *virtualMemory) overlaps(addr, size uint64) bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return slices.ContainsFunc(v.reservations, func(r *reservation) bool {
		return addr < r.base+r.size && r.base < addr+size
	})
}

// first is the place in the list of the first page that ends behind an address.
func (r *reservation) first(addr uint64) int {
	at, _ := slices.BinarySearchFunc(r.mapped, addr, func(p *page, addr uint64) int {
		if p.at+p.bytes <= addr {
			return -1
		}
		return 1
	})
	return at
}

// under are the pages behind a range, and whether they leave no gap.
func (r *reservation) under(addr, size uint64) (pages []*page, covered bool) {
	from := r.first(addr)
	next := addr
	to := from
	for to < len(r.mapped) && r.mapped[to].at < addr+size {
		p := r.mapped[to]
		if p.at > next {
			return r.mapped[from : to+1], false
		}
		next = p.at + p.bytes
		to++
	}
	return r.mapped[from:to], next >= addr+size
}

// check refuses work on a range that is not mapped throughout or lacks the access.
func (v *virtualMemory) check(op, what string, addr, size uint64, need device.Access) error {
	v.mu.RLock()
	defer v.mu.RUnlock()
	r := v.holding(addr, size)
	if r == nil {
		return v.ctx.errorf(device.CodeInvalidAddress, op,
			"%s %#x, size %d: lies in nothing that this device was asked for", what, addr, size)
	}
	pages, covered := r.under(addr, size)
	if !covered {
		return v.ctx.errorf(device.CodeNotMapped, op, "%s %#x, size %d: is not mapped throughout", what, addr, size)
	}
	for _, p := range pages {
		if p.state == pageLeaving {
			return v.isClaimed(op, p)
		}
		if p.access < need {
			return v.ctx.errorf(device.CodePermissionDenied, op,
				"%s %#x, size %d: the page at %#x has access %d, and %d is needed", what, addr, size, p.at, p.access, need)
		}
	}
	return nil
}

// whole are the pages that a range is made up of. The caller holds v.mu.
func (v *virtualMemory) whole(op string, addr device.Addr, size uint64, ends bool) (*reservation, []*page, error) {
	if err := v.checkSize(op, size); err != nil {
		return nil, nil, err
	}
	if uint64(addr)%v.granularity.MinimumBytes != 0 {
		return nil, nil, v.ctx.errorf(device.CodeInvalidOffset, op,
			"address %#x: want a multiple of %d", uint64(addr), v.granularity.MinimumBytes)
	}
	r := v.holding(uint64(addr), size)
	if r == nil {
		return nil, nil, v.ctx.errorf(device.CodeInvalidAddress, op,
			"address %#x, size %d: lies in no one reservation", uint64(addr), size)
	}
	pages, covered := r.under(uint64(addr), size)
	if !covered {
		return nil, nil, v.ctx.errorf(device.CodeNotMapped, op,
			"address %#x, size %d: is not mapped throughout", uint64(addr), size)
	}
	last := pages[len(pages)-1]
	if ends && (pages[0].at < uint64(addr) || last.at+last.bytes > uint64(addr)+size) {
		return nil, nil, v.ctx.errorf(device.CodeInvalidOffset, op,
			"address %#x, size %d: starts or ends inside a page", uint64(addr), size)
	}
	return r, pages, nil
}

// Map maps each page by a call of its own. When one fails, those before it are taken
// out again.
func (o *openDevice) Map(addr device.Addr, list []device.Page) error {
	const op = "cuda.map"
	v := &o.virtual
	if err := o.startVirtual(op); err != nil {
		return err
	}
	v.opening.RLock()
	defer v.opening.RUnlock()
	pages, err := v.claimRoom(op, uint64(addr), list)
	if err != nil {
		return err
	}
	err = o.ctx.within(op, func() error { return o.virtual.mapRun(op, pages, uint64(addr)) })
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		v.takeOut(pages)
	}
	settle(pages)
	return err
}

// claimRoom puts idle pages into the books of the reservation where they are about to
// be mapped.
func (v *virtualMemory) claimRoom(op string, addr uint64, list []device.Page) ([]*page, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	pages, err := v.listed(op, list)
	if err != nil {
		return nil, err
	}
	r, err := v.room(op, addr, pages)
	if err != nil {
		return nil, err
	}
	r.mapped = slices.Insert(r.mapped, r.first(addr), pages...)
	for _, p := range pages {
		p.state, p.in, p.at, p.access = pageLeaving, r, addr, device.AccessNone
		addr += p.bytes
	}
	return pages, nil
}

// takeOut takes pages that follow one another out of the books of their reservation.
// The caller holds v.mu.
func (v *virtualMemory) takeOut(pages []*page) {
	r := pages[0].in
	first := r.first(pages[0].at)
	r.mapped = slices.Delete(r.mapped, first, first+len(pages))
	for _, p := range pages {
		p.in, p.at, p.access = nil, 0, device.AccessNone
	}
}

// settle ends a claim. The caller holds v.mu.
func settle(pages []*page) {
	for _, p := range pages {
		p.state = pageThere
	}
}

// claimMapped claims the pages that a range is made up of, as the call is about to
// leave them.
func (v *virtualMemory) claimMapped(op string, addr device.Addr, size uint64, as func(*page) pageState) ([]*page, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, pages, err := v.whole(op, addr, size, true)
	if err != nil {
		return nil, err
	}
	for _, p := range pages {
		if p.state != pageThere {
			return nil, v.isClaimed(op, p)
		}
	}
	for _, p := range pages {
		p.state = as(p)
	}
	// The reservation's list may change while this call is at work.
	return slices.Clone(pages), nil
}

func (v *virtualMemory) isClaimed(op string, p *page) error {
	return v.ctx.errorf(device.CodeBusy, op, "page %d: another call works on it", p.number)
}

// room is the reservation in which pages can be mapped at an address.
func (v *virtualMemory) room(op string, addr uint64, pages []*page) (*reservation, error) {
	bytes := pages[0].bytes
	for _, p := range pages {
		if p.bytes != bytes {
			return nil, v.ctx.errorf(device.CodeInvalidPageSize, op,
				"page %d has %d bytes and page %d has %d: want all of one size", pages[0].number, bytes, p.number, p.bytes)
		}
	}
	if addr%v.granularity.MinimumBytes != 0 {
		return nil, v.ctx.errorf(device.CodeInvalidOffset, op, "address %#x: want a multiple of %d", addr, v.granularity.MinimumBytes)
	}
	// Pages are memory that is there: their sum fits 64 bits.
	size := bytes * uint64(len(pages))
	r := v.holding(addr, size)
	if r == nil {
		return nil, v.ctx.errorf(device.CodeInvalidAddress, op, "address %#x, size %d: lies in no one reservation", addr, size)
	}
	if (addr-r.base)%bytes != 0 {
		return nil, v.ctx.errorf(device.CodeInvalidOffset, op,
			"address %#x: its offset %d in the reservation is no multiple of the page size %d", addr, addr-r.base, bytes)
	}
	if under, _ := r.under(addr, size); len(under) > 0 && under[0].at < addr+size {
		if under[0].state == pageLeaving {
			return nil, v.isClaimed(op, under[0])
		}
		return nil, v.ctx.errorf(device.CodeAlreadyMapped, op, "address %#x, size %d: page %d is mapped at %#x",
			addr, size, under[0].number, under[0].at)
	}
	return r, v.checkIdle(op, pages)
}

func (v *virtualMemory) mapPage(op string, p *page, at uint64) error {
	return v.ctx.call(op, fmt.Sprintf("page %d, address %#x, size %d", p.number, at, p.bytes),
		&v.ctx.api.pageMap, uintptr(at), uintptr(p.bytes), 0, uintptr(p.handle), 0)
}

func (v *virtualMemory) mapRun(op string, pages []*page, addr uint64) error {
	done := uint64(0)
	for _, p := range pages {
		err := v.mapPage(op, p, addr+done)
		if err == nil {
			done += p.bytes
			continue
		}
		if done > 0 {
			_ = v.ctx.takeBack(op, "after a page that could not be mapped", &v.ctx.api.pageUnmap, uintptr(addr), uintptr(done))
		}
		return err
	}
	return nil
}

// SetAccess says what this device, and those that were let in, may do with a range.
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
	pages, err := v.claimMapped(op, addr, size, func(p *page) pageState {
		if access < p.access {
			return pageLeaving
		}
		return pageChanging
	})
	if err != nil {
		return err
	}
	err = o.ctx.within(op, func() error { return o.virtual.giveAccess(op, uint64(addr), size, access, v.guests) })
	v.mu.Lock()
	defer v.mu.Unlock()
	if err == nil {
		for _, p := range pages {
			p.access = access
		}
	}
	settle(pages)
	return err
}

// Unmap takes pages out of a range by one call. Private ones are made zeros before.
func (o *openDevice) Unmap(addr device.Addr, size uint64) error {
	const op = "cuda.unmap"
	v := &o.virtual
	if err := o.startVirtual(op); err != nil {
		return err
	}
	v.opening.RLock()
	defer v.opening.RUnlock()
	pages, err := v.claimMapped(op, addr, size, func(*page) pageState { return pageLeaving })
	if err != nil {
		return err
	}
	err = o.ctx.giveBackSpace(op, func() error {
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
	v.mu.Lock()
	defer v.mu.Unlock()
	if err == nil {
		v.takeOut(pages)
	}
	settle(pages)
	return err
}

// zeroPrivate makes a page forget what it held, as a private one does when it is
// unmapped.
func (v *virtualMemory) zeroPrivate(op string, p *page) error {
	if p.backing != device.BackingPrivate {
		return nil
	}
	if p.access == device.AccessReadWrite {
		return v.scrub.zero(op, p.at, p.bytes)
	}
	if err := v.giveAccess(op, p.at, p.bytes, device.AccessReadWrite, nil); err != nil {
		return err
	}
	err := v.scrub.zero(op, p.at, p.bytes)
	// The page may stay where it is.
	if back := v.giveAccess(op, p.at, p.bytes, p.access, nil); err == nil {
		err = back
	}
	return err
}

// Resident is all of the range: the driver puts memory behind pages when it makes them.
func (o *openDevice) Resident(addr device.Addr, size uint64) (uint64, error) {
	const op = "cuda.resident"
	v := &o.virtual
	if err := o.startVirtual(op); err != nil {
		return 0, err
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	if _, _, err := v.whole(op, addr, size, false); err != nil {
		return 0, err
	}
	return size, nil
}
