package pool

import "time"

// Blocks that wait in thread caches keep the pages that they lie in: a few of them,
// each in a page of its own, keep a hundred times as much memory as they have. While
// caches are used that is the price of their speed, and they bound what they keep.
// When they are hardly used any more the worker takes back what they hold idle. It
// looks once in cacheWindow, from when the caches get or give back blocks until they
// have come to rest.
const (
	cacheWindow = 100 * time.Millisecond
	// cacheCalls is how many allocations and frees in a window are hardly any: to
	// lease that many blocks again takes less than a thousandth of it.
	cacheCalls = 64
)

// watchCaches is called after the caches have leased or given back blocks. The
// caller holds mu.
func (ls *leases) watchCaches() {
	g := ls.heap.paged
	if g == nil || g.caches.watches || ls.heap.state != stateOpen {
		return
	}
	g.caches = cacheWatch{watches: true, since: g.clock()}
	ls.heap.startWorker()
}

// lookAtCaches takes back what the caches hold idle if they are hardly used, once
// it is time to look.
func (p *Pool) lookAtCaches() {
	g := p.heap.paged
	p.heap.mu.Lock()
	w, cache := &g.caches, p.leases.cache
	due := w.watches && g.clock()-w.since >= cacheWindow
	if due && (cache == nil || p.heap.state != stateOpen) {
		w.watches, due = false, false
	}
	p.heap.mu.Unlock()
	if !due {
		return
	}
	counts := cache.Counts()
	calls := counts.Allocations + counts.Frees
	p.heap.mu.Lock()
	resting := w.known && calls-w.calls < cacheCalls
	w.calls, w.known, w.since, w.watches = calls, true, g.clock(), !resting
	p.heap.mu.Unlock()
	if resting && counts.IdleBytes > 0 {
		p.Flush()
	}
}
