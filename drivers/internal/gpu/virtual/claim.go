package virtual

import (
	"slices"

	"ferrum_mem/core/device"
)

// Add gives numbers to created pages and records them.
func (b *Book) Add(pages ...*Page) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range pages {
		b.last++
		p.Number = b.last
		b.pages[p.Number] = p
	}
}

// Find returns a page that exists.
func (b *Book) Find(op string, number device.Page) (*Page, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	pages, err := b.listed(op, []device.Page{number})
	if err != nil {
		return nil, err
	}
	return pages[0], nil
}

// listed returns the pages of a list. Each must exist and be named once. The caller holds
// mu.
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
				"page %d at place %d of the list: does not exist, or is listed twice", number, i)
		}
		seen[number], pages[i] = true, p
	}
	return pages, nil
}

func (b *Book) isClaimed(op string, p *Page) error {
	return b.errorf(device.CodeBusy, op, "page %d: another call is changing it", p.Number)
}

// checkIdle returns an error if a page is mapped or claimed. The caller holds mu.
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

// ClaimIdle claims the pages of a list. None of them may be mapped.
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

// ClaimRoom claims idle pages and records them at the addresses where the caller will map
// them.
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

// room returns the reservation in which pages can be mapped at an address. The caller holds
// mu.
func (b *Book) room(op string, addr uint64, pages []*Page) (*Reservation, error) {
	bytes := pages[0].Bytes
	for _, p := range pages {
		if p.Bytes != bytes {
			return nil, b.errorf(device.CodeInvalidPageSize, op,
				"page %d has %v and page %d has %v: want all of one size", pages[0].Number, device.Size(bytes), p.Number, device.Size(p.Bytes))
		}
	}
	if addr%b.granularity != 0 {
		return nil, b.errorf(device.CodeInvalidOffset, op, "address %#x: want a multiple of %d", addr, b.granularity)
	}
	// Pages are existing memory, so the sum of their sizes fits in 64 bits.
	size := bytes * uint64(len(pages))
	r := b.holding(addr, size)
	if r == nil {
		return nil, b.errorf(device.CodeInvalidAddress, op, "address %#x, size %d: is not within one reservation", addr, size)
	}
	if (addr-r.Base)%bytes != 0 {
		return nil, b.errorf(device.CodeInvalidOffset, op,
			"address %#x: its offset %d in the reservation is not a multiple of the page size %d", addr, addr-r.Base, bytes)
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

// ClaimMapped claims the pages of a range, which must be whole pages. as returns the state
// of each page during the claim, which must not be There.
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
	// The list of the reservation may change while the caller works.
	return slices.Clone(pages), nil
}

// Settle ends a claim that changed nothing, or keeps what ClaimRoom recorded.
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

// Unmap ends a claim of adjacent pages that were unmapped or could not be mapped.
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

// Forget ends a claim of idle pages that do not exist any more.
func (b *Book) Forget(pages []*Page) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range pages {
		delete(b.pages, p.Number)
	}
}
