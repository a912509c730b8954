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
func (p *Pool) leftPages() {
	g := p.paged
	if g.counts.Idle == 0 {
		return
	}
	if p.held > p.threshold {
		p.overfull = true
	}
	w := &g.worker
	if w.watches && (w.done != nil || w.pauses > 0) || !p.tooManyIdle() {
		return
	}
	w.watches, w.since = true, g.clock()
	g.counts.BeginWindow()
	p.startWorker()
}

// tooManyIdle says that there is something to give back sooner or later. The caller
// holds mu.
func (p *Pool) tooManyIdle() bool {
	g := p.paged
	return p.state == stateOpen && g.surplus(g.counts.Idle) > 0 && p.held > p.leastHeld()
}

// leastHeld is what idle pages are not given back below. The caller holds mu.
func (p *Pool) leastHeld() uint64 { return max(p.paged.floorBytes, p.minHeld) }

// startWorker starts the worker unless it runs or is to stand still. The caller
// holds mu.
func (p *Pool) startWorker() {
	w := &p.paged.worker
	if w.done != nil || w.pauses > 0 {
		return
	}
	stop := make(chan struct{})
	w.stop = stop
	w.done = device.Go("pages of pool "+p.config.Name, func() { p.work(stop) })
}

// work ends one window after the other, until no more is left than may stay.
func (p *Pool) work(stop <-chan struct{}) {
	timer := time.NewTimer(pages.ShortWindow)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return
		case <-timer.C:
		}
		after, again := p.workOnce()
		if !again {
			return
		}
		timer.Reset(after)
	}
}

// workOnce does what is due, and says after which time it is to be called again;
// false ends the worker.
func (p *Pool) workOnce() (after time.Duration, again bool) {
	p.lookAtCaches()
	released, err := p.endWindow()
	p.returned(released > 0, err)
	p.lock()
	defer p.mu.Unlock()
	g := p.paged
	if err != nil {
		// What the device does not take now it is offered again with the next page
		// that is left.
		g.worker.watches = false
	}
	due, again := p.nextDue()
	if !again {
		g.worker.stop, g.worker.done = nil, nil
	}
	return max(due-g.clock(), 0), again
}

// nextDue is when there is something to do again; false: not before blocks go. The
// caller holds mu.
func (p *Pool) nextDue() (due time.Duration, again bool) {
	g := p.paged
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
func (p *Pool) endWindow() (releasedBytes uint64, err error) {
	g := p.paged
	for first := true; ; first = false {
		p.layout.Lock()
		p.lock()
		if p.state != stateOpen {
			g.worker.watches = false
		}
		if !g.worker.watches || first && g.clock() < g.worker.since+g.keeper.Window() {
			p.mu.Unlock()
			p.layout.Unlock()
			return releasedBytes, nil
		}
		surplus := g.surplus(g.counts.Low)
		released, err := p.returnSurplus(min(surplus, pagesAtOnce))
		releasedBytes += released
		p.lock()
		if err == nil && released > 0 && surplus > pagesAtOnce {
			p.mu.Unlock()
			p.layout.Unlock()
			continue
		}
		g.keeper.GaveBack(releasedBytes/g.pageBytes, g.clock())
		g.worker.watches = p.tooManyIdle()
		g.worker.since = g.clock()
		g.counts.BeginWindow()
		p.mu.Unlock()
		p.layout.Unlock()
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
	if p.paged == nil {
		return 0, false, nil
	}
	p.lookAtCaches()
	released, err := p.endWindow()
	p.returned(released > 0, nil)
	p.mu.Lock()
	defer p.mu.Unlock()
	due, again = p.nextDue()
	return due, again, err
}

// returnSurplus gives back so many idle pages, as far as the pool's least allows.
// The caller holds layout and mu, which it lets go of.
func (p *Pool) returnSurplus(pages uint64) (releasedBytes uint64, err error) {
	g := p.paged
	spare := (p.held - min(p.held, p.leastHeld())) / g.pageBytes
	low := g.counts.Low
	chosen := g.chooseHighest(p.segments, min(pages, spare))
	g.counts.Low = low - min(low, chosen.count())
	p.mu.Unlock()
	if chosen.count() == 0 {
		return 0, nil
	}
	return p.returnPages(chosen)
}

// chooseHighest takes so many idle pages, or all, out of the tables, from the
// highest address down. The caller holds layout and mu.
func (g *paging) chooseHighest(segments []*segment, count uint64) (c chosenPages) {
	for _, s := range slices.Backward(segments) {
		for page := range s.pages.IdleFromTheTop() {
			if c.count() == count {
				return c
			}
			c.take(s, page)
		}
	}
	return c
}

// returned tells of pages that went back. The caller holds no lock.
func (p *Pool) returned(some bool, err error) {
	if err != nil {
		p.engine.Log(engine.Warning, fmt.Sprintf("pool %q could not give back idle pages: %v", p.config.Name, err))
	}
	if some {
		p.engine.SegmentsChanged()
		p.changed()
	}
}

// ReturnIdle gives back at once what the worker would give back in a while: the
// idle pages above Config.ReadyPages. It does nothing in a pool without pages.
func (p *Pool) ReturnIdle() (releasedBytes uint64, err error) {
	g := p.paged
	if g == nil {
		return 0, nil
	}
	p.layout.Lock()
	p.lock()
	if p.state != stateOpen {
		p.mu.Unlock()
		p.layout.Unlock()
		return 0, p.closedError("pool.return_idle")
	}
	released, err := p.returnSurplus(g.surplus(g.counts.Idle))
	p.layout.Unlock()
	p.returned(released > 0, nil)
	return released, err
}

// PauseReturn has no idle pages given back in the background until ResumeReturn
// was called as often. It waits for what is under way.
func (p *Pool) PauseReturn() {
	if p.paged == nil {
		return
	}
	p.mu.Lock()
	p.paged.worker.pauses++
	p.mu.Unlock()
	p.stopWorker()
}

// ResumeReturn ends PauseReturn.
func (p *Pool) ResumeReturn() {
	if p.paged == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paged.worker.pauses--
	if p.paged.caches.watches && p.state == stateOpen {
		p.startWorker()
	}
	p.leftPages()
}

// stopWorker ends the worker and waits for it. The caller holds no lock.
func (p *Pool) stopWorker() {
	if p.paged == nil {
		return
	}
	p.mu.Lock()
	w := &p.paged.worker
	stop, done := w.stop, w.done
	w.stop = nil
	p.mu.Unlock()
	if done == nil {
		return
	}
	if stop != nil {
		close(stop)
	}
	<-done
	p.mu.Lock()
	if w.done == done {
		w.done = nil
	}
	p.mu.Unlock()
}
