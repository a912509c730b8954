package pool

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/pages"
)

// How pages come to be mapped. A run is cut into pieces, each mapped by one call: a
// large page, or the pages between two of those. Where the ranges of an allocation are
// so long that a large page lies all in one block, and nothing is mapped there, it gets
// one: that is one page to create, map, unmap and release instead of many. The
// shorter rest at both ends of a block, and all that is mapped for shorter blocks, is
// pages of the pool's size, so that a pool holds no more for it.

// largePlaces is where wanted blocks can have large pages, in order. The caller holds mu.
func (g *paging) largePlaces() (places []pageRun) {
	for _, w := range g.wanted {
		if w.size < g.largeBytes || g.largeBytes == 0 {
			continue
		}
		for at := w.offset; at < w.offset+w.size*w.count; at += w.size {
			for first := range w.segment.pages.Bare(at, w.size) {
				places = append(places, pageRun{w.segment, pages.Run{First: first, Last: first + g.largePages() - 1}})
			}
		}
	}
	slices.SortFunc(places, comparePageRun)
	return slices.Compact(places)
}

// cut cuts what is needed into pieces, in order.
func (n *growth) cut() []piece {
	pieces, larges := make([]piece, 0, len(n.runs)+2*len(n.larges)), n.larges
	for _, run := range n.runs {
		rest := run
		for ; len(larges) > 0 && larges[0].segment == run.segment && larges[0].First <= run.Last; larges = larges[1:] {
			if large := larges[0]; rest.First < large.First {
				pieces = append(pieces, piece{pageRun: pageRun{run.segment, pages.Run{First: rest.First, Last: large.First - 1}}})
			}
			pieces = append(pieces, piece{pageRun: larges[0], large: true})
			rest.First = larges[0].Last + 1
		}
		if rest.First <= rest.Last {
			pieces = append(pieces, piece{pageRun: rest})
		}
	}
	return pieces
}

// mapping is pages on their way to be mapped.
type mapping struct {
	pieces []piece
	// small are of the pool's page size, of which the first reused are spares and the
	// others new, as are all large ones.
	small, large []device.Page
	reused       int
}

// created counts the new pages, large ones by their length.
func (m *mapping) created(g *paging) uint64 {
	return uint64(len(m.small)-m.reused) + uint64(len(m.large))*g.largePages()
}

// mapRuns has pages created and mapped at all that is needed, which lacks them, or
// changes nothing. The caller holds layout.
func (u *supply) mapRuns(need *growth) error {
	g := u.heap.paged
	if err := u.freeStuck(); err != nil {
		return err
	}
	u.heap.mu.Lock()
	for _, run := range need.runs {
		if err := run.segment.pages.Reach(run.Last); err != nil {
			u.heap.mu.Unlock()
			return err
		}
	}
	m := mapping{pieces: need.cut(), large: make([]device.Page, len(need.larges))}
	m.small = make([]device.Page, need.count-uint64(len(need.larges))*g.largePages())
	m.reused = min(len(g.spares), len(m.small))
	copy(m.small, g.spares[len(g.spares)-m.reused:])
	u.heap.mu.Unlock()
	if err := u.create(&m); err != nil {
		return err
	}
	m.deal()
	if err := u.install(need.runs, m.pieces); err != nil {
		u.endMapping(&m)
		return err
	}
	u.heap.lock()
	defer u.heap.mu.Unlock()
	g.spares = g.spares[:len(g.spares)-m.reused]
	u.enterPages(m.created(g))
	g.keeper.Created(need.count, g.clock())
	for _, p := range m.pieces {
		if p.large {
			p.segment.pages.SetLarge(p.First, p.pages[0])
		} else {
			p.segment.pages.Set(p.First, p.pages)
		}
	}
	return nil
}

// create has the new pages of a mapping created, all of them or none.
func (u *supply) create(m *mapping) error {
	g := u.heap.paged
	if created := m.small[m.reused:]; len(created) > 0 {
		if err := u.heap.engine.CreatePages(created, g.pageBytes, device.BackingPrivate); err != nil {
			return err
		}
	}
	if len(m.large) == 0 {
		return nil
	}
	err := u.heap.engine.CreatePages(m.large, g.largeBytes, device.BackingPrivate)
	if err != nil {
		m.large = nil
		u.endMapping(m)
	}
	return err
}

// deal gives the pages to the pieces.
func (m *mapping) deal() {
	small, large := m.small, m.large
	for i := range m.pieces {
		p, from, count := &m.pieces[i], &small, m.pieces[i].Count()
		if p.large {
			from, count = &large, 1
		}
		p.pages, *from = (*from)[:count], (*from)[count:]
	}
}

// enterPages counts new pages. The caller holds layout and mu.
func (u *supply) enterPages(count uint64) {
	bytes := count * u.heap.paged.pageBytes
	u.heap.held += bytes
	u.heap.paged.held += count
	u.heap.books.AddPages(bytes)
}

// install maps the pieces of runs and makes the runs accessible, or takes out again
// what it has mapped.
func (u *supply) install(runs []pageRun, pieces []piece) error {
	virtual, at := u.heap.paged.device, 0
	for _, run := range runs {
		for at < len(pieces) && pieces[at].segment == run.segment && pieces[at].First <= run.Last {
			if err := virtual.Map(pieces[at].addr(), pieces[at].pages); err != nil {
				u.uninstall(pieces[:at])
				return err
			}
			at++
		}
		if err := virtual.SetAccess(run.addr(), run.bytes(), device.AccessReadWrite); err != nil {
			u.uninstall(pieces[:at])
			return err
		}
	}
	return nil
}

// uninstall takes pages out again. What the device does not let go of now is kept
// apart.
func (u *supply) uninstall(pieces []piece) {
	g := u.heap.paged
	for _, p := range pieces {
		if g.device.Unmap(p.addr(), p.bytes()) != nil {
			u.heap.mu.Lock()
			g.stuck = append(g.stuck, p)
			u.heap.mu.Unlock()
		}
	}
}

// endMapping ends a mapping that failed. New pages are given back to the device; what it
// does not take stays in the pool.
func (u *supply) endMapping(m *mapping) {
	g := u.heap.paged
	if len(g.stuck) == 0 {
		if created := m.small[m.reused:]; len(created) == 0 || u.heap.engine.ReleasePages(created, g.pageBytes) == nil {
			m.small = m.small[:m.reused]
		}
		if len(m.large) == 0 || u.heap.engine.ReleasePages(m.large, g.largeBytes) == nil {
			m.large = nil
		}
		if m.created(g) == 0 {
			return
		}
	}
	u.heap.lock()
	defer u.heap.mu.Unlock()
	g.spares = g.spares[:len(g.spares)-m.reused]
	u.enterPages(m.created(g))
	g.spareUnlessStuck(m.small, false)
	g.spareUnlessStuck(m.large, true)
}

// spareUnlessStuck keeps pages that are not mapped. The caller holds mu.
func (g *paging) spareUnlessStuck(pages []device.Page, large bool) {
	for _, page := range pages {
		if !slices.ContainsFunc(g.stuck, func(p piece) bool { return slices.Contains(p.pages, page) }) {
			g.spare(page, large)
		}
	}
}

// freeStuck tries again to take out pages that a mapping left behind when it
// failed. The caller holds layout.
func (u *supply) freeStuck() error {
	g := u.heap.paged
	for n := len(g.stuck); n > 0; n = len(g.stuck) {
		p := g.stuck[n-1]
		if err := g.device.Unmap(p.addr(), p.bytes()); err != nil {
			return err
		}
		u.heap.mu.Lock()
		g.stuck = g.stuck[:n-1]
		for _, page := range p.pages {
			g.spare(page, p.large)
		}
		u.heap.mu.Unlock()
	}
	return nil
}
