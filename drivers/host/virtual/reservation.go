package virtual

import (
	"sync/atomic"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/mapping"
)

// chunkSlots is the number of slots that a table creates at a time.
const chunkSlots = 512

// pageSlot is the state of one place for a page in a reservation.
type pageSlot struct {
	page device.Page
	// uses counts the queued operations that use the page.
	uses   uint32
	access uint8
	// counted is the access with which the mappings are counted. For a changing page it is
	// the future access.
	counted uint8
	// changing states that a call is changing the place without a lock.
	changing bool
	// kept states that the place has no page and keeps contents. uses is then their mark.
	kept bool
}

// slotTable holds the slots for pages of one size. Its chunks stay until the reservation
// ends: 16 bytes for each page of address space that was ever used.
type slotTable struct {
	pageBytes uint64
	chunks    []*[chunkSlots]pageSlot
	mapped    int
	// kept counts the places that keep contents.
	kept int
}

// at returns the slot of a place, or nil if there never was a page.
func (t *slotTable) at(index uint64) *pageSlot {
	if index/chunkSlots >= uint64(len(t.chunks)) {
		return nil
	}
	if chunk := t.chunks[index/chunkSlots]; chunk != nil {
		return &chunk[index%chunkSlots]
	}
	return nil
}

// ensure is like at, and creates the chunk if it does not exist.
func (t *slotTable) ensure(index uint64) *pageSlot {
	chunk := &t.chunks[index/chunkSlots]
	if *chunk == nil {
		*chunk = new([chunkSlots]pageSlot)
	}
	return &(*chunk)[index%chunkSlots]
}

// reservation is the address space of one Reserve. Memory.mu guards every field that
// changes, except primed.
type reservation struct {
	// mapping is the mapping of the reservation in the address space.
	mapping mapping.Range
	// tables has one table for each page size that was ever mapped here. A page lies at a
	// multiple of its size, so each table is indexed by the offset.
	tables []*slotTable
	// mapped counts mapped pages, including changing ones.
	mapped int
	// dropping counts the calls that release kept contents now.
	dropping int
	// primed states that the address space was prepared for private pages.
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

// place is a mapped page, as the iteration over a range returns it.
type place struct {
	*pageSlot
	address, pageBytes uint64
}

// find returns the table and index of the page that contains an offset, or nil.
func (r *reservation) find(offset uint64) (*slotTable, uint64) {
	for _, t := range r.tables {
		index := offset / t.pageBytes
		if s := t.at(index); s != nil && s.page != 0 {
			return t, index
		}
	}
	return nil, 0
}

// pageSpan is mapped pages that are adjacent in one chunk of a table.
type pageSpan struct {
	slots              []pageSlot
	address, pageBytes uint64
}

func (s *pageSpan) end() uint64 { return s.address + uint64(len(s.slots))*s.pageBytes }

// eachSpan visits the pages of a range in order, as many at a time as are adjacent, while
// visit returns true. It returns false if visit returned false or a part of the range is
// not mapped.
func (r *reservation) eachSpan(address, size uint64, visit func(s pageSpan) bool) bool {
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
		if !visit(pageSpan{slots: slots[:n], address: r.base() + index*t.pageBytes, pageBytes: t.pageBytes}) {
			return false
		}
		at = (index + uint64(n)) * t.pageBytes
	}
	return true
}

// each visits the pages of a range one by one, with the result of eachSpan.
func (r *reservation) each(address, size uint64, visit func(p place) bool) bool {
	return r.eachSpan(address, size, func(s pageSpan) bool {
		for i := range s.slots {
			if !visit(place{pageSlot: &s.slots[i], address: s.address + uint64(i)*s.pageBytes, pageBytes: s.pageBytes}) {
				return false
			}
		}
		return true
	})
}

// covered states whether a whole range is mapped.
func (r *reservation) covered(address, size uint64) bool {
	return r.eachSpan(address, size, func(pageSpan) bool { return true })
}

// occupied returns the address of a page that lies in a range.
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

// eachKept visits the places in a range that keep contents.
func (r *reservation) eachKept(address, size uint64, visit func(t *slotTable, index uint64)) {
	for _, t := range r.tables {
		if t.kept == 0 {
			continue
		}
		first, last := (address-r.base())/t.pageBytes, (address+size-1-r.base())/t.pageBytes
		for index := first; index <= last; index++ {
			s := t.at(index)
			if s == nil {
				index |= chunkSlots - 1
			} else if s.kept {
				visit(t, index)
			}
		}
	}
}
