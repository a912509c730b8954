package pool

import (
	"fmt"
	"slices"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool/pages"
)

// pagesFreed is called after blocks were freed and pages may have become idle. The caller
// holds mu.
func (h *heap) pagesFreed() {
	g := h.paged
	if g.counts.Idle == 0 {
		return
	}
	if h.held > h.threshold {
		h.overfull = true
	}
	w := &g.worker
	if w.watches && (w.done != nil || w.pauses > 0) || !h.tooManyIdle() {
		return
	}
	w.watches, w.since = true, g.clock()
	g.counts.BeginWindow()
	h.startWorker()
}

// tooManyIdle reports whether the worker will have pages to release. The caller holds mu.
func (h *heap) tooManyIdle() bool {
	g := h.paged
	return h.state == stateOpen && g.surplus(g.counts.Idle) > 0 && h.held > h.leastHeld()
}

// leastHeld returns the size below which the worker does not reduce the pool. The caller
// holds mu.
func (h *heap) leastHeld() uint64 { return max(h.paged.floorBytes, h.minHeld) }

// startWorker starts the worker, unless it runs or is paused. The caller holds mu.
func (h *heap) startWorker() {
	w := &h.paged.worker
	if w.done != nil || w.pauses > 0 {
		return
	}
	stop := make(chan struct{})
	w.stop = stop
	w.done = device.Go("pages of pool "+h.config.Name, func() { w.work(stop) })
}

// work ends one window after the other, until no more pages are idle than may stay.
func (u *supply) work(stop <-chan struct{}) {
	timer := time.NewTimer(pages.ShortWindow)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return
		case <-timer.C:
		}
		after, again := u.workOnce()
		if !again {
			return
		}
		timer.Reset(after)
	}
}

// workOnce does the work that is due and returns the time until the next call; false ends
// the worker.
func (u *supply) workOnce() (after time.Duration, again bool) {
	u.checkCaches()
	released, err := u.endWindow()
	u.returned(released > 0, err)
	u.heap.lock()
	defer u.heap.mu.Unlock()
	g := u.heap.paged
	if err != nil {
		// Pages that the device does not accept now are offered again when the next page
		// becomes idle.
		g.worker.watches = false
	}
	due, again := u.nextDue()
	if !again {
		g.worker.stop, g.worker.done = nil, nil
	}
	return max(due-g.clock(), 0), again
}

// nextDue returns the time when there is work again. It returns false if there is none
// before blocks are freed. The caller holds mu.
func (u *supply) nextDue() (due time.Duration, again bool) {
	g := u.heap.paged
	pages, caches := g.worker.since+g.keeper.Window(), g.caches.since+cacheWindow
	switch {
	case g.worker.watches && g.caches.watches:
		return min(pages, caches), true
	case g.caches.watches:
		return caches, true
	}
	return pages, g.worker.watches
}

// endWindow releases the pages that were idle for the whole window, if the window is
// over. It releases at most pagesAtOnce pages at a time, because an allocation that has
// to map pages waits for layout. A new window begins unless no more pages are idle than
// may stay.
func (u *supply) endWindow() (releasedBytes uint64, err error) {
	g := u.heap.paged
	for first := true; ; first = false {
		u.layout.Lock()
		u.heap.lock()
		if u.heap.state != stateOpen {
			g.worker.watches = false
		}
		if !g.worker.watches || first && g.clock() < g.worker.since+g.keeper.Window() {
			u.heap.mu.Unlock()
			u.layout.Unlock()
			return releasedBytes, nil
		}
		surplus := g.surplus(g.counts.Low)
		released, err := u.returnSurplus(min(surplus, pagesAtOnce))
		releasedBytes += released
		u.heap.lock()
		if err == nil && released > 0 && surplus > pagesAtOnce {
			u.heap.mu.Unlock()
			u.layout.Unlock()
			continue
		}
		g.keeper.GaveBack(releasedBytes/g.pageBytes, g.clock())
		// If nothing of a surplus was released, the rest are large pages whose release
		// would reduce the pool below its least size.
		g.worker.watches = u.heap.tooManyIdle() && (released > 0 || surplus == 0)
		g.worker.since = g.clock()
		g.counts.BeginWindow()
		u.heap.mu.Unlock()
		u.layout.Unlock()
		return releasedBytes, err
	}
}

// pagesAtOnce is the most pages that are released while allocations wait for layout.
const pagesAtOnce = 256

// Tick does what the worker does: it releases the pages that were idle for a whole window
// (Config.Clock), if the window is over, and takes back blocks that unused thread caches
// hold. It is for callers that have their own clock and have paused the worker
// (PauseReturn). It returns the time when there is work again, or false if there is none
// before further blocks are freed. It does nothing in a pool without pages.
func (p *Pool) Tick() (due time.Duration, again bool, err error) {
	if p.heap.paged == nil {
		return 0, false, nil
	}
	p.checkCaches()
	released, err := p.supply.endWindow()
	p.supply.returned(released > 0, nil)
	p.heap.mu.Lock()
	defer p.heap.mu.Unlock()
	due, again = p.supply.nextDue()
	return due, again, err
}

// returnSurplus releases the given number of idle pages, without reducing the pool below
// its least size. If only a part of a large page is surplus, it releases the whole large
// page: keeping the rest would help only blocks that contain all of it. The caller holds
// layout and mu; returnSurplus releases mu.
func (u *supply) returnSurplus(pages uint64) (releasedBytes uint64, err error) {
	g := u.heap.paged
	spare := (u.heap.held - min(u.heap.held, u.heap.leastHeld())) / g.pageBytes
	low := g.counts.Low
	chosen := g.chooseHighest(u.heap.segments, pages, spare)
	g.counts.Low = low - min(low, chosen.count())
	u.heap.mu.Unlock()
	if chosen.count() == 0 {
		return 0, nil
	}
	return u.returnPages(chosen)
}

// chooseHighest takes count idle pages, or all if there are fewer, out of the tables,
// from the highest address down. The last one may be a large page, so the result may
// exceed count, but never most. The caller holds layout and mu.
func (g *paging) chooseHighest(segments []*segment, count, most uint64) (c chosenPages) {
	for _, s := range slices.Backward(segments) {
		for page := range s.pages.IdleFromTheTop() {
			if c.count() >= min(count, most) {
				return c
			}
			if c.count()+s.pages.Whole(page).Count() <= most {
				c.take(s, page)
			}
		}
	}
	return c
}

// returned reports the release of idle pages to the engine and the log. The caller holds
// no lock.
func (u *supply) returned(some bool, err error) {
	if err != nil {
		u.heap.engine.Log(engine.Warning, fmt.Sprintf("pool %q could not release idle pages: %v", u.heap.config.Name, err))
	}
	if some {
		u.heap.engine.SegmentsChanged()
		u.heap.changed()
	}
}

// ReturnIdle releases at once the idle pages above Config.ReadyPages, which the worker
// would release later. It does nothing in a pool without pages.
func (p *Pool) ReturnIdle() (releasedBytes uint64, err error) {
	g := p.heap.paged
	if g == nil {
		return 0, nil
	}
	p.supply.layout.Lock()
	p.heap.lock()
	if p.heap.state != stateOpen {
		p.heap.mu.Unlock()
		p.supply.layout.Unlock()
		return 0, p.heap.closedError("pool.return_idle")
	}
	released, err := p.supply.returnSurplus(g.surplus(g.counts.Idle))
	p.supply.layout.Unlock()
	p.supply.returned(released > 0, nil)
	return released, err
}

// PauseReturn stops the release of idle pages in the background until ResumeReturn was
// called as many times. It waits until a release in progress has ended.
func (p *Pool) PauseReturn() {
	if p.heap.paged == nil {
		return
	}
	p.heap.mu.Lock()
	p.heap.paged.worker.pauses++
	p.heap.mu.Unlock()
	p.supply.stopWorker()
}

// ResumeReturn ends a PauseReturn.
func (p *Pool) ResumeReturn() {
	if p.heap.paged == nil {
		return
	}
	p.heap.mu.Lock()
	defer p.heap.mu.Unlock()
	p.heap.paged.worker.pauses--
	if p.heap.paged.caches.watches && p.heap.state == stateOpen {
		p.heap.startWorker()
	}
	p.heap.pagesFreed()
}

// stopWorker ends the worker and waits for it. The caller holds no lock.
func (u *supply) stopWorker() {
	if u.heap.paged == nil {
		return
	}
	u.heap.mu.Lock()
	w := &u.heap.paged.worker
	stop, done := w.stop, w.done
	w.stop = nil
	u.heap.mu.Unlock()
	if done == nil {
		return
	}
	if stop != nil {
		close(stop)
	}
	<-done
	u.heap.mu.Lock()
	if w.done == done {
		w.done = nil
	}
	u.heap.mu.Unlock()
}
