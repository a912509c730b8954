package pool

import "ferrum_mem/core/track"

// freeze prevents changes of the pool's own counters until thaw, so that the caches can
// be counted at the same moment. Lease and ReturnLeased continue: they only move bytes
// between the pool and the caches. Threads that waited for the last thaw run first.
// freeze returns the cache, or nil.
func (ls *leases) freeze() Cache {
	ls.census.Lock()
	ls.heap.mu.LockToRead()
	defer ls.heap.mu.Unlock()
	for ls.heap.awaiting > 0 {
		ls.heap.passed.Wait()
	}
	ls.heap.frozen = true
	return ls.cache
}

func (ls *leases) thaw() {
	ls.heap.mu.LockToRead()
	ls.heap.frozen = false
	ls.heap.thawed.Broadcast()
	ls.heap.mu.Unlock()
	ls.census.Unlock()
}

// Statistics returns the counters of the pool as of one moment.
func (p *Pool) Statistics() track.Statistics {
	p.heap.mu.LockToRead()
	if p.leases.cache == nil || p.leases.leased == 0 {
		// Caches that have no leased block have nothing to count.
		defer p.heap.mu.Unlock()
		return p.heap.statisticsLocked()
	}
	p.heap.mu.Unlock()
	cache := p.leases.freeze()
	defer p.leases.thaw()
	p.heap.mu.LockToRead()
	stats, outside, was := p.heap.statisticsLocked(), p.heap.counters.Outside(), p.leases.leaseTotals
	p.heap.mu.Unlock()
	if cache == nil {
		return stats
	}
	counts := cache.Counts()
	p.heap.mu.LockToRead()
	p.leases.learn(&counts)
	p.heap.mu.Unlock()
	return stats.With(outside, was.outside(&counts), p.heap.config.Stats)
}

// statisticsWith is Statistics with the given counts of the caches; nil means that there
// are no caches. The caller holds mu.
func (ls *leases) statisticsWith(counts *CacheCounts) track.Statistics {
	stats := ls.heap.statisticsLocked()
	if counts == nil {
		return stats
	}
	return stats.With(ls.heap.counters.Outside(), ls.outside(counts), ls.heap.config.Stats)
}

// statisticsLocked is Statistics without the caches. The caller holds mu.
func (h *heap) statisticsLocked() track.Statistics {
	stats := h.counters.Statistics()
	stats.LargestFreeBytes = h.largestFree()
	return stats
}

// learn stores counts of the caches in the counters. It skips counts that are older than
// the pool's own state: they may include live bytes of blocks that have returned to the
// pool. The caller holds mu.
func (ls *leases) learn(c *CacheCounts) {
	if c == nil || c.EnteredBytes > ls.leased || c.LeftBytes < ls.returned || !c.agree() {
		return
	}
	ls.heap.counters.SetOutside(ls.outside(c))
}

// Tags returns the use of live blocks by tag, the largest first. It reads the blocks of
// the caches in slices, so the result is not of one moment.
func (p *Pool) Tags() []track.TagUse {
	p.heap.mu.LockToRead()
	uses, cache := p.heap.tags.Uses(nil), p.leases.cache
	p.heap.mu.Unlock()
	if cache == nil {
		return track.SumTags(uses)
	}
	byTag := map[uint32]track.TagUse{}
	room := new(slice)
	for place, more := uint64(0), true; more; more = place != 0 {
		var n int
		n, place = cache.Next(place, room.cached[:])
		for _, c := range room.cached[:n] {
			if !c.Live {
				continue
			}
			use := byTag[c.Tag]
			use.RequestedBytes += c.RequestedBytes
			use.AllocatedBytes += c.SizeBytes
			use.Blocks++
			byTag[c.Tag] = use
		}
	}
	p.heap.mu.LockToRead()
	for tag, use := range byTag {
		use.Tag = p.heap.tags.Name(tag)
		uses = append(uses, use)
	}
	p.heap.mu.Unlock()
	return track.SumTags(uses)
}

// largestFree returns the longest free run of all segments. The caller holds mu.
func (h *heap) largestFree() (bytes uint64) {
	for _, s := range h.segments {
		stats := s.strategy.Stats()
		bytes = max(bytes, h.largestFreeOf(s, &stats))
	}
	return bytes
}
