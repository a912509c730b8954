package pool

import (
	"ferrum_mem/core/mirror"
	"ferrum_mem/core/track"
)

// Brief is the present values of the books. What the caches hold is taken as
// their calling thread knows it.
func (p *Pool) Brief() track.Brief {
	p.mu.Peek()
	if own := p.leases.own; own != nil {
		p.mu.Unlock()
		counts := own.OwnCounts()
		p.mu.Peek()
		p.learn(&counts)
	}
	books := p.books.Brief()
	books.LargestFreeBytes = min(p.largestFree(), books.CachedBytes)
	p.mu.Unlock()
	return books
}

// ShowAt has the pool's own books shown at a place from now on, when Show asks for it;
// nil: nowhere.
func (p *Pool) ShowAt(place *mirror.Pool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shownAt = place
	if place == nil {
		p.mu.Place(nil)
		return
	}
	p.mu.Place(&place.Version)
}

// Show shows the books, unless they are shown or there is no place for them. They stay
// so until they change: all that changes them takes mu by Lock. The caches' part is
// left out. Hearing of it (learn) moves the whole and that part alike, so that it
// needs no more than Peek.
func (p *Pool) Show() {
	p.mu.Peek()
	defer p.mu.Unlock()
	if !p.mu.Wanted() {
		return
	}
	if p.leases.cache != nil && p.leases.number == 0 {
		return
	}
	own := p.books.Own()
	p.shownAt.Books = mirror.PoolBooks{
		Cache: p.leases.number, ActiveBytes: own.ActiveBytes, CachedBytes: own.CachedBytes,
		UnusableBytes: own.UnusableBytes, LiveBlocks: own.LiveBlocks, LargestFreeBytes: p.largestFree(),
		LeasedBytes: p.leases.leased, ReturnedBytes: p.leases.returned,
	}
	p.mu.Show()
}
