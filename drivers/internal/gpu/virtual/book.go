package virtual

import (
	"slices"
	"sync"

	"ferrum_mem/core/device"
)

// Errorf creates an error about the device.
type Errorf func(code device.Code, op, format string, args ...any) error

// Book records the virtual memory of one open device.
type Book struct {
	errorf Errorf
	// granularity is the unit of sizes and addresses. 0: not known yet.
	granularity uint64

	mu sync.RWMutex
	// reservations are sorted by base.
	reservations []*Reservation
	pages        map[device.Page]*Page
	last         device.Page
}

// New returns an empty book.
func New(errorf Errorf) *Book { return &Book{errorf: errorf, pages: make(map[device.Page]*Page)} }

// SetGranularity sets the unit of sizes and addresses, before the first call that needs it.
func (b *Book) SetGranularity(bytes uint64) { b.granularity = bytes }

// CheckSize returns an error for a size that is not a multiple of the granularity.
func (b *Book) CheckSize(op string, size uint64) error {
	if size == 0 || size%b.granularity != 0 {
		return b.errorf(device.CodeInvalidSize, op, "size %d: want a multiple of %d, not 0", size, b.granularity)
	}
	return nil
}

// place returns the index in the list of the reservation with that base, or the index where
// it would be inserted.
func (b *Book) place(base uint64) (int, bool) {
	return slices.BinarySearchFunc(b.reservations, base, func(r *Reservation, base uint64) int {
		switch {
		case r.Base < base:
			return -1
		case r.Base > base:
			return 1
		}
		return 0
	})
}

// Insert adds a reservation.
func (b *Book) Insert(r *Reservation) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at, _ := b.place(r.Base)
	b.reservations = slices.Insert(b.reservations, at, r)
}

// Take removes a reservation in which nothing is mapped. Insert undoes it.
func (b *Book) Take(op string, addr, size uint64) (*Reservation, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at, found := b.place(addr)
	if !found || b.reservations[at].Size != size {
		return nil, b.errorf(device.CodeInvalidAddress, op,
			"address %#x, size %d: no reservation has this address and size", addr, size)
	}
	r := b.reservations[at]
	if len(r.mapped) > 0 {
		return nil, b.errorf(device.CodeBusy, op,
			"address %#x, size %d: mapped there: %s", addr, size, device.Count(len(r.mapped), "page"))
	}
	b.reservations = slices.Delete(b.reservations, at, at+1)
	return r, nil
}

// holding returns the reservation that contains a range, or nil. The caller holds mu.
func (b *Book) holding(addr, size uint64) *Reservation {
	at, found := b.place(addr)
	if !found {
		at--
	}
	if at < 0 {
		return nil
	}
	r := b.reservations[at]
	offset := addr - r.Base
	if offset >= r.Size || size > r.Size-offset {
		return nil
	}
	return r
}

// Overlaps states whether a range overlaps a reservation.
func (b *Book) Overlaps(addr, size uint64) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return slices.ContainsFunc(b.reservations, func(r *Reservation) bool {
		return addr < r.Base+r.Size && r.Base < addr+size
	})
}

// Check returns an error for work on a range that is not completely mapped or lacks the
// access.
func (b *Book) Check(op, what string, addr, size uint64, need device.Access) error {
	b.mu.RLock()
	defer b.mu.RUnlock()
	r := b.holding(addr, size)
	if r == nil {
		return b.errorf(device.CodeInvalidAddress, op,
			"%s %#x, size %d: lies in no memory of this device", what, addr, size)
	}
	pages, covered := r.under(addr, size)
	if !covered {
		return b.errorf(device.CodeNotMapped, op, "%s %#x, size %d: is not mapped throughout", what, addr, size)
	}
	for _, p := range pages {
		if p.state == Leaving {
			return b.isClaimed(op, p)
		}
		if p.Access < need {
			return b.errorf(device.CodePermissionDenied, op,
				"%s %#x, size %d: the page at %#x has access %d, and %d is needed", what, addr, size, p.At, p.Access, need)
		}
	}
	return nil
}

// Covers returns an error for a range of whole granules that is not completely mapped.
func (b *Book) Covers(op string, addr, size uint64) error {
	b.mu.RLock()
	defer b.mu.RUnlock()
	_, err := b.whole(op, addr, size, false)
	return err
}

// whole returns the pages of a range. With ends, the range must also end at the end of a
// page. The caller holds mu.
func (b *Book) whole(op string, addr, size uint64, ends bool) ([]*Page, error) {
	if err := b.CheckSize(op, size); err != nil {
		return nil, err
	}
	if addr%b.granularity != 0 {
		return nil, b.errorf(device.CodeInvalidOffset, op, "address %#x: want a multiple of %d", addr, b.granularity)
	}
	r := b.holding(addr, size)
	if r == nil {
		return nil, b.errorf(device.CodeInvalidAddress, op, "address %#x, size %d: is not within one reservation", addr, size)
	}
	pages, covered := r.under(addr, size)
	if !covered {
		return nil, b.errorf(device.CodeNotMapped, op, "address %#x, size %d: is not mapped throughout", addr, size)
	}
	last := pages[len(pages)-1]
	if ends && (pages[0].At < addr || last.At+last.Bytes > addr+size) {
		return nil, b.errorf(device.CodeInvalidOffset, op, "address %#x, size %d: starts or ends inside a page", addr, size)
	}
	return pages, nil
}

// Run is adjacent mapped pages with the same access.
type Run struct {
	Addr, Size uint64
	Access     device.Access
}

// Runs returns the runs of all pages with any access, in all reservations.
func (b *Book) Runs() []Run {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var found []Run
	for _, r := range b.reservations {
		open := false
		for _, p := range r.mapped {
			if p.Access == device.AccessNone {
				open = false
				continue
			}
			if last := len(found) - 1; open && found[last].Access == p.Access && found[last].Addr+found[last].Size == p.At {
				found[last].Size += p.Bytes
			} else {
				found = append(found, Run{p.At, p.Bytes, p.Access})
			}
			open = true
		}
	}
	return found
}
