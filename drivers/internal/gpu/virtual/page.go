package virtual

import (
	"slices"

	"ferrum_mem/core/device"
)

// State is what becomes of a page.
type State uint8

const (
	// There: no call works on it.
	There State = iota
	// Changing: a call changes its access, and work may use it as before.
	Changing
	// Leaving: a call maps, unmaps, zeroes or releases it, or takes access away;
	// work may not use it.
	Leaving
)

// Page is physical memory.
type Page struct {
	// Number is set by Enter, and 0 before.
	Number device.Page
	// Handle is the runtime's.
	Handle  uint64
	Bytes   uint64
	Backing device.Backing
	// Imported says that another process made it, so that it cannot be made again.
	Imported bool
	// At is where it is mapped, if it is, and Access what may be done there.
	At     uint64
	Access device.Access

	state State
	// in is where it is mapped, or nil.
	in *Reservation
}

// Reservation is address space. The runtime was asked for it as Taken of TakenBytes,
// which is more where it did not give the alignment by itself.
type Reservation struct {
	Base, Size        uint64
	Taken, TakenBytes uint64

	// mapped are sorted by address.
	mapped []*Page
}

// first is the place in the list of the first page that ends behind an address.
func (r *Reservation) first(addr uint64) int {
	at, _ := slices.BinarySearchFunc(r.mapped, addr, func(p *Page, addr uint64) int {
		if p.At+p.Bytes <= addr {
			return -1
		}
		return 1
	})
	return at
}

// under are the pages behind a range, and whether they leave no gap.
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
