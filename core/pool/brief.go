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
	defer p.mu.Unlock()
	if cache, ok := p.leases.cache.(ownCounter); ok {
		p.mu.Unlock()
		counts := cache.OwnCounts()
		p.mu.Lock()
		p.learn(&counts)
	}
	books := p.books.Brief()
	for _, s := range p.segments {
		own := s.strategy.Stats()
		books.LargestFreeBytes = max(books.LargestFreeBytes, p.largestFreeOf(s, &own))
	}
	books.LargestFreeBytes = min(books.LargestFreeBytes, books.CachedBytes)
	return books
}
