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
	// runs are those that follow each other, each unmapped by one call.
	runs []chosenRun
	// pages are in the order of the runs, and from the highest address down in each.
	pages []chosenPage
	total uint64
}

// chosenRun is a run of which the next so many of the chosen pages are.
type chosenRun struct {
	pageRun
	pages int
}

// chosenPage is a page of the device, and the pages of the table that it is behind.
type chosenPage struct {
	pages.Run
	page device.Page
}

// isLarge says that a page is not of the table's size.
func (p *chosenPage) isLarge() bool { return p.First != p.Last }

// count is how many pages of the tables are chosen.
func (c *chosenPages) count() uint64 { return c.total }

// chooseIdle takes idle pages out of the tables, from the highest address down,
// as long as wants, told how many are taken already, takes them: one, or all that a
// large page is behind. The caller holds layout and mu.
func (g *paging) chooseIdle(segments []*segment, wants func(taken uint64, run pageRun) bool) (c chosenPages) {
	for _, s := range slices.Backward(segments) {
		for page := range s.pages.IdleFromTheTop() {
			if wants(c.count(), pageRun{s, s.pages.Whole(page)}) {
				c.take(s, page)
			}
		}
	}
	return c
}

func (c *chosenPages) take(s *segment, page uint64) {
	whole := s.pages.Whole(page)
	if n := len(c.runs); n > 0 && c.runs[n-1].segment == s && c.runs[n-1].First == whole.Last+1 {
		c.runs[n-1].First = whole.First
		c.runs[n-1].pages++
	} else {
		c.runs = append(c.runs, chosenRun{pageRun{s, whole}, 1})
	}
	c.pages = append(c.pages, chosenPage{whole, s.pages.Drop(page)})
	c.total += whole.Count()
}

// restore puts pages back of the runs that the device did not take.
func (c *chosenPages) restore() {
	for _, run := range c.runs {
		for _, p := range c.pages[:run.pages] {
			if p.isLarge() {
				run.segment.pages.SetLarge(p.First, p.page)
			} else {
				run.segment.pages.Set(p.First, []device.Page{p.page})
			}
		}
		c.pages = c.pages[run.pages:]
	}
}

// returnPages gives chosen pages to the device. What it does not take stays in
// the pool, cached. The caller holds layout.
func (u *supply) returnPages(c chosenPages) (releasedBytes uint64, err error) {
	g := u.heap.paged
	err = u.freeStuck()
	var kept chosenPages
	at := 0
	free := make([]chosenPage, 0, len(c.pages))
	for _, run := range c.runs {
		some := c.pages[at : at+run.pages]
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
	for _, p := range free {
		g.spare(p.page, p.isLarge())
	}
	u.heap.mu.Unlock()
	for _, release := range [...]func() (uint64, error){u.releaseSpares, u.releaseLargeSpares} {
		bytes, failure := release()
		releasedBytes, err = releasedBytes+bytes, errors.Join(err, failure)
	}
	return releasedBytes, err
}

// releaseSpares gives the spares to the device, all of them or none. The caller holds
// layout.
func (u *supply) releaseSpares() (bytes uint64, err error) {
	return u.releaseList(&u.heap.paged.spares, u.heap.paged.pageBytes)
}

// releaseLargeSpares is releaseSpares for the large ones.
func (u *supply) releaseLargeSpares() (bytes uint64, err error) {
	return u.releaseList(&u.heap.paged.largeSpares, u.heap.paged.largeBytes)
}

// releaseList gives the pages of a list of spares, of one size, to the device. No other
// thread uses it without layout.
func (u *supply) releaseList(list *[]device.Page, pageBytes uint64) (bytes uint64, err error) {
	if len(*list) == 0 {
		return 0, nil
	}
	if err := u.heap.engine.ReleasePages(*list, pageBytes); err != nil {
		return 0, err
	}
	bytes = uint64(len(*list)) * pageBytes
	u.heap.lock()
	defer u.heap.mu.Unlock()
	*list = nil
	u.heap.held -= bytes
	u.heap.paged.held -= bytes / u.heap.paged.pageBytes
	u.heap.books.RemovePages(bytes)
	return bytes, nil
}

// chooseCached is chooseEmpty for a pool with pages. Pages that a driver call has
// left over go first.
func (u *supply) chooseCached(more func(taken uint64) bool) chosenPages {
	g := u.heap.paged
	first := g.sparePages()
	for _, run := range g.stuck {
		first += run.Count()
	}
	return g.chooseIdle(u.heap.segments, func(taken uint64, run pageRun) bool {
		bytes, next := (first+taken)*g.pageBytes, run.bytes()
		return more(bytes) && u.heap.held-bytes >= next && u.heap.held-bytes-next >= u.heap.minHeld
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
		for page := first.First; page <= first.Last; {
			whole := s.pages.Whole(page)
			u.heap.paged.spare(s.pages.Drop(page), whole.Count() > 1)
			page = whole.Last + 1
		}
		u.heap.mu.Unlock()
	}
	u.heap.lock()
	rest := u.heap.paged.chooseIdle([]*segment{s}, func(uint64, pageRun) bool { return true })
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
