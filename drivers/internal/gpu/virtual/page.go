package virtual

import (
	"slices"

	"ferrum_mem/core/device"
)

// State is the work of a call on a page.
type State uint8

const (
	// There: no call works on the page.
	There State = iota
	// Changing: a call changes the access to the page. Work may still use the page.
	Changing
	// Leaving: a call maps, unmaps, zeroes or releases the page, or removes access. Work
	// must not use it.
	Leaving
)

// Page is physical memory.
type Page struct {
	// Number is set by Add, and is 0 before.
	Number device.Page
	// Handle is the handle of the runtime.
	Handle  uint64
	Bytes   uint64
	Backing device.Backing
	// Imported: another page, perhaps of another process, was created with the memory.
	Imported bool
	// Unfilled states that the owner does not read contents that it did not write since
	// the page was mapped.
	Unfilled bool
	// At is the address where the page is mapped, if it is mapped. Access is the access to
	// it.
	At     uint64
	Access device.Access

	state State
	// in is the reservation where the page is mapped, or nil.
	in *Reservation
}

// Reservation is address space. The runtime reserved TakenBytes at Taken. This is more than
// Size if the runtime did not provide the alignment itself.
type Reservation struct {
	Base, Size        uint64
	Taken, TakenBytes uint64

	// mapped are sorted by address.
	mapped []*Page
}

// first returns the index of the first page that ends behind an address.
func (r *Reservation) first(addr uint64) int {
	at, _ := slices.BinarySearchFunc(r.mapped, addr, func(p *Page, addr uint64) int {
		if p.At+p.Bytes <= addr {
			return -1
		}
		return 1
	})
	return at
}

// under returns the pages of a range, and whether they cover it without a gap.
func (r *Reservation) under(addr, size uint64) (pages []*Page, covered bool) {
	from := r.first(addr)
	next := addr
	to := from
	for to < len(r.mapped) && r.mapped[to].At < addr+size {
		p := r.mapped[to]
		if p.At > next {
			return r.mapped[from : to+1], false
		}
		next = p.At + p.Bytes
		to++
	}
	return r.mapped[from:to], next >= addr+size
}
