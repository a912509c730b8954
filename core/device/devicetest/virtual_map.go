package devicetest

import (
	"slices"

	"ferrum_mem/core/device"
)

// piece is the part of one mapped page that a range covers.
type piece struct {
	page         *page
	offset, size uint64
}

// reservationOf returns the reservation that contains a whole range, or nil.
func (d *Device) reservationOf(addr device.Addr, size uint64) *reservation {
	for _, r := range d.virtual.reservations {
		if addr >= r.base && uint64(addr-r.base) <= r.size && size <= r.size-uint64(addr-r.base) {
			return r
		}
	}
	return nil
}

// pageAt returns the page that contains an offset, or nil. A page starts at a multiple
// of its size.
func (d *Device) pageAt(r *reservation, offset uint64) *page {
	for left := d.virtual.sizesThere; left != 0; left &= left - 1 {
		size := left & -left
		if p := r.mapped[offset&^(size-1)]; p != nil && p.size == size {
			return p
		}
	}
	return nil
}

// pieces returns the mapped pages under a range of a reservation, in order; false: they
// do not cover all of it.
func (d *Device) pieces(r *reservation, addr device.Addr, size uint64) ([]piece, bool) {
	var found []piece
	for at, end := uint64(addr-r.base), uint64(addr-r.base)+size; at < end; {
		p := d.pageAt(r, at)
		if p == nil {
			return nil, false
		}
		part := min(end, p.offset+p.size) - at
		found = append(found, piece{page: p, offset: at - p.offset, size: part})
		at += part
	}
	return found, true
}

// overlapping returns a page that is mapped in a range of a reservation, or nil.
func (d *Device) overlapping(r *reservation, offset, size uint64) *page {
	// A page in the range covers the start of the range, or starts at a multiple of the
	// least size.
	if least := d.virtual.sizesThere & -d.virtual.sizesThere; least == 0 {
		return nil
	} else if size/least < uint64(len(r.mapped)) {
		for at := offset; at < offset+size; at = at&^(least-1) + least {
			if p := d.pageAt(r, at); p != nil {
				return p
			}
		}
		return nil
	}
	for _, p := range r.mapped {
		if p.offset < offset+size && offset < p.offset+p.size {
			return p
		}
	}
	return nil
}

// mappedRange returns the reservation and the pages under a range. With whole, the
// range must start and end between pages.
func (d *Device) mappedRange(call Call, addr device.Addr, size uint64, whole bool) (*reservation, []piece, error) {
	if err := d.checkSize(call, size); err != nil {
		return nil, nil, err
	}
	if least := d.driver.config.PageMinimumBytes; uint64(addr)%least != 0 {
		return nil, nil, d.refuse(call, device.CodeInvalidOffset, "address %#x is not a multiple of %d", uint64(addr), least)
	}
	r := d.reservationOf(addr, size)
	if r == nil {
		return nil, nil, d.refuse(call, device.CodeInvalidAddress, "%v at %#x lie in no reservation",
			device.Size(size), uint64(addr))
	}
	found, covered := d.pieces(r, addr, size)
	if !covered {
		return nil, nil, d.refuse(call, device.CodeNotMapped, "%v at %#x are not mapped throughout",
			device.Size(size), uint64(addr))
	}
	for _, part := range found {
		if whole && part.size != part.page.size {
			return nil, nil, d.refuse(call, device.CodeInvalidOffset, "%v at %#x end inside a page of %v",
				device.Size(size), uint64(addr), device.Size(part.page.size))
		}
	}
	return r, found, nil
}

// Map records where the pages are, and drops contents that are kept there.
func (d *Device) Map(addr device.Addr, numbers []device.Page) error {
	err := d.enterVirtual(Map)
	defer d.driver.mu.Unlock()
	if err != nil {
		return err
	}
	r, found, err := d.mapped(Map, addr, numbers)
	if err != nil {
		return err
	}
	r.drop(found[0].offset, found[0].size*uint64(len(found)), 0)
	return nil
}

// mapped maps pages.
func (d *Device) mapped(call Call, addr device.Addr, numbers []device.Page) (*reservation, []*page, error) {
	found, err := d.find(call, numbers)
	if err != nil {
		return nil, nil, err
	}
	pageBytes := found[0].size
	for i, p := range found {
		if p.size != pageBytes {
			return nil, nil, d.refuse(call, device.CodeInvalidPageSize, "page %d has %v, the first one %v",
				numbers[i], device.Size(p.size), device.Size(pageBytes))
		}
	}
	if least := d.driver.config.PageMinimumBytes; uint64(addr)%least != 0 {
		return nil, nil, d.refuse(call, device.CodeInvalidOffset, "address %#x is not a multiple of %d", uint64(addr), least)
	}
	// The device holds the pages, so their sum does not overflow.
	size := pageBytes * uint64(len(found))
	r := d.reservationOf(addr, size)
	if r == nil {
		return nil, nil, d.refuse(call, device.CodeInvalidAddress, "%v at %#x lie in no reservation", device.Size(size), uint64(addr))
	}
	start := uint64(addr - r.base)
	if start%pageBytes != 0 {
		return nil, nil, d.refuse(call, device.CodeInvalidOffset, "offset %d of the reservation is not a multiple of the page size %d",
			start, pageBytes)
	}
	if there := d.overlapping(r, start, size); there != nil {
		return nil, nil, d.refuse(call, device.CodeAlreadyMapped, "%v at %#x: a page is mapped at %#x", device.Size(size), uint64(addr),
			uint64(r.base)+there.offset)
	}
	for i, p := range found {
		if p.in != nil {
			return nil, nil, d.refuse(call, device.CodeBusy, "page %d is mapped at %#x", numbers[i], uint64(p.in.base)+p.offset)
		}
	}
	for i, p := range found {
		p.in, p.offset, p.access = r, start+uint64(i)*pageBytes, device.AccessNone
		r.mapped[p.offset] = p
	}
	return r, found, nil
}

// SetAccess records the access. Queued work is known to use its ranges.
func (d *Device) SetAccess(addr device.Addr, size uint64, access device.Access) error {
	err := d.enterVirtual(SetAccess)
	defer d.driver.mu.Unlock()
	if err != nil {
		return err
	}
	if access < device.AccessNone || access > device.AccessReadWrite {
		return d.refuse(SetAccess, device.CodeInvalidArgument, "access %d is not known", access)
	}
	_, found, err := d.mappedRange(SetAccess, addr, size, true)
	if err != nil {
		return err
	}
	takes := slices.ContainsFunc(found, func(part piece) bool { return part.page.access > access })
	if takes && d.inUse(addr, size) {
		return d.refuse(SetAccess, device.CodeBusy, "%v at %#x are used by queued work", device.Size(size), uint64(addr))
	}
	for _, part := range found {
		part.page.access = access
	}
	return nil
}

// Unmap removes the pages. Private pages lose their contents, even if the call fails
// because a test has set a failure.
func (d *Device) Unmap(addr device.Addr, size uint64) error {
	failed := d.enterVirtual(Unmap)
	defer d.driver.mu.Unlock()
	r, found, err := d.mappedRange(Unmap, addr, size, true)
	if failed != nil {
		for _, part := range found {
			part.page.loseIfPrivate()
		}
		return failed
	}
	if err != nil {
		return err
	}
	if d.inUse(addr, size) {
		return d.refuse(Unmap, device.CodeBusy, "%v at %#x are used by queued work", device.Size(size), uint64(addr))
	}
	for _, part := range found {
		delete(r.mapped, part.page.offset)
		part.page.in = nil
		part.page.loseIfPrivate()
	}
	return nil
}

// Resident counts whole pages that work has written to.
func (d *Device) Resident(addr device.Addr, size uint64) (uint64, error) {
	err := d.enterVirtual(Resident)
	defer d.driver.mu.Unlock()
	if err != nil {
		return 0, err
	}
	_, found, err := d.mappedRange(Resident, addr, size, false)
	var sum uint64
	for _, part := range found {
		if part.page.touched {
			sum += part.size
		}
	}
	return sum, err
}

// inUse reports whether queued work of any stream of the driver uses the range.
func (d *Device) inUse(addr device.Addr, size uint64) bool {
	for _, s := range d.driver.streams {
		for _, w := range s.queue {
			for _, used := range w.uses {
				if used.dev == d && (uint64(used.addr-addr) < size || uint64(addr-used.addr) < used.size) {
					return true
				}
			}
		}
	}
	return false
}
