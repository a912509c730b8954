package pool

import (
	"fmt"
	"slices"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool/pages"
)

// leftPages is called after blocks have left pages. The caller holds mu.
func (h *heap) leftPages() {
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

// tooManyIdle says that there is something to give back sooner or later. The caller
// holds mu.
func (h *heap) tooManyIdle() bool {
	g := h.paged
	return h.state == stateOpen && g.surplus(g.counts.Idle) > 0 && h.held > h.leastHeld()
}

// leastHeld is what idle pages are not given back below. The caller holds mu.
func (h *heap) leastHeld() uint64 { return max(h.paged.floorBytes, h.minHeld) }

// startWorker starts the worker unless it runs or is to stand still. The caller
// holds mu.
func (h *heap) startWorker() {
	w := &h.paged.worker
	if w.done != nil || w.pauses > 0 {
		return
	}
	stop := make(chan struct{})
	w.stop = stop
	w.done = device.Go("pages of pool "+h.config.Name, func() { w.work(stop) })
}

// work ends one window after the other, until no more is left than may stay.
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

// workOnce does what is due, and says after which time it is to be called again;
// false ends the worker.
func (u *supply) workOnce() (after time.Duration, again bool) {
	u.lookAtCaches()
	released, err := u.endWindow()
	u.returned(released > 0, err)
	u.heap.lock()
	defer u.heap.mu.Unlock()
	g := u.heap.paged
	if err != nil {
		// What the device does not take now it is offered again with the next page
		// that is left.
		g.worker.watches = false
	}
	due, again := u.nextDue()
	if !again {
		g.worker.stop, g.worker.done = nil, nil
	}
	return max(due-g.clock(), 0), again
}

// nextDue is when there is something to do again; false: not before blocks go. The
// caller holds mu.
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

// endWindow gives back what was idle for the whole window, if that is over, some
// pages at a time: an allocation that has to map others waits for no more. The next
// window begins unless no more is left than may stay.
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
		// What is left of a surplus is of large pages that would go below the pool's least.
		g.worker.watches = u.heap.tooManyIdle() && (released > 0 || surplus == 0)
		g.worker.since = g.clock()
		g.counts.BeginWindow()
		u.heap.mu.Unlock()
		u.layout.Unlock()
		return releasedBytes, err
	}
}

// pagesAtOnce bounds what is given back while allocations that lack pages wait.
const pagesAtOnce = 256

// Tick gives back the pages that were idle for a whole window (Config.Clock), if it
// is over, and what caches that rest hold, as the worker does: for those who keep a
// time of their own and have paused it (PauseReturn). It says when it has something to do again; false: not
// before further blocks are freed. It does nothing in a pool without pages.
func (p *Pool) Tick() (due time.Duration, again bool, err error) {
	if p.heap.paged == nil {
		return 0, false, nil
	}
	p.lookAtCaches()
	released, err := p.supply.endWindow()
	p.supply.returned(released > 0, nil)
	p.heap.mu.Lock()
	defer p.heap.mu.Unlock()
	due, again = p.supply.nextDue()
	return due, again, err
}

// returnSurplus gives back so many idle pages, as far as the pool's least allows, and all
// of a large one where a part is too many: to keep the rest would be for blocks that
// contain all of it. The caller holds layout and mu, which it lets go of.
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

// chooseHighest takes so many idle pages, or all, out of the tables, from the highest
// address down: the last may be a large one, but no more than most come together. The
// caller holds layout and mu.
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

// returned tells of pages that went back. The caller holds no lock.
func (u *supply) returned(some bool, err error) {
	if err != nil {
		u.heap.engine.Log(engine.Warning, fmt.Sprintf("pool %q could not give back idle pages: %v", u.heap.config.Name, err))
	}
	if some {
		u.heap.engine.SegmentsChanged()
		u.heap.changed()
	}
}

// ReturnIdle gives back at once what the worker would give back in a while: the
// idle pages above Config.ReadyPages. It does nothing in a pool without pages.
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

// PauseReturn has no idle pages given back in the background until ResumeReturn
// was called as often. It waits for what is under way.
func (p *Pool) PauseReturn() {
	if p.heap.paged == nil {
		return
	}
	p.heap.mu.Lock()
	p.heap.paged.worker.pauses++
	p.heap.mu.Unlock()
	p.supply.stopWorker()
}

// ResumeReturn ends PauseReturn.
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
	p.heap.leftPages()
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
