package virtual

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

const granule = 4

func newBook() *Book {
	b := New(func(code device.Code, op, format string, args ...any) error {
		return device.Errorf(code, op, format, args...)
	})
	b.SetGranularity(granule)
	return b
}

func requireCode(t require.TestingT, want device.Code, err error) {
	require.Error(t, err)
	require.Equal(t, want, device.CodeOf(err), err.Error())
}

// place is the record of one mapped granule of address space in the reference model: its
// page and the access to it.
type place struct {
	page   *modelPage
	access device.Access
}

type modelPage struct {
	number device.Page
	bytes  uint64
	at     uint64
	mapped bool
	state  State
}

// model is the reference model: it has a place for each mapped granule of a small address
// space.
type model struct {
	*rapid.T
	book         *Book
	reservations map[uint64]uint64
	space        map[uint64]*place
	pages        map[device.Page]*modelPage
	// claims are the calls that have begun and not ended.
	claims []*claim
}

type claim struct {
	pages  []*Page
	of     []*modelPage
	what   string
	access device.Access
}

func (m *model) drawPages() ([]device.Page, []*modelPage, bool) {
	var numbers []device.Page
	var of []*modelPage
	twice := false
	first := rapid.Uint64Range(1, 8).Draw(m.T, "page")
	for i := range rapid.Uint64Range(1, 3).Draw(m.T, "count") {
		n := device.Page((first+i-1)%8 + 1)
		if rapid.IntRange(0, 9).Draw(m.T, "another") == 0 {
			n = device.Page(rapid.Uint64Range(1, 8).Draw(m.T, "page"))
		}
		twice = twice || slices.Contains(numbers, n) || m.pages[n] == nil
		numbers, of = append(numbers, n), append(of, m.pages[n])
	}
	return numbers, of, twice
}

func (m *model) draw(what string) uint64 {
	return rapid.Uint64Range(0, 40).Draw(m.T, what) * granule
}

// address draws an address. In three of four cases the address is known to the model: the
// address of a mapped granule or the start of a reservation. In the other case it is
// random.
func (m *model) address() uint64 {
	var known []uint64
	for at := range m.space {
		known = append(known, at)
	}
	for base := range m.reservations {
		known = append(known, base)
	}
	if len(known) == 0 || rapid.IntRange(0, 3).Draw(m.T, "anywhere") == 0 {
		return m.draw("address")
	}
	slices.Sort(known)
	return rapid.SampledFrom(known).Draw(m.T, "known address")
}

// size draws a size. In three of four cases the size is one to four granules. In the other
// case it is random.
func (m *model) size() uint64 {
	if rapid.IntRange(0, 3).Draw(m.T, "any size") == 0 {
		return m.draw("size")
	}
	return rapid.Uint64Range(1, 4).Draw(m.T, "granules") * granule
}

func (m *model) within(addr, size uint64) bool {
	for base, n := range m.reservations {
		if addr >= base && addr < base+n && addr+size <= base+n {
			return true
		}
	}
	return false
}

func (m *model) reserve() {
	base, size := m.draw("base"), rapid.Uint64Range(1, 12).Draw(m.T, "granules")*granule
	for b, n := range m.reservations {
		if base < b+n && b < base+size {
			return
		}
	}
	m.book.Insert(&Reservation{Base: base, Size: size})
	m.reservations[base] = size
}

func (m *model) unreserve() {
	base, size := m.draw("base"), m.draw("size")
	if n, ok := m.reservations[base]; ok && rapid.Bool().Draw(m.T, "right") {
		size = n
	}
	r, err := m.book.Take("unreserve", base, size)
	if n, ok := m.reservations[base]; !ok || n != size {
		requireCode(m, device.CodeInvalidAddress, err)
		return
	}
	for at := base; at < base+size; at += granule {
		if m.space[at] != nil {
			requireCode(m, device.CodeBusy, err)
			return
		}
	}
	require.NoError(m, err)
	if rapid.Bool().Draw(m.T, "fails") {
		m.book.Insert(r)
		return
	}
	delete(m.reservations, base)
}

func (m *model) create() {
	if len(m.pages) == 8 {
		return
	}
	p := &Page{Bytes: rapid.SampledFrom([]uint64{granule, granule, granule, 2 * granule}).Draw(m.T, "bytes")}
	m.book.Add(p)
	if p.Number > 8 {
		// The model knows the page numbers 1 to 8 only.
		m.book.Forget([]*Page{p})
		return
	}
	m.pages[p.Number] = &modelPage{number: p.Number, bytes: p.Bytes}
}

// idle states whether the pages are neither mapped nor claimed, so that a call that claims
// them as idle succeeds.
func idle(of []*modelPage) bool {
	return !slices.ContainsFunc(of, func(p *modelPage) bool { return p.mapped || p.state != There })
}

func (m *model) claimIdle() {
	numbers, of, wrong := m.drawPages()
	pages, err := m.book.ClaimIdle("idle", numbers)
	switch {
	case wrong:
		requireCode(m, device.CodeInvalidHandle, err)
	case !idle(of):
		requireCode(m, device.CodeBusy, err)
	default:
		require.NoError(m, err)
		m.claim(&claim{pages: pages, of: of, what: "idle"}, Leaving)
	}
}

func (m *model) claim(c *claim, state State) {
	for i, p := range c.of {
		require.Equal(m, p.number, c.pages[i].Number)
		p.state = state
	}
	m.claims = append(m.claims, c)
}

func (m *model) claimRoom() {
	addr := m.address()
	numbers, of, wrong := m.drawPages()
	pages, err := m.book.ClaimRoom("map", addr, numbers)
	if wrong {
		requireCode(m, device.CodeInvalidHandle, err)
		return
	}
	size, same := uint64(0), true
	for _, p := range of {
		size, same = size+p.bytes, same && p.bytes == of[0].bytes
	}
	if !same {
		requireCode(m, device.CodeInvalidPageSize, err)
		return
	}
	if !m.within(addr, size) {
		requireCode(m, device.CodeInvalidAddress, err)
		return
	}
	for base, n := range m.reservations {
		if addr >= base && addr < base+n && (addr-base)%of[0].bytes != 0 {
			requireCode(m, device.CodeInvalidOffset, err)
			return
		}
	}
	for at := addr; at < addr+size; at += granule {
		if p := m.space[at]; p != nil {
			require.Contains(m, []device.Code{device.CodeAlreadyMapped, device.CodeBusy}, device.CodeOf(err))
			return
		}
	}
	if !idle(of) {
		requireCode(m, device.CodeBusy, err)
		return
	}
	require.NoError(m, err)
	m.claim(&claim{pages: pages, of: of, what: "map"}, Leaving)
	for _, p := range of {
		p.at, p.mapped = addr, true
		for range p.bytes / granule {
			m.space[addr] = &place{page: p}
			addr += granule
		}
	}
}

func (m *model) claimMapped() {
	addr, size := m.address(), m.size()
	access := device.Access(rapid.IntRange(0, 2).Draw(m.T, "access"))
	what := rapid.SampledFrom([]string{"unmap", "access"}).Draw(m.T, "what")
	state := func(old device.Access) State {
		if what == "unmap" || access < old {
			return Leaving
		}
		return Changing
	}
	pages, err := m.book.ClaimMapped(what, addr, size, func(p *Page) State { return state(p.Access) })
	if size == 0 {
		requireCode(m, device.CodeInvalidSize, err)
		return
	}
	if !m.within(addr, size) {
		requireCode(m, device.CodeInvalidAddress, err)
		return
	}
	var of []*modelPage
	for at := addr; at < addr+size; at += granule {
		p := m.space[at]
		if p == nil {
			requireCode(m, device.CodeNotMapped, err)
			return
		}
		if len(of) == 0 || of[len(of)-1] != p.page {
			of = append(of, p.page)
		}
	}
	last := of[len(of)-1]
	if of[0].at != addr || last.at+last.bytes != addr+size {
		requireCode(m, device.CodeInvalidOffset, err)
		return
	}
	if slices.ContainsFunc(of, func(p *modelPage) bool { return p.state != There }) {
		requireCode(m, device.CodeBusy, err)
		return
	}
	require.NoError(m, err)
	m.claims = append(m.claims, &claim{pages: pages, of: of, what: what, access: access})
	for _, p := range of {
		p.state = state(m.space[p.at].access)
	}
}

// end ends one running claim. The call of the claim succeeds or fails at random.
func (m *model) end() {
	if len(m.claims) == 0 {
		return
	}
	at := rapid.IntRange(0, len(m.claims)-1).Draw(m.T, "claim")
	c := m.claims[at]
	m.claims = slices.Delete(m.claims, at, at+1)
	fails := rapid.Bool().Draw(m.T, "fails")
	switch {
	case c.what == "map" && fails || c.what == "unmap" && !fails:
		m.book.Unmap(c.pages)
		for _, p := range c.of {
			for at := p.at; at < p.at+p.bytes; at += granule {
				delete(m.space, at)
			}
			p.mapped = false
		}
	case c.what == "access" && !fails:
		m.book.SetAccess(c.pages, c.access)
		for _, p := range c.of {
			for at := p.at; at < p.at+p.bytes; at += granule {
				m.space[at].access = c.access
			}
		}
	case c.what == "idle" && !fails:
		m.book.Forget(c.pages)
		for _, p := range c.of {
			delete(m.pages, p.number)
		}
	default:
		m.book.Settle(c.pages)
	}
	for _, p := range c.of {
		p.state = There
	}
}

// look checks a range for access, as the driver does before it queues work.
func (m *model) look() {
	addr, size := m.address()+rapid.Uint64Range(0, granule-1).Draw(m.T, "odd"), rapid.Uint64Range(1, 30).Draw(m.T, "size")
	need := device.Access(rapid.IntRange(1, 2).Draw(m.T, "need"))
	touches := false
	for base, n := range m.reservations {
		touches = touches || addr < base+n && base < addr+size
	}
	require.Equal(m, touches, m.book.Overlaps(addr, size))
	err := m.book.Check("look", "memory", addr, size, need)
	if !m.within(addr, size) {
		requireCode(m, device.CodeInvalidAddress, err)
		return
	}
	var refusals []device.Code
	for at := addr &^ (granule - 1); at < addr+size; at += granule {
		switch p := m.space[at]; {
		case p == nil:
			requireCode(m, device.CodeNotMapped, err)
			return
		case p.page.state == Leaving:
			refusals = append(refusals, device.CodeBusy)
		case p.access < need:
			refusals = append(refusals, device.CodePermissionDenied)
		}
	}
	if len(refusals) > 0 {
		requireCode(m, refusals[0], err)
		return
	}
	require.NoError(m, err)
}

// runs compares the runs of the book with the places that have access.
func (m *model) runs() {
	covered := map[uint64]device.Access{}
	var last Run
	for _, r := range m.book.Runs() {
		require.False(m, last.Size != 0 && last.Addr+last.Size == r.Addr && last.Access == r.Access && m.within(last.Addr, last.Size+r.Size),
			"two runs that are one")
		last = r
		for at := r.Addr; at < r.Addr+r.Size; at += granule {
			covered[at] = r.Access
		}
	}
	want := map[uint64]device.Access{}
	for at, p := range m.space {
		if p.access != device.AccessNone {
			want[at] = p.access
		}
	}
	require.Equal(m, want, covered)
}

// Calls claim pages and end in random order, with success or failure. Between them, ranges
// are checked for access. Each result is compared with a model that has one record for each
// granule.
func TestTheBookEqualsAModelOfEachGranule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{T: t, book: newBook(), reservations: map[uint64]uint64{}, space: map[uint64]*place{}, pages: map[device.Page]*modelPage{}}
		steps := []func(){m.reserve, m.create, m.claimRoom, m.claimRoom, m.claimMapped, m.claimMapped, m.end, m.end, m.look, m.look, m.claimIdle, m.unreserve}
		for range 8 {
			m.reserve()
			m.create()
		}
		for range 60 {
			steps[rapid.IntRange(0, len(steps)-1).Draw(t, "step")]()
			m.runs()
		}
	})
}

func TestSizesOffTheGranularityAreRejected(t *testing.T) {
	b := newBook()
	b.Insert(&Reservation{Base: 0x100, Size: 16 * granule})
	page := &Page{Bytes: granule}
	b.Add(page)
	found, err := b.Find("find", page.Number)
	require.NoError(t, err)
	require.Same(t, page, found)
	_, err = b.Find("find", page.Number+1)
	requireCode(t, device.CodeInvalidHandle, err)
	requireCode(t, device.CodeInvalidSize, b.CheckSize("size", granule+1))
	_, err = b.ClaimRoom("map", 0x101, []device.Page{page.Number})
	requireCode(t, device.CodeInvalidOffset, err)
	_, err = b.ClaimRoom("map", 0x100, nil)
	requireCode(t, device.CodeInvalidSize, err)
	requireCode(t, device.CodeInvalidOffset, b.Covers("resident", 0x102, granule))
	requireCode(t, device.CodeNotMapped, b.Covers("resident", 0x100, granule))
	pages, err := b.ClaimRoom("map", 0x100, []device.Page{page.Number})
	require.NoError(t, err)
	b.Settle(pages)
	require.NoError(t, b.Covers("resident", 0x100, granule))
}

// Adjacent pages with the same access form one run. A gap between pages ends a run, and so
// does the end of a reservation.
func TestRunsEndAtAGapAndAtTheEndOfAReservation(t *testing.T) {
	b := newBook()
	b.Insert(&Reservation{Base: 0x100, Size: 4 * granule})
	b.Insert(&Reservation{Base: 0x100 + 4*granule, Size: 4 * granule})
	for _, at := range []uint64{0, 1, 3, 4} {
		p := &Page{Bytes: granule}
		b.Add(p)
		pages, err := b.ClaimRoom("map", 0x100+at*granule, []device.Page{p.Number})
		require.NoError(t, err)
		b.SetAccess(pages, device.AccessRead)
	}
	require.Equal(t, []Run{
		{0x100, 2 * granule, device.AccessRead}, {0x100 + 3*granule, granule, device.AccessRead},
		{0x100 + 4*granule, granule, device.AccessRead},
	}, b.Runs())
}
