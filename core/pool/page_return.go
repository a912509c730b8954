package pool

import (
	"errors"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/pages"
)

// chosenPages are idle pages that are about to be released to the device. No allocation
// can use the addresses of these pages now. The pages still count as cached and held.
type chosenPages struct {
	// runs are the runs of adjacent pages; one driver call unmaps each run.
	runs []chosenRun
	// pages are in the order of the runs, and in each run from the highest address down.
	pages []chosenPage
	total uint64
}

// chosenRun is a run, and the number of the chosen pages that belong to it.
type chosenRun struct {
	pageRun
	pages int
}

// chosenPage is a page of the device, and the pages of the table that it backs.
type chosenPage struct {
	pages.Run
	page device.Page
}

// isLarge reports whether the page is longer than a page of the table.
func (p *chosenPage) isLarge() bool { return p.First != p.Last }

// count returns the number of chosen pages, in pages of the tables.
func (c *chosenPages) count() uint64 { return c.total }

// chooseIdle takes idle pages out of the tables, from the highest address down. It takes
// a page if wants returns true; wants gets the number of pages taken so far and the run
// that would be taken. A run is one page, or all pages that one large page backs. The
// caller holds layout and mu.
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

// restore puts the pages back into the tables whose runs the device did not unmap.
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

// returnPages releases chosen pages to the device. Pages that the device does not accept
// stay in the pool as cached. The caller holds layout.
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

// releaseSpares releases the spares to the device, all of them or none. The caller holds
// layout.
func (u *supply) releaseSpares() (bytes uint64, err error) {
	return u.releaseList(&u.heap.paged.spares, u.heap.paged.pageBytes)
}

// releaseLargeSpares is releaseSpares for the large pages.
func (u *supply) releaseLargeSpares() (bytes uint64, err error) {
	return u.releaseList(&u.heap.paged.largeSpares, u.heap.paged.largeBytes)
}

// releaseList releases the pages of a list of spares, all of one size, to the device.
// Only a thread that holds layout uses the list.
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
	u.heap.counters.RemovePages(bytes)
	return bytes, nil
}

// chooseCached is chooseEmpty for a paged pool. It counts first the pages that failed
// driver calls left behind.
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

// returnAll releases everything of a segment of pages: its pages, with the blocks that
// are left in it, and its addresses. If the first driver call fails, nothing has changed.
// If a later call fails, the blocks are freed and the rest stays in the pool. The caller
// holds layout.
func (u *supply) returnAll(s *segment) error {
	if err := u.freeStuck(); err != nil {
		return err
	}
	u.heap.mu.Lock()
	runs := s.pages.Mapped()
	u.heap.mu.Unlock()
	if len(runs) > 0 {
		// Unmapping the first run ends all blocks of the segment.
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
	if err := u.heap.engine.ReleaseAddresses(s.memory); err != nil {
		return err
	}
	u.forget(s)
	return nil
}
