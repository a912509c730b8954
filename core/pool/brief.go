package pool

import (
	"ferrum_mem/core/mirror"
	"ferrum_mem/core/track"
)

// Brief returns the present values of the counters. It includes the caches as far as the
// calling thread knows their state.
func (p *Pool) Brief() track.Brief {
	p.heap.mu.LockToRead()
	if own := p.leases.own; own != nil {
		p.heap.mu.Unlock()
		counts := own.OwnCounts()
		p.heap.mu.LockToRead()
		p.leases.learn(&counts)
	}
	counters := p.heap.counters.Brief()
	counters.LargestFreeBytes = min(p.heap.largestFree(), counters.CachedBytes)
	p.heap.mu.Unlock()
	return counters
}

// PublishAt sets the place where Publish publishes the pool's own counters; nil ends
// publishing.
func (p *Pool) PublishAt(place *mirror.Pool) {
	p.heap.mu.Lock()
	defer p.heap.mu.Unlock()
	p.publishedAt = place
	if place == nil {
		p.heap.mu.SetPlace(nil)
		return
	}
	p.heap.mu.SetPlace(&place.Version)
}

// Publish publishes the counters, unless they are published already or have no place. They
// stay published until they change: every change takes mu with Lock, which invalidates
// them. The part of the caches is left out. learn changes that part and the total alike,
// so it needs only LockToRead.
func (p *Pool) Publish() {
	p.heap.mu.LockToRead()
	defer p.heap.mu.Unlock()
	if !p.heap.mu.NeedsPublish() {
		return
	}
	if p.leases.cache != nil && p.leases.number == 0 {
		return
	}
	own := p.heap.counters.Own()
	p.publishedAt.Counters = mirror.PoolCounters{
		Cache: p.leases.number, ActiveBytes: own.ActiveBytes, CachedBytes: own.CachedBytes,
		UnusableBytes: own.UnusableBytes, LiveBlocks: own.LiveBlocks, LargestFreeBytes: p.heap.largestFree(),
		LeasedBytes: p.leases.leased, ReturnedBytes: p.leases.returned,
	}
	p.heap.mu.Publish()
}
