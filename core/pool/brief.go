package pool

import "ferrum_mem/core/track"

// ownCounter is a Cache that can count without stopping the threads that use it.
type ownCounter interface {
	// OwnCounts is Counts as far as the calling thread and the core know: what
	// another thread did since it last asked for more is left out.
	OwnCounts() CacheCounts
}

// Brief is the present values of the books. What the caches hold is taken as
// their calling thread knows it.
func (p *Pool) Brief() track.Brief {
	p.mu.Lock()
	if own := p.leases.own; own != nil {
		p.mu.Unlock()
		counts := own.OwnCounts()
		p.mu.Lock()
		p.learn(&counts)
	}
	books := p.books.Brief()
	for _, s := range p.segments {
		stats := s.strategy.Stats()
		books.LargestFreeBytes = max(books.LargestFreeBytes, p.largestFreeOf(s, &stats))
	}
	p.mu.Unlock()
	books.LargestFreeBytes = min(books.LargestFreeBytes, books.CachedBytes)
	return books
}
