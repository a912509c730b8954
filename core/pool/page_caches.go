package pool

import "time"

// Idle blocks in thread caches keep the pages in which they lie. A few such blocks, each
// in a page of its own, can keep a hundred times their own size. While the caches are
// used, that is the price of their speed, and the caches bound what they keep. When the
// caches are hardly used any more, the worker takes their idle blocks back. The worker
// checks the caches once in cacheWindow. It starts when the caches lease or return
// blocks, and stops when the caches are no longer used.
const (
	cacheWindow = 100 * time.Millisecond
	// cacheCalls is the number of allocations and frees in a window below which the
	// caches count as unused. Leasing so many blocks again takes less than a thousandth
	// of a window.
	cacheCalls = 64
)

// watchCaches is called after the caches have leased or returned blocks. The caller holds
// mu.
func (ls *leases) watchCaches() {
	g := ls.heap.paged
	if g == nil || g.caches.watches || ls.heap.state != stateOpen {
		return
	}
	g.caches = cacheWatch{watches: true, since: g.clock()}
	ls.heap.startWorker()
}

// checkCaches takes back the idle blocks of the caches if the window is over and the
// caches were hardly used in it.
func (p *Pool) checkCaches() {
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
