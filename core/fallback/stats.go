package fallback

import (
	"fmt"
	"math"
	"sync/atomic"
)

// MemoryStats has the counters of a pool. They count only its own buffers: the device
// may be full while the pool is not.
type MemoryStats struct {
	// TotalAllocatedBytes counts the buffers that the pool has allocated from the
	// device: those in use and those pooled.
	TotalAllocatedBytes uint64 `json:"total_allocated_bytes"`
	InUseBytes          uint64 `json:"in_use_bytes"`
	PooledBytes         uint64 `json:"pooled_bytes"`
	// PeakBytes is the highest value of InUseBytes.
	PeakBytes uint64 `json:"peak_bytes"`
	// PoolHits and PoolMisses count the requests that were and were not served from
	// the buckets.
	PoolHits     uint64 `json:"pool_hits"`
	PoolMisses   uint64 `json:"pool_misses"`
	CPUFallbacks uint64 `json:"cpu_fallbacks"`
	// ActiveBuffers counts the buffers in use, tracked or not.
	ActiveBuffers uint64 `json:"active_buffers"`
}

// HitRate returns hits / (hits + misses); 0 without requests.
func (s MemoryStats) HitRate() float64 {
	asked := float64(s.PoolHits) + float64(s.PoolMisses)
	if asked == 0 {
		return 0
	}
	return float64(s.PoolHits) / asked
}

// Utilization returns the part of the allocated bytes that is in use; 0 if nothing is
// allocated.
func (s MemoryStats) Utilization() float64 {
	if s.TotalAllocatedBytes == 0 {
		return 0
	}
	return float64(s.InUseBytes) / float64(s.TotalAllocatedBytes)
}

// Efficiency is Utilization, but 1 if nothing is allocated, because nothing is wasted
// then.
func (s MemoryStats) Efficiency() float64 {
	if s.TotalAllocatedBytes == 0 {
		return 1
	}
	return s.Utilization()
}

// MemoryRatios has the ratios of the counters of a pool.
type MemoryRatios struct{ HitRate, Utilization, Efficiency float64 }

// Ratios returns HitRate, Utilization and Efficiency.
func (s MemoryStats) Ratios() MemoryRatios {
	return MemoryRatios{HitRate: s.HitRate(), Utilization: s.Utilization(), Efficiency: s.Efficiency()}
}

// Merge returns the sum of the counters of two pools. Sums above 64 bits are limited to
// the largest value. The peak is the larger of the two peaks, because the pools need
// not have had their peaks together: it is a lower bound of the common peak.
func (s MemoryStats) Merge(other MemoryStats) MemoryStats {
	return MemoryStats{
		TotalAllocatedBytes: capped(s.TotalAllocatedBytes, other.TotalAllocatedBytes),
		InUseBytes:          capped(s.InUseBytes, other.InUseBytes),
		PooledBytes:         capped(s.PooledBytes, other.PooledBytes),
		PeakBytes:           max(s.PeakBytes, other.PeakBytes),
		PoolHits:            capped(s.PoolHits, other.PoolHits),
		PoolMisses:          capped(s.PoolMisses, other.PoolMisses),
		CPUFallbacks:        capped(s.CPUFallbacks, other.CPUFallbacks),
		ActiveBuffers:       capped(s.ActiveBuffers, other.ActiveBuffers),
	}
}

func capped(a, b uint64) uint64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return math.MaxUint64
}

// String returns one line for people; MB means 2^20 bytes.
func (s MemoryStats) String() string {
	return fmt.Sprintf("allocated %.2f MB, in use %.2f MB, pooled %.2f MB, peak %.2f MB, hit rate %.1f%%, %d CPU fallbacks, %d active buffers",
		megabytes(s.TotalAllocatedBytes), megabytes(s.InUseBytes), megabytes(s.PooledBytes), megabytes(s.PeakBytes),
		s.HitRate()*100, s.CPUFallbacks, s.ActiveBuffers)
}

func megabytes(bytes uint64) float64 { return float64(bytes) / (1 << 20) }

// counters has the values of MemoryStats as atomic counters. Each is right at any time.
// Together they are consistent while no call is in progress.
type counters struct {
	total, inUse, pooled, peak, hits, misses, fallbacks, active atomic.Uint64
}

func (c *counters) read() MemoryStats {
	s := MemoryStats{
		TotalAllocatedBytes: c.total.Load(), InUseBytes: c.inUse.Load(), PooledBytes: c.pooled.Load(),
		PeakBytes: c.peak.Load(), PoolHits: c.hits.Load(), PoolMisses: c.misses.Load(),
		CPUFallbacks: c.fallbacks.Load(), ActiveBuffers: c.active.Load(),
	}
	// Another thread may be about to update the peak.
	s.PeakBytes = max(s.PeakBytes, s.InUseBytes)
	return s
}

// use adds to the bytes in use, and updates the peak.
func (c *counters) use(bytes uint64) {
	c.active.Add(1)
	now := c.inUse.Add(bytes)
	for {
		peak := c.peak.Load()
		if now <= peak || c.peak.CompareAndSwap(peak, now) {
			return
		}
	}
}

// minus subtracts from a counter.
func minus(c *atomic.Uint64, n uint64) { c.Add(-n) }
