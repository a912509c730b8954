package virtual

import (
	"sync/atomic"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/mapping"
)

// chunkSlots is how many slots of a table come into being at a time.
const chunkSlots = 512

// pageSlot is what is known of one place for a page in a reservation.
type pageSlot struct {
	page device.Page
	// uses counts the queued operations that touch the page.
	uses   uint32
	access uint8
	// counted is the access that mappings are counted with: a changing page's
	// future one.
	counted uint8
	// changing says that a call is changing the place with no lock held.
	changing bool
}

// slotTable has the places for pages of one size. Its chunks stay until the
// reservation goes: 16 bytes for each page of address space that was ever used.
type slotTable struct {
	pageBytes uint64
	chunks    []*[chunkSlots]pageSlot
	mapped    int
}

// at is the slot of a place, or nil where there never was a page.
func (t *slotTable) at(index uint64) *pageSlot {
	if index/chunkSlots >= uint64(len(t.chunks)) {
		return nil
	}
	if chunk := t.chunks[index/chunkSlots]; chunk != nil {
		return &chunk[index%chunkSlots]
	}
	return nil
}

// ensure is at, making the chunk.
func (t *slotTable) ensure(index uint64) *pageSlot {
	chunk := &t.chunks[index/chunkSlots]
	if *chunk == nil {
		*chunk = new([chunkSlots]pageSlot)
	}
	return &(*chunk)[index%chunkSlots]
}

// reservation is address space of one Reserve. virtualMemory.mu guards all of it
// that changes, but primed.
type reservation struct {
	// mapping is how it lies in the address space.
	mapping mapping.Range
	// tables has one for each size of pages that was ever mapped here. A page
	// lies at a multiple of its size, so each table is indexed by the offset.
	tables []*slotTable
	// mapped counts pages; changing ones count.
	mapped int
	// primed says that the address space was prepared for private pages.
	primed atomic.Bool
}

func (r *reservation) base() uint64 { return r.mapping.Base }
func (r *reservation) size() uint64 { return r.mapping.Size }

func (r *reservation) table(pageBytes uint64) *slotTable {
	for _, t := range r.tables {
		if t.pageBytes == pageBytes {
			return t
		}
	}
	places := (r.size()-1)/pageBytes + 1
	made := &slotTable{pageBytes: pageBytes, chunks: make([]*[chunkSlots]pageSlot, (places-1)/chunkSlots+1)}
	r.tables = append(r.tables, made)
	return made
}

// place is a mapped page as a walk over a range finds it.
type place struct {
	*pageSlot
	address, pageBytes uint64
}

// find is the table and place of the page that an offset lies in, or nil.
func (r *reservation) find(offset uint64) (*slotTable, uint64) {
	for _, t := range r.tables {
		index := offset / t.pageBytes
		if s := t.at(index); s != nil && s.page != 0 {
			return t, index
		}
	}
	return nil, 0
}

// stretch is mapped pages that follow each other in one chunk of a table.
type stretch struct {
	slots              []pageSlot
	address, pageBytes uint64
}

func (s *stretch) end() uint64 { return s.address + uint64(len(s.slots))*s.pageBytes }

// stretches visits the pages under a range, in order, as many at a time as lie
// together, while visit says true. It is false when that ended early or a part of
// the range is not mapped.
func (r *reservation) stretches(address, size uint64, visit func(s stretch) bool) bool {
	for at, end := address-r.base(), address-r.base()+size; at < end; {
		t, index := r.find(at)
		if t == nil {
			return false
		}
		slots := t.chunks[index/chunkSlots][index%chunkSlots:]
		if most := (end-1)/t.pageBytes - index + 1; most < uint64(len(slots)) {
			slots = slots[:most]
		}
		n := 1
		for n < len(slots) && slots[n].page != 0 {
			n++
		}
		if !visit(stretch{slots: slots[:n], address: r.base() + index*t.pageBytes, pageBytes: t.pageBytes}) {
			return false
		}
		at = (index + uint64(n)) * t.pageBytes
	}
	return true
}

// each visits the pages under a range one by one, as stretches does.
func (r *reservation) each(address, size uint64, visit func(p place) bool) bool {
	return r.stretches(address, size, func(s stretch) bool {
		for i := range s.slots {
			if !visit(place{pageSlot: &s.slots[i], address: s.address + uint64(i)*s.pageBytes, pageBytes: s.pageBytes}) {
				return false
			}
		}
		return true
	})
}

// covered says whether a range is mapped throughout.
func (r *reservation) covered(address, size uint64) bool {
	return r.stretches(address, size, func(stretch) bool { return true })
}

// occupied is the address of a page that lies somewhere in a range.
func (r *reservation) occupied(address, size uint64) (uint64, bool) {
	for _, t := range r.tables {
		if t.mapped == 0 {
			continue
		}
		first, last := (address-r.base())/t.pageBytes, (address+size-1-r.base())/t.pageBytes
		for index := first; index <= last; index++ {
			s := t.at(index)
			if s == nil {
				index |= chunkSlots - 1
				continue
			}
			if s.page != 0 {
				return r.base() + index*t.pageBytes, true
			}
		}
	}
	return 0, false
}
