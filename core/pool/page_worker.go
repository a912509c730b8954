package pool

import (
	"fmt"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
)

// idleTick is how long pages are idle before the worker gives them back, up to
// twice that: what is freed and taken again before stays mapped.
const idleTick = 10 * time.Millisecond

// pageWorker gives idle pages back in the background. Its goroutine runs only
// while there are more than are to stay. All fields are under Pool.mu.
type pageWorker struct {
	// stop ends the goroutine, and done says that it has ended; nil: none runs.
	stop chan struct{}
	done <-chan struct{}
	// pauses counts those who want no work done.
	pauses int
}

// leftPages is called after blocks have left pages. The caller holds mu.
func (p *Pool) leftPages() {
	g := p.paged
	if g.idle == 0 {
		return
	}
	if p.held > p.threshold {
		p.overfull = true
	}
	if g.worker.done == nil && g.surplus(g.idle) > 0 {
		p.startWorker()
	}
}

func (p *Pool) startWorker() {
	g := p.paged
	if p.state != stateOpen || g.worker.pauses > 0 || p.held <= max(g.floorBytes, p.minHeld) {
		return
	}
	g.low = g.idle
	stop := make(chan struct{})
	g.worker.stop = stop
	g.worker.done = device.Go("pages of pool "+p.config.Name, func() { p.work(stop) })
}

// work gives back what was idle from one tick to the next, until no more is left
// than may stay.
func (p *Pool) work(stop <-chan struct{}) {
	timer := time.NewTimer(idleTick)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return
		case <-timer.C:
		}
		if !p.workOnce() {
			return
		}
		timer.Reset(idleTick)
	}
}

// workOnce is one tick of the worker; false ends it.
func (p *Pool) workOnce() bool {
	p.layout.Lock()
	p.lock()
	g := p.paged
	surplus := g.surplus(g.low)
	_, err := p.returnSurplus(surplus)
	p.lock()
	g.low = g.idle
	again := err == nil && g.surplus(g.idle) > 0 && p.held > max(g.floorBytes, p.minHeld)
	if !again {
		g.worker.stop, g.worker.done = nil, nil
	}
	p.mu.Unlock()
	p.layout.Unlock()
	p.returned(surplus > 0, err)
	return again
}

// returnSurplus gives back so many idle pages, as far as the pool's least allows.
// The caller holds layout and mu, which it lets go of.
func (p *Pool) returnSurplus(pages uint64) (releasedBytes uint64, err error) {
	g := p.paged
	least := max(g.floorBytes, p.minHeld)
	chosen := g.chooseIdle(p.segments, func(taken uint64, _ *segment, _ uint64) bool {
		bytes := (taken + 1) * g.pageBytes
		return taken < pages && p.held >= bytes && p.held-bytes >= least
	})
	p.mu.Unlock()
	if chosen.count() == 0 {
		return 0, nil
	}
	return p.returnPages(chosen)
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
	released, err := p.returnSurplus(g.surplus(g.idle))
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
