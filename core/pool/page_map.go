package pool

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/sorting"
	"ferrum_mem/core/pool/pages"
)

// Mapping pages. A run is divided into pieces, and each piece is mapped by one call: a
// large page, or the pages between two large pages. Where a block contains all of a large
// page and nothing is mapped there, the block gets a large page. So one page is created,
// mapped, unmapped and released instead of many. The shorter rest at both ends of a
// block, and all shorter blocks, use pages of the pool's size, so that the pool does not
// hold more memory because of large pages.

// largePlaces returns the places where wanted blocks can have large pages, in order. The
// caller holds mu.
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
	sorting.By(places, comparePageRun)
	return slices.Compact(places)
}

// cut divides the needed runs into pieces, in order.
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

// mapping is the state of mapping pages.
type mapping struct {
	pieces []piece
	// small are pages of the pool's page size. The first reused of them are spares; all
	// others, and all large pages, are new.
	small, large []device.Page
	reused       int
}

// created returns the number of new pages. A large page counts as largePages pages.
func (m *mapping) created(g *paging) uint64 {
	return uint64(len(m.small)-m.reused) + uint64(len(m.large))*g.largePages()
}

// mapRuns creates and maps pages for all that is needed, or changes nothing. Nothing may
// be mapped there before. The caller holds layout.
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
	start := g.clock()
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
	now := g.clock()
	g.keeper.Created(need.count, now-start, now)
	for _, p := range m.pieces {
		if p.large {
			p.segment.pages.SetLarge(p.First, p.pages[0])
		} else {
			p.segment.pages.Set(p.First, p.pages)
		}
	}
	return nil
}

// create creates the new pages of a mapping, all or none. Memory of a pool has undefined
// contents.
func (u *supply) create(m *mapping) error {
	g := u.heap.paged
	if created := m.small[m.reused:]; len(created) > 0 {
		if err := u.heap.engine.CreatePages(created, g.pageBytes, device.BackingPrivate, false); err != nil {
			return err
		}
	}
	if len(m.large) == 0 {
		return nil
	}
	err := u.heap.engine.CreatePages(m.large, g.largeBytes, device.BackingPrivate, false)
	if err != nil {
		m.large = nil
		u.endMapping(m)
	}
	return err
}

// deal assigns the pages to the pieces.
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
	u.heap.counters.AddPages(bytes)
}

// install maps the pieces of runs and makes the runs accessible. If a call fails, it
// unmaps what it has mapped.
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

// uninstall unmaps pages. It records those that the device fails to unmap in stuck.
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

// endMapping ends a mapping that failed. It releases the new pages to the device; pages
// that the device does not accept stay in the pool.
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

// spareUnlessStuck keeps pages as spares if they are not mapped. The caller holds mu.
func (g *paging) spareUnlessStuck(pages []device.Page, large bool) {
	for _, page := range pages {
		if !slices.ContainsFunc(g.stuck, func(p piece) bool { return slices.Contains(p.pages, page) }) {
			g.spare(page, large)
		}
	}
}

// freeStuck tries again to unmap pages that a failed mapping left mapped. The caller
// holds layout.
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
