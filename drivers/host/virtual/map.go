package virtual

import (
	"fmt"

	"ferrum_mem/core/device"
)

// Map records where the pages are mapped. The system is called when access is set, or to
// drop contents that are kept there.
func (v *Memory) Map(addr device.Addr, pages []device.Page) error {
	const op = "host.map_pages"
	if err := v.usable(op); err != nil {
		return err
	}
	keeping, err := v.mapPages(op, addr, pages, 0)
	if keeping > 0 {
		if err = v.drop(op, uint64(addr), keeping, 0); err == nil {
			_, err = v.mapPages(op, addr, pages, 0)
		}
	}
	return v.about(err)
}

// mapPages maps pages to a range that keeps contents under a mark; 0: that keeps none. With
// 0 and contents there, it returns an error with the size of the range.
func (v *Memory) mapPages(op string, addr device.Addr, pages []device.Page, mark uint32) (keeping uint64, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	found, err := v.look(op, pages)
	if err != nil {
		return 0, err
	}
	pageBytes := found[0].store.pageBytes
	for i, l := range found {
		if l.store.pageBytes != pageBytes {
			return 0, device.Errorf(device.CodeInvalidPageSize, op,
				"page %#x, number %d of the list: of %v, the first one of %v", uint64(pages[i]), i, device.Size(l.store.pageBytes), device.Size(pageBytes))
		}
	}
	if err := v.checkAddress(op, addr); err != nil {
		return 0, err
	}
	// The pages are within the capacity, so the sum does not overflow.
	address, size := uint64(addr), pageBytes*uint64(len(pages))
	r := v.reservationOf(address, size)
	if r == nil {
		return 0, device.Errorf(device.CodeInvalidAddress, op,
			"address %#x, %s of %v: not within one reservation", address, device.Count(len(pages), "page"), device.Size(pageBytes))
	}
	if offset := address - r.base(); offset%pageBytes != 0 {
		return 0, device.Errorf(device.CodeInvalidOffset, op,
			"address %#x: its offset %d in the reservation is not a multiple of the page size %d", address, offset, pageBytes)
	}
	if there, ok := r.occupied(address, size); ok {
		return 0, device.Errorf(device.CodeAlreadyMapped, op,
			"address %#x, size %d: a page is mapped at %#x", address, size, there)
	}
	if err := idle(op, found); err != nil {
		return 0, err
	}
	t, first := r.table(pageBytes), (address-r.base())/pageBytes
	if mark == 0 && r.keeps(address, size) {
		return size, device.Errorf(device.CodeBusy, op, "address %#x, size %d: contents are kept there", address, size)
	}
	if mark != 0 {
		if err := r.takeKept(op, t, found, first, mark); err != nil {
			return 0, err
		}
	}
	for i, l := range found {
		l.place().address = address + uint64(i)*pageBytes
		*t.ensure(first + uint64(i)) = pageSlot{page: pages[i]}
	}
	t.mapped += len(pages)
	r.mapped += len(pages)
	return 0, nil
}

// claimRange marks a completely mapped range as changing to a new access. For pages for
// which takes returns true, no queued work may use the page. The caller holds v.mu.
func (v *Memory) claimRange(
	op string, address, size uint64, access device.Access, takes func(pageSlot) bool,
) (claimed, error) {
	r := v.reservationOf(address, size)
	if r == nil {
		return claimed{}, device.Errorf(device.CodeInvalidAddress, op,
			"address %#x, size %d: not within one reservation", address, size)
	}
	var busy error
	whole := true
	covered := r.eachSpan(address, size, func(s pageSpan) bool {
		whole = whole && s.address >= address && s.end() <= address+size
		for i := range s.slots {
			p := &s.slots[i]
			switch at := s.address + uint64(i)*s.pageBytes; {
			case !p.changing && p.uses == 0 || busy != nil:
			case p.changing:
				busy = device.Errorf(device.CodeBusy, op, "address %#x: another call changes the page there", at)
			case takes(*p):
				busy = device.Errorf(device.CodeBusy, op, "address %#x: %s of the page there by queued work", at, device.Count(p.uses, "use"))
			}
		}
		return true
	})
	switch {
	case !covered:
		return claimed{}, device.Errorf(device.CodeNotMapped, op,
			"address %#x, size %d: not mapped throughout", address, size)
	case !whole:
		return claimed{}, device.Errorf(device.CodeInvalidOffset, op,
			"address %#x, size %d: starts or ends inside a page", address, size)
	case busy != nil:
		return claimed{}, busy
	}
	c := claimed{space: r, address: address, size: size}
	growth := v.growth(c, wantedAccess{access: access})
	if err := v.takeMappings(op, growth); err != nil {
		return claimed{}, err
	}
	r.eachSpan(address, size, func(s pageSpan) bool {
		for i := range s.slots {
			s.slots[i].counted, s.slots[i].changing = uint8(access), true
		}
		return true
	})
	return c, nil
}

// SetAccess makes one system call for each run of private pages and for each run of movable
// pages that are adjacent in their file. It makes one more call for each row of movable
// pages, to exclude it from child processes.
func (v *Memory) SetAccess(addr device.Addr, size uint64, access device.Access) error {
	const op = "host.set_access"
	if err := v.usable(op); err != nil {
		return err
	}
	if access < device.AccessNone || access > device.AccessReadWrite {
		return v.errorf(device.CodeInvalidArgument, op, "access %d: not known", access)
	}
	if err := v.checkRange(op, addr, size); err != nil {
		return err
	}
	v.mu.Lock()
	c, err := v.claimRange(op, uint64(addr), size, access,
		func(s pageSlot) bool { return device.Access(s.access) > access })
	if err != nil {
		v.mu.Unlock()
		return v.about(err)
	}
	runs := v.runs(v.takeList(), c, wantedAccess{access: access})
	v.mu.Unlock()
	if access != device.AccessNone && hasPrivate(runs) && c.space.primed.CompareAndSwap(false, true) {
		v.prime(c.space, runs)
	}
	if done, err := v.apply(c.space, runs); err != nil {
		why := v.refused(err)
		v.undo(c, done)
		return v.systemError(op, device.CodeMappingFailed, why, fmt.Sprintf("address %#x, size %d, access %d", uint64(addr), size, access))
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	c.space.eachSpan(c.address, c.size, func(s pageSpan) bool {
		for i := range s.slots {
			s.slots[i].access, s.slots[i].changing = uint8(access), false
		}
		return true
	})
	v.returnList(runs)
	return nil
}

// Unmap removes access to the whole range and then releases the memory of private pages.
// The release cannot be undone, so it comes last.
func (v *Memory) Unmap(addr device.Addr, size uint64) error {
	return v.unmap("host.unmap_pages", addr, size, 0)
}

// unmap keeps the contents of private pages under a mark, if that is not 0.
func (v *Memory) unmap(op string, addr device.Addr, size uint64, mark uint32) error {
	if err := v.usable(op); err != nil {
		return err
	}
	if err := v.checkRange(op, addr, size); err != nil {
		return err
	}
	v.mu.Lock()
	var c claimed
	err := v.checkKeeping(op, uint64(addr), size, mark)
	if err == nil {
		c, err = v.claimRange(op, uint64(addr), size, device.AccessNone, func(pageSlot) bool { return true })
	}
	if err != nil {
		v.mu.Unlock()
		return v.about(err)
	}
	files := v.runs(v.takeList(), c, wantedAccess{noted: true})
	runs := v.runs(v.takeList(), c, wantedAccess{access: device.AccessNone})
	v.mu.Unlock()
	v.loosen(files)
	done, err := v.apply(c.space, runs)
	if err == nil && mark == 0 {
		err = v.forget(runs)
	}
	if err != nil {
		why := v.refused(err)
		v.undo(c, done)
		return v.systemError(op, device.CodeUnmappingFailed, why, fmt.Sprintf("address %#x, size %d", uint64(addr), size))
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	c.space.eachSpan(c.address, c.size, func(part pageSpan) bool {
		for i := range part.slots {
			s, index := v.of(part.slots[i].page)
			s.pages[index].address = 0
		}
		clear(part.slots)
		t := c.space.table(part.pageBytes)
		t.mapped -= len(part.slots)
		c.space.mapped -= len(part.slots)
		if mark != 0 {
			t.keep(part.slots, mark)
		}
		return true
	})
	v.returnList(files)
	v.returnList(runs)
	return nil
}

// UnmapKeeping removes access to the whole range.
func (v *Memory) UnmapKeeping(addr device.Addr, size uint64, mark uint32) error {
	const op = "host.unmap_keeping"
	if mark == 0 {
		return v.errorf(device.CodeInvalidArgument, op, "mark 0: another value is required")
	}
	return v.unmap(op, addr, size, mark)
}

// MapKept records where the pages are mapped.
func (v *Memory) MapKept(addr device.Addr, pages []device.Page, mark uint32) error {
	const op = "host.map_kept"
	if err := v.usable(op); err != nil {
		return err
	}
	if mark == 0 {
		return v.errorf(device.CodeInvalidArgument, op, "mark 0: another value is required")
	}
	_, err := v.mapPages(op, addr, pages, mark)
	return v.about(err)
}

// Resident queries the file of movable pages, and the page tables of private pages.
func (v *Memory) Resident(addr device.Addr, size uint64) (uint64, error) {
	const op = "host.resident"
	m, err := v.supported(op)
	if err != nil {
		return 0, err
	}
	if err := v.gate.Check(op); err != nil {
		return 0, err
	}
	if err := v.checkRange(op, addr, size); err != nil {
		return 0, err
	}
	pieces, err := v.pieces(op, uint64(addr), size)
	if err != nil {
		return 0, v.about(err)
	}
	var sum uint64
	for _, p := range pieces {
		var found uint64
		if !p.private() {
			found, err = m.FileResident(p.file, p.size)
		} else {
			found, err = m.PrivateResident(p.address, p.size)
		}
		if err != nil {
			return 0, v.systemError(op, device.CodeDevice, v.refused(err), fmt.Sprintf("address %#x, size %d", p.address, p.size))
		}
		sum += found
	}
	return sum, nil
}
