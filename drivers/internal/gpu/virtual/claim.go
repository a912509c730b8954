package virtual

import (
	"slices"

	"ferrum_mem/core/device"
)

// Add numbers pages that were made.
func (b *Book) Add(pages ...*Page) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range pages {
		b.last++
		p.Number = b.last
		b.pages[p.Number] = p
	}
}

// Find is a page that is there.
func (b *Book) Find(op string, number device.Page) (*Page, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	pages, err := b.listed(op, []device.Page{number})
	if err != nil {
		return nil, err
	}
	return pages[0], nil
}

// listed are the pages of a list, each there and named once. The caller holds mu.
func (b *Book) listed(op string, list []device.Page) ([]*Page, error) {
	if len(list) == 0 {
		return nil, b.errorf(device.CodeInvalidSize, op, "the list of pages is empty")
	}
	seen := make(map[device.Page]bool, len(list))
	pages := make([]*Page, len(list))
	for i, number := range list {
		p := b.pages[number]
		if p == nil || seen[number] {
			return nil, b.errorf(device.CodeInvalidHandle, op,
				"page %d at place %d of the list: is not there, or is named twice", number, i)
		}
		seen[number], pages[i] = true, p
	}
	return pages, nil
}

func (b *Book) isClaimed(op string, p *Page) error {
	return b.errorf(device.CodeBusy, op, "page %d: another call works on it", p.Number)
}

// checkIdle refuses pages that are mapped or claimed. The caller holds mu.
func (b *Book) checkIdle(op string, pages []*Page) error {
	for _, p := range pages {
		if p.state != There {
			return b.isClaimed(op, p)
		}
		if p.in != nil {
			return b.errorf(device.CodeBusy, op, "page %d is mapped at %#x", p.Number, p.At)
		}
	}
	return nil
}

// ClaimIdle claims the pages of a list, of which none is mapped.
func (b *Book) ClaimIdle(op string, list []device.Page) ([]*Page, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	pages, err := b.listed(op, list)
	if err != nil {
		return nil, err
	}
	if err := b.checkIdle(op, pages); err != nil {
		return nil, err
	}
	for _, p := range pages {
		p.state = Leaving
	}
	return pages, nil
}

// ClaimRoom claims idle pages, and puts them into the book where they are about to be
// mapped.
func (b *Book) ClaimRoom(op string, addr uint64, list []device.Page) ([]*Page, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	pages, err := b.listed(op, list)
	if err != nil {
		return nil, err
	}
	r, err := b.room(op, addr, pages)
	if err != nil {
		return nil, err
	}
	r.mapped = slices.Insert(r.mapped, r.first(addr), pages...)
	for _, p := range pages {
		p.state, p.in, p.At, p.Access = Leaving, r, addr, device.AccessNone
		addr += p.Bytes
	}
	return pages, nil
}

// room is the reservation in which pages can be mapped at an address. The caller holds mu.
func (b *Book) room(op string, addr uint64, pages []*Page) (*Reservation, error) {
	bytes := pages[0].Bytes
	for _, p := range pages {
		if p.Bytes != bytes {
			return nil, b.errorf(device.CodeInvalidPageSize, op,
				"page %d has %d bytes and page %d has %d: want all of one size", pages[0].Number, bytes, p.Number, p.Bytes)
		}
	}
	if addr%b.granularity != 0 {
		return nil, b.errorf(device.CodeInvalidOffset, op, "address %#x: want a multiple of %d", addr, b.granularity)
	}
	// Pages are memory that is there: their sum fits 64 bits.
	size := bytes * uint64(len(pages))
	r := b.holding(addr, size)
	if r == nil {
		return nil, b.errorf(device.CodeInvalidAddress, op, "address %#x, size %d: lies in no one reservation", addr, size)
	}
	if (addr-r.Base)%bytes != 0 {
		return nil, b.errorf(device.CodeInvalidOffset, op,
			"address %#x: its offset %d in the reservation is no multiple of the page size %d", addr, addr-r.Base, bytes)
	}
	if under, _ := r.under(addr, size); len(under) > 0 && under[0].At < addr+size {
		if under[0].state == Leaving {
			return nil, b.isClaimed(op, under[0])
		}
		return nil, b.errorf(device.CodeAlreadyMapped, op, "address %#x, size %d: page %d is mapped at %#x",
			addr, size, under[0].Number, under[0].At)
	}
	return r, b.checkIdle(op, pages)
}

// ClaimMapped claims the pages that a range is made up of; as says how each is left
// meanwhile, There not being one of the answers.
func (b *Book) ClaimMapped(op string, addr, size uint64, as func(*Page) State) ([]*Page, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	pages, err := b.whole(op, addr, size, true)
	if err != nil {
		return nil, err
	}
	for _, p := range pages {
		if p.state != There {
			return nil, b.isClaimed(op, p)
		}
	}
	for _, p := range pages {
		p.state = as(p)
	}
	// The reservation's list may change while the caller is at work.
	return slices.Clone(pages), nil
}

// Settle ends a claim that changed nothing, or what ClaimRoom has written.
func (b *Book) Settle(pages []*Page) {
	b.mu.Lock()
	defer b.mu.Unlock()
	settle(pages)
}

func settle(pages []*Page) {
	for _, p := range pages {
		p.state = There
	}
}

// SetAccess ends a claim of mapped pages that have a new access.
func (b *Book) SetAccess(pages []*Page, access device.Access) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range pages {
		p.Access = access
	}
	settle(pages)
}

// Unmap ends a claim of pages that follow one another and are mapped no more, or that
// could not be.
func (b *Book) Unmap(pages []*Page) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := pages[0].in
	first := r.first(pages[0].At)
	r.mapped = slices.Delete(r.mapped, first, first+len(pages))
	for _, p := range pages {
		p.in, p.At, p.Access = nil, 0, device.AccessNone
	}
	settle(pages)
}

// Forget ends a claim of idle pages, of which the first ones, so many, are gone.
func (b *Book) Forget(pages []*Page, gone int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range pages[:gone] {
		delete(b.pages, p.Number)
	}
	settle(pages)
}
