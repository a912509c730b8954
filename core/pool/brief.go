package pool

import (
	"ferrum_mem/core/mirror"
	"ferrum_mem/core/track"
)

// Brief is the present values of the books. What the caches hold is taken as
// their calling thread knows it.
func (p *Pool) Brief() track.Brief {
	p.heap.mu.Peek()
	if own := p.leases.own; own != nil {
		p.heap.mu.Unlock()
		counts := own.OwnCounts()
		p.heap.mu.Peek()
		p.leases.learn(&counts)
	}
	books := p.heap.books.Brief()
	books.LargestFreeBytes = min(p.heap.largestFree(), books.CachedBytes)
	p.heap.mu.Unlock()
	return books
}

// ShowAt has the pool's own books shown at a place from now on, when Show asks for it;
// nil: nowhere.
func (p *Pool) ShowAt(place *mirror.Pool) {
	p.heap.mu.Lock()
	defer p.heap.mu.Unlock()
	p.shownAt = place
	if place == nil {
		p.heap.mu.Place(nil)
		return
	}
	p.heap.mu.Place(&place.Version)
}

// Show shows the books, unless they are shown or there is no place for them. They stay
// so until they change: all that changes them takes mu by Lock. The caches' part is
// left out. Hearing of it (learn) moves the whole and that part alike, so that it
// needs no more than Peek.
func (p *Pool) Show() {
	p.heap.mu.Peek()
	defer p.heap.mu.Unlock()
	if !p.heap.mu.Wanted() {
		return
	}
	if p.leases.cache != nil && p.leases.number == 0 {
		return
	}
	own := p.heap.books.Own()
	p.shownAt.Books = mirror.PoolBooks{
		Cache: p.leases.number, ActiveBytes: own.ActiveBytes, CachedBytes: own.CachedBytes,
		UnusableBytes: own.UnusableBytes, LiveBlocks: own.LiveBlocks, LargestFreeBytes: p.heap.largestFree(),
		LeasedBytes: p.leases.leased, ReturnedBytes: p.leases.returned,
	}
	p.heap.mu.Show()
}
