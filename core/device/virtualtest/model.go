package virtualtest

import (
	"slices"

	"ferrum_mem/core/device"
)

// cellsOfGranule is the number of pieces of the least granularity that have their own
// value.
const cellsOfGranule = 4

// page is a physical page of the model.
type page struct {
	number  device.Page
	bytes   uint64
	backing device.Backing
	// cells has the byte that fills each piece.
	cells  []byte
	mapped bool
	addr   device.Addr
	access device.Access
	// touched is true from the first write or read on.
	touched bool
}

type reservation struct {
	addr device.Addr
	size uint64
}

// model is the expected state of a device, by the rules of the interface.
type model struct {
	granule uint64
	// exports, rdma and fabric state whether the device has shareable, RDMA and fabric
	// pages.
	exports, rdma, fabric bool
	reservations          []reservation
	pages                 []*page
	// at has the page of each granule of address space.
	at map[device.Addr]*page
}

func (m *model) cellBytes() uint64 { return m.granule / cellsOfGranule }

func (m *model) find(number device.Page) *page {
	i := slices.IndexFunc(m.pages, func(p *page) bool { return p.number == number })
	if i < 0 {
		return nil
	}
	return m.pages[i]
}

// within reports whether a range is in one reservation.
func (m *model) within(addr device.Addr, size uint64) bool {
	return slices.ContainsFunc(m.reservations, func(r reservation) bool {
		return addr >= r.addr && uint64(addr-r.addr) < r.size && size <= r.size-uint64(addr-r.addr)
	})
}

// under returns the pages under a range, each once, and whether they cover it.
func (m *model) under(addr device.Addr, size uint64) (found []*page, covered bool) {
	covered = true
	first := addr - addr%device.Addr(m.granule)
	for at := first; at < addr+device.Addr(size); at += device.Addr(m.granule) {
		p := m.at[at]
		covered = covered && p != nil
		if p != nil && !slices.Contains(found, p) {
			found = append(found, p)
		}
	}
	return found, covered
}

// cell returns the cell of an address that is mapped.
func (m *model) cell(addr device.Addr) *byte {
	p := m.at[addr-addr%device.Addr(m.granule)]
	return &p.cells[uint64(addr-p.addr)/m.cellBytes()]
}

func (m *model) sizeCode(size uint64) device.Code {
	if size == 0 || size%m.granule != 0 {
		return device.CodeInvalidSize
	}
	return device.CodeOK
}

func (m *model) reserveCode(size, align uint64) device.Code {
	if code := m.sizeCode(size); code != device.CodeOK {
		return code
	}
	if align == 0 || align&(align-1) != 0 || align < m.granule {
		return device.CodeInvalidAlignment
	}
	return device.CodeOK
}

func (m *model) unreserveCode(addr device.Addr, size uint64) device.Code {
	if !slices.Contains(m.reservations, reservation{addr: addr, size: size}) {
		return device.CodeInvalidAddress
	}
	if found, _ := m.under(addr, size); len(found) > 0 {
		return device.CodeBusy
	}
	return device.CodeOK
}

func (m *model) createCode(count int, pageBytes uint64, backing device.Backing) device.Code {
	switch {
	case count == 0:
		return device.CodeInvalidSize
	case pageBytes == 0 || pageBytes&(pageBytes-1) != 0 || pageBytes < m.granule:
		return device.CodeInvalidPageSize
	case backing < device.BackingMovable || backing > device.BackingFabric:
		return device.CodeInvalidArgument
	case backing == device.BackingRDMA && !m.rdma, backing == device.BackingFabric && !m.fabric:
		return device.CodeUnsupported
	case backing == device.BackingShareable && !m.exports:
		return device.CodeUnsupported
	}
	return device.CodeOK
}

// listCode returns the code for a list of pages that must exist and appear once.
func (m *model) listCode(list []device.Page) device.Code {
	if len(list) == 0 {
		return device.CodeInvalidSize
	}
	for i, number := range list {
		if m.find(number) == nil || slices.Contains(list[:i], number) {
			return device.CodeInvalidHandle
		}
	}
	return device.CodeOK
}

// idleCode is listCode for calls on pages that are not mapped.
func (m *model) idleCode(list []device.Page) device.Code {
	if code := m.listCode(list); code != device.CodeOK {
		return code
	}
	for _, number := range list {
		if m.find(number).mapped {
			return device.CodeBusy
		}
	}
	return device.CodeOK
}

func (m *model) mapCode(addr device.Addr, list []device.Page) device.Code {
	if code := m.listCode(list); code != device.CodeOK {
		return code
	}
	bytes := m.find(list[0]).bytes
	for _, number := range list {
		if m.find(number).bytes != bytes {
			return device.CodeInvalidPageSize
		}
	}
	size := bytes * uint64(len(list))
	switch {
	case uint64(addr)%m.granule != 0:
		return device.CodeInvalidOffset
	case !m.within(addr, size):
		return device.CodeInvalidAddress
	case m.offset(addr)%bytes != 0:
		return device.CodeInvalidOffset
	}
	if found, _ := m.under(addr, size); len(found) > 0 {
		return device.CodeAlreadyMapped
	}
	return m.idleCode(list)
}

// offset returns the offset of an address in its reservation.
func (m *model) offset(addr device.Addr) uint64 {
	i := slices.IndexFunc(m.reservations, func(r reservation) bool {
		return addr >= r.addr && uint64(addr-r.addr) < r.size
	})
	return uint64(addr - m.reservations[i].addr)
}

// rangeCode returns the code for a range that must be fully mapped. With whole it must
// also start and end between pages.
func (m *model) rangeCode(addr device.Addr, size uint64, whole bool) device.Code {
	if code := m.sizeCode(size); code != device.CodeOK {
		return code
	}
	if uint64(addr)%m.granule != 0 {
		return device.CodeInvalidOffset
	}
	if !m.within(addr, size) {
		return device.CodeInvalidAddress
	}
	found, covered := m.under(addr, size)
	if !covered {
		return device.CodeNotMapped
	}
	for _, p := range found {
		if whole && (p.addr < addr || p.addr+device.Addr(p.bytes) > addr+device.Addr(size)) {
			return device.CodeInvalidOffset
		}
	}
	return device.CodeOK
}

// useCode returns the code for work on a range.
func (m *model) useCode(addr device.Addr, size uint64, need device.Access) device.Code {
	if !m.within(addr, size) {
		return device.CodeInvalidAddress
	}
	found, covered := m.under(addr, size)
	if !covered {
		return device.CodeNotMapped
	}
	for _, p := range found {
		if p.access < need {
			return device.CodePermissionDenied
		}
	}
	return device.CodeOK
}

func (m *model) mapPages(addr device.Addr, list []device.Page) {
	for _, number := range list {
		p := m.find(number)
		p.mapped, p.addr, p.access = true, addr, device.AccessNone
		for at := uint64(0); at < p.bytes; at += m.granule {
			m.at[addr+device.Addr(at)] = p
		}
		addr += device.Addr(p.bytes)
	}
}

func (m *model) unmap(addr device.Addr, size uint64) {
	found, _ := m.under(addr, size)
	for _, p := range found {
		for at := uint64(0); at < p.bytes; at += m.granule {
			delete(m.at, p.addr+device.Addr(at))
		}
		p.mapped = false
		if p.backing == device.BackingPrivate {
			clear(p.cells)
		}
	}
}
