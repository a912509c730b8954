package virtualtest

import (
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

// The program's bounds allow several pages and adjacent reservations.
const (
	maxReserveGranules = 24
	maxReservations    = 4
	maxPages           = 24
	maxListed          = 4
)

// subject is a device with the capabilities that the suite needs.
type subject struct {
	device.Device
	device.VirtualMemory
	visible device.HostVisible
	// eager: pages have memory from their creation on.
	eager bool
	// shared: other processes use the device as well.
	shared bool
}

// program runs calls on a device and on its model.
type program struct {
	t     *rapid.T
	dev   subject
	model model
}

// expect compares a call's error with the model's code, and reports whether the call
// succeeded.
func (p *program) expect(code device.Code, err error, what string, args ...any) bool {
	require.Equal(p.t, code, device.CodeOf(err), append([]any{what + ": %v", err}, args...)...)
	return err == nil
}

// around draws an address in or near the reservations.
func (p *program) around(unit uint64) device.Addr {
	if len(p.model.reservations) == 0 {
		return device.Addr(p.model.granule)
	}
	r := rapid.SampledFrom(p.model.reservations).Draw(p.t, "reservation")
	steps := int64(r.size / unit)
	addr := r.addr + device.Addr(rapid.Int64Range(-1, steps).Draw(p.t, "at")*int64(unit))
	if rapid.IntRange(0, 30).Draw(p.t, "crooked") == 0 {
		addr++
	}
	return addr
}

// spread draws a range for SetAccess, Unmap and Resident: usually whole mapped pages,
// sometimes any granules.
func (p *program) spread() (device.Addr, uint64) {
	g := p.model.granule
	mapped := slices.DeleteFunc(slices.Clone(p.model.pages), func(x *page) bool { return !x.mapped })
	if len(mapped) == 0 || rapid.IntRange(0, 4).Draw(p.t, "anywhere") == 0 {
		return p.around(g), uint64(rapid.IntRange(0, 6).Draw(p.t, "granules")) * g
	}
	x := rapid.SampledFrom(mapped).Draw(p.t, "from page")
	addr, size := x.addr, uint64(0)
	for range rapid.IntRange(1, maxListed).Draw(p.t, "pages") {
		next := p.model.at[addr+device.Addr(size)]
		if next == nil {
			break
		}
		size += next.bytes
	}
	if rapid.IntRange(0, 30).Draw(p.t, "crooked") == 0 {
		size++
	}
	return addr, size
}

func (p *program) list() []device.Page {
	var list []device.Page
	for range rapid.IntRange(0, maxListed).Draw(p.t, "listed") {
		if len(p.model.pages) == 0 || rapid.IntRange(0, 30).Draw(p.t, "bogus") == 0 {
			list = append(list, device.Page(rapid.Uint64().Draw(p.t, "page")))
			continue
		}
		list = append(list, rapid.SampledFrom(p.model.pages).Draw(p.t, "page").number)
	}
	if len(list) > 1 && rapid.IntRange(0, 2).Draw(p.t, "sift") > 0 {
		// Random lists too often name a page twice, or pages of several sizes.
		first := p.model.find(list[0])
		kept := list[:1]
		for _, number := range list[1:] {
			x := p.model.find(number)
			if first != nil && x != nil && x.bytes == first.bytes && !slices.Contains(kept, number) {
				kept = append(kept, number)
			}
		}
		list = kept
	}
	return list
}

func (p *program) reserve(*rapid.T) {
	g := p.model.granule
	size := uint64(rapid.IntRange(0, maxReserveGranules).Draw(p.t, "granules")) * g
	align := g << rapid.IntRange(0, 3).Draw(p.t, "align")
	switch rapid.IntRange(0, 20).Draw(p.t, "wrong") {
	case 0:
		align = rapid.SampledFrom([]uint64{0, 1, g / 2, g + 1, 3 * g}).Draw(p.t, "wrong align")
	case 1:
		size++
	}
	if len(p.model.reservations) >= maxReservations {
		return
	}
	addr, err := p.dev.Reserve(size, align)
	if !p.expect(p.model.reserveCode(size, align), err, "Reserve %d, %d", size, align) {
		require.Zero(p.t, addr)
		return
	}
	require.Zero(p.t, uint64(addr)%align)
	for _, r := range p.model.reservations {
		require.False(p.t, addr < r.addr+device.Addr(r.size) && r.addr < addr+device.Addr(size), "two reservations overlap")
	}
	p.model.reservations = append(p.model.reservations, reservation{addr: addr, size: size})
}

func (p *program) unreserve(*rapid.T) {
	r := reservation{addr: p.around(p.model.granule), size: p.model.granule}
	if n := len(p.model.reservations); n > 0 && rapid.Bool().Draw(p.t, "right") {
		r = p.model.reservations[rapid.IntRange(0, n-1).Draw(p.t, "reservation")]
	}
	err := p.dev.Unreserve(r.addr, r.size)
	if p.expect(p.model.unreserveCode(r.addr, r.size), err, "Unreserve %#x, %d", r.addr, r.size) {
		p.model.reservations = slices.DeleteFunc(p.model.reservations, func(x reservation) bool { return x == r })
	}
}

func (p *program) create(*rapid.T) {
	pages := make([]device.Page, rapid.IntRange(0, maxListed).Draw(p.t, "count"))
	bytes := p.model.granule << rapid.IntRange(0, 2).Draw(p.t, "size")
	backing := device.Backing(rapid.IntRange(0, 3).Draw(p.t, "backing"))
	switch rapid.IntRange(0, 20).Draw(p.t, "wrong") {
	case 0:
		bytes = rapid.SampledFrom([]uint64{0, 1, p.model.granule / 2, 3 * p.model.granule}).Draw(p.t, "wrong size")
	case 1:
		backing = device.Backing(rapid.SampledFrom([]int{-1, 5}).Draw(p.t, "wrong backing"))
	}
	if len(p.model.pages)+len(pages) > maxPages {
		return
	}
	err := p.dev.Create(pages, bytes, backing)
	if !p.expect(p.model.createCode(len(pages), bytes, backing), err, "Create %d of %d, %d", len(pages), bytes, backing) {
		require.Equal(p.t, make([]device.Page, len(pages)), pages, "the list is as it was")
		return
	}
	for _, number := range pages {
		require.NotZero(p.t, number)
		require.Nil(p.t, p.model.find(number), "a number that is in use")
		p.model.pages = append(p.model.pages, &page{
			number: number, bytes: bytes, backing: backing, cells: make([]byte, bytes/p.model.cellBytes()),
		})
	}
}

func (p *program) release(*rapid.T) {
	list := p.list()
	if p.expect(p.model.idleCode(list), p.dev.Release(list), "Release %v", list) {
		p.model.pages = slices.DeleteFunc(p.model.pages, func(x *page) bool { return slices.Contains(list, x.number) })
	}
}

func (p *program) zero(*rapid.T) {
	list := p.list()
	if p.expect(p.model.idleCode(list), p.dev.Zero(list), "Zero %v", list) {
		for _, number := range list {
			clear(p.model.find(number).cells)
		}
	}
}

func (p *program) mapPages(*rapid.T) {
	list, addr := p.list(), p.around(p.model.granule)
	if p.expect(p.model.mapCode(addr, list), p.dev.Map(addr, list), "Map %#x, %v", addr, list) {
		p.model.mapPages(addr, list)
	}
}

func (p *program) setAccess(*rapid.T) {
	addr, size := p.spread()
	// Usually an access that lets work run.
	access := rapid.SampledFrom([]device.Access{
		device.AccessReadWrite, device.AccessReadWrite, device.AccessRead, device.AccessNone,
	}).Draw(p.t, "access")
	code := p.model.rangeCode(addr, size, true)
	if rapid.IntRange(0, 30).Draw(p.t, "wrong") == 0 {
		access, code = 3, device.CodeInvalidArgument
	}
	if p.expect(code, p.dev.SetAccess(addr, size, access), "SetAccess %#x, %d, %d", addr, size, access) {
		found, _ := p.model.under(addr, size)
		for _, x := range found {
			x.access = access
		}
	}
}

func (p *program) unmap(*rapid.T) {
	addr, size := p.spread()
	if p.expect(p.model.rangeCode(addr, size, true), p.dev.Unmap(addr, size), "Unmap %#x, %d", addr, size) {
		p.model.unmap(addr, size)
	}
}

func (p *program) resident(*rapid.T) {
	addr, size := p.spread()
	got, err := p.dev.Resident(addr, size)
	if !p.expect(p.model.rangeCode(addr, size, false), err, "Resident %#x, %d", addr, size) {
		return
	}
	if p.dev.eager {
		require.Equal(p.t, size, got)
		return
	}
	var least, most uint64
	for at := uint64(0); at < size; at += p.model.cellBytes() {
		if *p.model.cell(addr + device.Addr(at)) != 0 {
			least += p.model.cellBytes()
		}
		if p.model.at[(addr+device.Addr(at))/device.Addr(p.model.granule)*device.Addr(p.model.granule)].touched {
			most += p.model.cellBytes()
		}
	}
	require.GreaterOrEqual(p.t, got, least, "what was written has memory")
	require.LessOrEqual(p.t, got, most, "what was never touched has none")
}
