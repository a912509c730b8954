package devicetest

import (
	"math/bits"

	"ferrum_mem/core/device"
)

// The start of the address space of reservations, and its default size
// (Config.VirtualBytes). It does not overlap that of the segments.
const (
	firstReserved       = device.Addr(1) << 48
	defaultVirtualBytes = uint64(1) << 47
)

func newVirtual() virtual {
	return virtual{
		reservations: map[device.Addr]*reservation{}, next: firstReserved,
		pages: map[device.Page]*page{},
	}
}

// Reservations returns the number of reservations.
func (d *Device) Reservations() int {
	d.driver.mu.Lock()
	defer d.driver.mu.Unlock()
	return len(d.virtual.reservations)
}

// Pages returns the number of created pages.
func (d *Device) Pages() int {
	d.driver.mu.Lock()
	defer d.driver.mu.Unlock()
	return len(d.virtual.pages)
}

// MappedBytes returns the sum of the mapped pages.
func (d *Device) MappedBytes() uint64 {
	d.driver.mu.Lock()
	defer d.driver.mu.Unlock()
	var sum uint64
	for _, p := range d.virtual.pages {
		if p.in != nil {
			sum += p.size
		}
	}
	return sum
}

// PageBytes returns a copy of a page of a backed device, mapped or not; nil for a page
// that does not exist.
func (d *Device) PageBytes(number device.Page) []byte {
	d.driver.mu.Lock()
	defer d.driver.mu.Unlock()
	p := d.virtual.pages[number]
	if p == nil || !d.driver.config.Backed {
		return nil
	}
	return p.appendTo(make([]byte, 0, p.size), 0, p.size)
}

// enterVirtual is enter for the calls of device.VirtualMemory.
func (d *Device) enterVirtual(call Call) error {
	if err := d.enter(call); err != nil {
		return err
	}
	if !d.info.VirtualMemory {
		return d.refuse(call, device.CodeUnsupported, "the device has no virtual memory")
	}
	return nil
}

func (d *Device) refuse(call Call, code device.Code, format string, args ...any) error {
	return device.Errorf(code, "devicetest."+string(call), format, args...).On(d.info.ID)
}

// Granularity returns the values of the config.
func (d *Device) Granularity() device.Granularity {
	return device.Granularity{
		MinimumBytes: d.driver.config.PageMinimumBytes, RecommendedBytes: d.driver.config.PageRecommendedBytes,
		LargeBytes: d.driver.config.PageLargeBytes,
	}
}

func (d *Device) checkSize(call Call, size uint64) error {
	if least := d.driver.config.PageMinimumBytes; size == 0 || size%least != 0 {
		return d.refuse(call, device.CodeInvalidSize, "size %d is not a multiple of %d above 0", size, least)
	}
	return nil
}

// Reserve returns addresses that were never used before.
func (d *Device) Reserve(size, align uint64) (device.Addr, error) {
	err := d.enterVirtual(Reserve)
	defer d.driver.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if err := d.checkSize(Reserve, size); err != nil {
		return 0, err
	}
	least := d.driver.config.PageMinimumBytes
	if bits.OnesCount64(align) != 1 || align < least {
		return 0, d.refuse(Reserve, device.CodeInvalidAlignment,
			"align %d is not a power of two of at least %d", align, least)
	}
	v := &d.virtual
	base := uint64(v.next)
	if rest := base % align; rest != 0 {
		base += align - rest
	}
	// Addresses are never reused. The bound is on the reserved bytes, which is reached
	// first.
	_, carry := bits.Add64(base, size, 0)
	if base < uint64(v.next) || carry != 0 || align > d.driver.config.VirtualBytes || size > d.driver.config.VirtualBytes-v.reserved {
		return 0, d.refuse(Reserve, device.CodeOutOfVirtualMemory, "%v, align %d: %v of %v are reserved",
			device.Size(size), align, device.Size(v.reserved), device.Size(d.driver.config.VirtualBytes))
	}
	addr := device.Addr(base)
	v.next = addr + device.Addr(size)
	if gap := device.Addr(least); v.next+gap > v.next {
		v.next += gap
	}
	v.reserved += size
	v.reservations[addr] = &reservation{base: addr, size: size, mapped: map[uint64]*page{}, kept: map[uint64]keptContents{}}
	return addr, nil
}

// Unreserve releases exactly what one Reserve returned.
func (d *Device) Unreserve(addr device.Addr, size uint64) error {
	err := d.enterVirtual(Unreserve)
	defer d.driver.mu.Unlock()
	if err != nil {
		return err
	}
	known := d.virtual.reservations[addr]
	if known == nil || known.size != size {
		return d.refuse(Unreserve, device.CodeInvalidAddress, "address %#x with size %d is no reservation",
			uint64(addr), size)
	}
	if n := len(known.mapped); n > 0 {
		return d.refuse(Unreserve, device.CodeBusy, "address %#x: mapped there: %s", uint64(addr), device.Count(n, "page"))
	}
	delete(d.virtual.reservations, addr)
	d.virtual.reserved -= size
	return nil
}

// Create creates pages and counts them against the device's capacity.
func (d *Device) Create(pages []device.Page, pageBytes uint64, backing device.Backing) error {
	return d.createPages(pages, pageBytes, backing, false)
}

// CreateUnfilled creates pages that are full of Unfilled, so that an owner that reads what
// it did not write is found.
func (d *Device) CreateUnfilled(pages []device.Page, pageBytes uint64, backing device.Backing) error {
	return d.createPages(pages, pageBytes, backing, true)
}

func (d *Device) createPages(pages []device.Page, pageBytes uint64, backing device.Backing, unfilled bool) error {
	err := d.enterVirtual(Create)
	defer d.driver.mu.Unlock()
	if err != nil {
		return err
	}
	switch least := d.driver.config.PageMinimumBytes; {
	case len(pages) == 0:
		return d.refuse(Create, device.CodeInvalidSize, "the number of pages is 0")
	case bits.OnesCount64(pageBytes) != 1 || pageBytes < least:
		return d.refuse(Create, device.CodeInvalidPageSize,
			"page size %d is not a power of two of at least %d", pageBytes, least)
	case backing == device.BackingShareable:
		return d.refuse(Create, device.CodeUnsupported, "the device has no pages for other processes")
	case backing == device.BackingRDMA || backing == device.BackingFabric:
		return d.refuse(Create, device.CodeUnsupported, "the device has no pages for other cards or hosts")
	case backing != device.BackingMovable && backing != device.BackingPrivate:
		return d.refuse(Create, device.CodeInvalidArgument, "backing %d is not known", backing)
	}
	high, size := bits.Mul64(pageBytes, uint64(len(pages)))
	if high != 0 || !d.hasRoom(size) {
		return d.refuse(Create, device.CodeOutOfMemory, "%d pages of %v: %v are held, %v used by others, of %v",
			len(pages), device.Size(pageBytes), device.Size(d.held), device.Size(d.others), device.Size(d.info.TotalBytes))
	}
	v := &d.virtual
	for i := range pages {
		v.lastPage++
		pages[i] = v.lastPage
		v.pages[v.lastPage] = &page{size: pageBytes, backing: backing, unfilled: unfilled, garbage: unfilled}
	}
	v.count(pageBytes, len(pages))
	d.held += size
	return nil
}

// count changes the number of pages of a size.
func (v *virtual) count(pageBytes uint64, more int) {
	power := bits.TrailingZeros64(pageBytes)
	if v.sizes[power] += more; v.sizes[power] == 0 {
		v.sizesThere &^= pageBytes
	} else {
		v.sizesThere |= pageBytes
	}
}

// find returns the pages of a list of numbers, in which each must appear once.
func (d *Device) find(call Call, numbers []device.Page) ([]*page, error) {
	if len(numbers) == 0 {
		return nil, d.refuse(call, device.CodeInvalidSize, "no pages are named")
	}
	found := make([]*page, len(numbers))
	seen := make(map[device.Page]bool, len(numbers))
	for i, number := range numbers {
		p := d.virtual.pages[number]
		if p == nil || seen[number] {
			return nil, d.refuse(call, device.CodeInvalidHandle, "page %d, number %d of the list, is not there or named twice",
				number, i)
		}
		seen[number] = true
		found[i] = p
	}
	return found, nil
}

// findUnmapped is find for calls that reject mapped pages.
func (d *Device) findUnmapped(call Call, numbers []device.Page) ([]*page, error) {
	found, err := d.find(call, numbers)
	if err != nil {
		return nil, err
	}
	for i, p := range found {
		if p.in != nil {
			return nil, d.refuse(call, device.CodeBusy, "page %d is mapped at %#x", numbers[i],
				uint64(p.in.base)+p.offset)
		}
	}
	return found, nil
}

// Release releases pages that are not mapped.
func (d *Device) Release(numbers []device.Page) error {
	err := d.enterVirtual(Release)
	defer d.driver.mu.Unlock()
	if err != nil {
		return err
	}
	found, err := d.findUnmapped(Release, numbers)
	if err != nil {
		return err
	}
	v := &d.virtual
	for i, p := range found {
		delete(v.pages, numbers[i])
		d.held -= p.size
		v.count(p.size, -1)
	}
	return nil
}

// Zero makes pages as they were at creation.
func (d *Device) Zero(numbers []device.Page) error {
	err := d.enterVirtual(Zero)
	defer d.driver.mu.Unlock()
	if err != nil {
		return err
	}
	found, err := d.findUnmapped(Zero, numbers)
	for _, p := range found {
		p.forget()
		p.garbage = false
	}
	return err
}

func (p *page) forget() { p.touched, p.bytes, p.garbage = false, nil, p.unfilled }

// contents returns the bytes of a page to which nothing was written.
func (p *page) contents(size uint64) []byte {
	bytes := make([]byte, size)
	if p.garbage {
		for i := range bytes {
			bytes[i] = Unfilled
		}
	}
	return bytes
}

// loseIfPrivate loses the bytes of a private page, as its Unmap does.
func (p *page) loseIfPrivate() {
	if p.backing == device.BackingPrivate {
		p.forget()
	}
}

// appendTo appends a part of the page's bytes.
func (p *page) appendTo(out []byte, offset, size uint64) []byte {
	if p.bytes == nil {
		return append(out, p.contents(size)...)
	}
	return append(out, p.bytes[offset:][:size]...)
}

func (p *page) write(offset uint64, bytes []byte) {
	if p.bytes == nil {
		p.bytes = p.contents(p.size)
	}
	copy(p.bytes[offset:], bytes)
}
