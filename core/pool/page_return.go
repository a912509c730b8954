package pool

import (
	"errors"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/pages"
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
		for page := range s.pages.IdleFromTheTop() {
			if wants(c.count(), s, page) {
				c.take(s, page)
			}
		}
	}
	return c
}

func (c *chosenPages) take(s *segment, page uint64) {
	if n := len(c.runs); n > 0 && c.runs[n-1].segment == s && c.runs[n-1].First == page+1 {
		c.runs[n-1].First = page
	} else {
		c.runs = append(c.runs, pageRun{s, pages.Run{First: page, Last: page}})
	}
	c.pages = append(c.pages, s.pages.Drop(page))
}

// restore puts pages back of the runs that the device did not take.
func (c *chosenPages) restore() {
	for _, run := range c.runs {
		some := slices.Clone(c.pages[:run.Count()])
		slices.Reverse(some)
		run.segment.pages.Set(run.First, some)
		c.pages = c.pages[run.Count():]
	}
}

// returnPages gives chosen pages to the device. What it does not take stays in
// the pool, cached. The caller holds layout.
func (u *supply) returnPages(c chosenPages) (releasedBytes uint64, err error) {
	g := u.heap.paged
	err = u.freeStuck()
	var kept chosenPages
	at := 0
	free := make([]device.Page, 0, len(c.pages))
	for _, run := range c.runs {
		some := c.pages[at : at+int(run.Count())]
		at += len(some)
		if failure := g.device.Unmap(run.addr(), run.bytes()); failure != nil {
			err = errors.Join(err, failure)
			kept.runs, kept.pages = append(kept.runs, run), append(kept.pages, some...)
			continue
		}
		free = append(free, some...)
	}
	u.heap.lock()
	kept.restore()
	g.spares = append(g.spares, free...)
	// No other thread uses spares without layout.
	spares := g.spares
	u.heap.mu.Unlock()
	if len(spares) == 0 {
		return 0, err
	}
	if failure := u.heap.engine.ReleasePages(spares, g.pageBytes); failure != nil {
		return 0, errors.Join(err, failure)
	}
	bytes := uint64(len(spares)) * g.pageBytes
	u.heap.lock()
	g.spares = nil
	u.heap.held -= bytes
	g.held -= uint64(len(spares))
	u.heap.books.RemovePages(bytes)
	u.heap.mu.Unlock()
	return bytes, err
}

// chooseCached is chooseEmpty for a pool with pages. Pages that a driver call has
// left over go first.
func (u *supply) chooseCached(more func(taken uint64) bool) chosenPages {
	g := u.heap.paged
	first := uint64(len(g.spares))
	for _, run := range g.stuck {
		first += run.Count()
	}
	return g.chooseIdle(u.heap.segments, func(taken uint64, _ *segment, _ uint64) bool {
		bytes := (first + taken) * g.pageBytes
		return more(bytes) && u.heap.held-bytes >= g.pageBytes && u.heap.held-bytes-g.pageBytes >= u.heap.minHeld
	})
}

// returnAll gives back everything of a virtual segment: its pages, with the blocks
// that are left in it, and its addresses. When the first call of the driver fails
// nothing has changed; when a later one does, the blocks are gone and the rest
// stays in the pool. The caller holds layout.
func (u *supply) returnAll(s *segment) error {
	if err := u.freeStuck(); err != nil {
		return err
	}
	u.heap.mu.Lock()
	runs := s.pages.Mapped()
	u.heap.mu.Unlock()
	if len(runs) > 0 {
		// The blocks go with the memory of the first run.
		first := pageRun{s, runs[0]}
		if err := u.heap.paged.device.Unmap(first.addr(), first.bytes()); err != nil {
			return err
		}
		u.heap.dropBlocks(s)
		u.heap.lock()
		for page := first.First; page <= first.Last; page++ {
			u.heap.paged.spares = append(u.heap.paged.spares, s.pages.Drop(page))
		}
		u.heap.mu.Unlock()
	}
	u.heap.lock()
	rest := u.heap.paged.chooseIdle([]*segment{s}, func(uint64, *segment, uint64) bool { return true })
	u.heap.mu.Unlock()
	if _, err := u.returnPages(rest); err != nil {
		return err
	}
	if err := u.heap.engine.ReleaseAddresses(s.had); err != nil {
		return err
	}
	u.forget(s)
	return nil
}
