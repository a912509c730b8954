package devicetest

import "ferrum_mem/core/device"

// keeper implements device.ContentKeeper for a device.
type keeper struct{ dev *Device }

// KeepsContents reports the value of the config for private pages.
func (k keeper) KeepsContents(backing device.Backing) bool {
	return k.dev.driver.config.KeepsContents && backing == device.BackingPrivate
}

// UnmapKeeping moves the contents of the pages to their places.
func (k keeper) UnmapKeeping(addr device.Addr, size uint64, mark uint32) error {
	d := k.dev
	err := d.enterVirtual(UnmapKeeping)
	defer d.driver.mu.Unlock()
	if err != nil {
		return err
	}
	r, found, err := d.mappedRange(UnmapKeeping, addr, size, true)
	switch {
	case err != nil:
		return err
	case mark == 0:
		return d.refuse(UnmapKeeping, device.CodeInvalidArgument, "mark 0")
	case d.inUse(addr, size):
		return d.refuse(UnmapKeeping, device.CodeBusy, "%v at %#x are used by queued work", device.Size(size), uint64(addr))
	}
	for _, part := range found {
		if !k.KeepsContents(part.page.backing) {
			return d.refuse(UnmapKeeping, device.CodeUnsupported, "%v at %#x: a page is not private", device.Size(size), uint64(addr))
		}
	}
	for _, part := range found {
		p := part.page
		r.kept[p.offset] = keptContents{mark: mark, size: p.size, bytes: p.bytes, touched: p.touched, garbage: p.garbage}
		delete(r.mapped, p.offset)
		p.in, p.bytes = nil, nil
		p.loseIfPrivate()
	}
	return nil
}

// MapKept maps the pages and gives them what is kept.
func (k keeper) MapKept(addr device.Addr, numbers []device.Page, mark uint32) error {
	d := k.dev
	err := d.enterVirtual(MapKept)
	defer d.driver.mu.Unlock()
	if err != nil {
		return err
	}
	if mark == 0 {
		return d.refuse(MapKept, device.CodeInvalidArgument, "mark 0")
	}
	found, err := d.find(MapKept, numbers)
	if err != nil {
		return err
	}
	size := found[0].size * uint64(len(found))
	if r := d.reservationOf(addr, size); r != nil {
		for i, p := range found {
			if !k.KeepsContents(p.backing) {
				return d.refuse(MapKept, device.CodeUnsupported, "page %d is not private", numbers[i])
			}
			if there, is := r.kept[uint64(addr-r.base)+uint64(i)*p.size]; !is || there.mark != mark || there.size != p.size {
				return d.refuse(MapKept, device.CodeNotFound, "%v at %#x: nothing is kept under the mark %d", device.Size(size), uint64(addr), mark)
			}
		}
	}
	r, found, err := d.mapped(MapKept, addr, numbers)
	if err != nil {
		return err
	}
	for _, p := range found {
		there := r.kept[p.offset]
		p.bytes, p.touched, p.garbage = there.bytes, there.touched, there.garbage
		delete(r.kept, p.offset)
	}
	return nil
}

// DropKept drops what is kept under the mark.
func (k keeper) DropKept(addr device.Addr, size uint64, mark uint32) error {
	d := k.dev
	err := d.enterVirtual(DropKept)
	defer d.driver.mu.Unlock()
	if err != nil {
		return err
	}
	if mark == 0 {
		return d.refuse(DropKept, device.CodeInvalidArgument, "mark 0")
	}
	if err := d.checkSize(DropKept, size); err != nil {
		return err
	}
	r := d.reservationOf(addr, size)
	if r == nil {
		return d.refuse(DropKept, device.CodeInvalidAddress, "%v at %#x lie in no reservation", device.Size(size), uint64(addr))
	}
	r.drop(uint64(addr-r.base), size, mark)
	return nil
}

// drop drops what is kept in a range under a mark; 0: under any.
func (r *reservation) drop(offset, size uint64, mark uint32) {
	for at, k := range r.kept {
		if at < offset+size && offset < at+k.size && (mark == 0 || k.mark == mark) {
			delete(r.kept, at)
		}
	}
}

// KeptBytes returns the sum of the contents that are kept without pages.
func (d *Device) KeptBytes() (sum uint64) {
	d.driver.mu.Lock()
	defer d.driver.mu.Unlock()
	for _, r := range d.virtual.reservations {
		for _, k := range r.kept {
			sum += k.size
		}
	}
	return sum
}
