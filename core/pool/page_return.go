package pool

import (
	"errors"
	"math/bits"
	"slices"

	"ferrum_mem/core/device"
)

// chosenPages are idle pages on their way back to the device: nobody is handed
// what lies on them any more. They still count as cached and held.
type chosenPages struct {
	// runs are from the highest address down, as are pages.
	runs  []pageRun
	pages []device.Page
}

func (c *chosenPages) count() uint64 { return uint64(len(c.pages)) }

// chooseIdle takes idle pages out of the tables, from the highest address down,
// as long as wants, told how many are taken already, takes them. The caller holds
// layout and mu.
func (g *paging) chooseIdle(segments []*segment, wants func(taken uint64, s *segment, page uint64) bool) (c chosenPages) {
	for _, s := range slices.Backward(segments) {
		t := s.pages
		for word := len(t.mapped) - 1; word >= 0; word-- {
			for idle := t.idleIn(word); idle != 0; {
				bit := uint64(bits.Len64(idle) - 1)
				idle &^= 1 << bit
				page := uint64(word)<<6 + bit
				if wants(c.count(), s, page) {
					c.take(s, page)
				}
			}
		}
	}
	return c
}

func (c *chosenPages) take(s *segment, page uint64) {
	if n := len(c.runs); n > 0 && c.runs[n-1].segment == s && c.runs[n-1].first == page+1 {
		c.runs[n-1].first = page
	} else {
		c.runs = append(c.runs, pageRun{s, page, page})
	}
	c.pages = append(c.pages, s.pages.drop(page))
}

// restore puts pages back of the runs that the device did not take.
func (c *chosenPages) restore() {
	for _, run := range c.runs {
		pages := slices.Clone(c.pages[:run.count()])
		slices.Reverse(pages)
		run.segment.pages.set(run.first, pages)
		c.pages = c.pages[run.count():]
	}
}

// returnPages gives chosen pages to the device. What it does not take stays in
// the pool, cached. The caller holds layout.
func (p *Pool) returnPages(c chosenPages) (releasedBytes uint64, err error) {
	g := p.paged
	err = p.freeStuck()
	var kept chosenPages
	at := 0
	free := make([]device.Page, 0, len(c.pages))
	for _, run := range c.runs {
		pages := c.pages[at : at+int(run.count())]
		at += len(pages)
		if failure := g.device.Unmap(run.addr(), run.bytes()); failure != nil {
			err = errors.Join(err, failure)
			kept.runs, kept.pages = append(kept.runs, run), append(kept.pages, pages...)
			continue
		}
		free = append(free, pages...)
	}
	p.lock()
	kept.restore()
	g.spares = append(g.spares, free...)
	// No other thread uses spares without layout.
	spares := g.spares
	p.mu.Unlock()
	if len(spares) == 0 {
		return 0, err
	}
	if failure := p.engine.ReleasePages(spares, g.pageBytes); failure != nil {
		return 0, errors.Join(err, failure)
	}
	bytes := uint64(len(spares)) * g.pageBytes
	p.lock()
	g.spares = nil
	p.held -= bytes
	g.held -= uint64(len(spares))
	p.books.RemovePages(bytes)
	p.mu.Unlock()
	return bytes, err
}

// chooseCached is chooseEmpty for a pool with pages. Pages that a driver call has
// left over go first.
func (p *Pool) chooseCached(more func(taken uint64) bool) chosenPages {
	g := p.paged
	first := uint64(len(g.spares))
	for _, run := range g.stuck {
		first += run.count()
	}
	return g.chooseIdle(p.segments, func(taken uint64, _ *segment, _ uint64) bool {
		bytes := (first + taken) * g.pageBytes
		return more(bytes) && p.held-bytes >= g.pageBytes && p.held-bytes-g.pageBytes >= p.minHeld
	})
}

// returnAll gives back everything of a virtual segment: its pages, with the blocks
// that are left in it, and its addresses. When the first call of the driver fails
// nothing has changed; when a later one does, the blocks are gone and the rest
// stays in the pool. The caller holds layout.
func (p *Pool) returnAll(s *segment) error {
	if err := p.freeStuck(); err != nil {
		return err
	}
	p.mu.Lock()
	runs := s.pages.runs(s)
	p.mu.Unlock()
	if len(runs) > 0 {
		// The blocks go with the memory of the first run.
		if err := p.paged.device.Unmap(runs[0].addr(), runs[0].bytes()); err != nil {
			return err
		}
		p.dropBlocks(s)
		p.lock()
		var pages []device.Page
		for page := runs[0].first; page <= runs[0].last; page++ {
			pages = append(pages, s.pages.drop(page))
		}
		p.paged.spares = append(p.paged.spares, pages...)
		p.mu.Unlock()
	}
	p.lock()
	rest := p.paged.chooseIdle([]*segment{s}, func(uint64, *segment, uint64) bool { return true })
	p.mu.Unlock()
	if _, err := p.returnPages(rest); err != nil {
		return err
	}
	if err := p.engine.ReleaseAddresses(s.had); err != nil {
		return err
	}
	p.forget(s)
	return nil
}
