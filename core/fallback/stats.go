package fallback

import (
	"fmt"
	"math"
	"sync/atomic"
)

// MemoryStats is the counters of a pool. Nothing but its own buffers is in them:
// the device may well be full while the pool is not.
type MemoryStats struct {
	// TotalAllocatedBytes is the buffers that were had from the device and not given
	// back: those in use and those pooled.
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

// HitRate is hits / (hits + misses); 0 when nothing was asked for.
func (s MemoryStats) HitRate() float64 {
	asked := float64(s.PoolHits) + float64(s.PoolMisses)
	if asked == 0 {
		return 0
	}
	return float64(s.PoolHits) / asked
}

// Utilization is the part of what was had from the device that is in use; 0 when
// that is nothing.
func (s MemoryStats) Utilization() float64 {
	if s.TotalAllocatedBytes == 0 {
		return 0
	}
	return float64(s.InUseBytes) / float64(s.TotalAllocatedBytes)
}

// Efficiency is Utilization, but 1 when nothing was had from the device: nothing
// is wasted then.
func (s MemoryStats) Efficiency() float64 {
	if s.TotalAllocatedBytes == 0 {
		return 1
	}
	return s.Utilization()
}

// MemoryRatios is what the counters of a pool come to.
type MemoryRatios struct{ HitRate, Utilization, Efficiency float64 }

// Ratios is HitRate, Utilization and Efficiency.
func (s MemoryStats) Ratios() MemoryRatios {
	return MemoryRatios{HitRate: s.HitRate(), Utilization: s.Utilization(), Efficiency: s.Efficiency()}
}

// Merge is the counters of two pools together. What does not fit 64 bits stays at
// their end. The peak is the larger of the two, since the pools need not have
// peaked together: a lower bound of that of both.
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

// String is one line for people, MB being 2^20 bytes.
func (s MemoryStats) String() string {
	return fmt.Sprintf("allocated %.2f MB, in use %.2f MB, pooled %.2f MB, peak %.2f MB, hit rate %.1f%%, %d CPU fallbacks, %d active buffers",
		megabytes(s.TotalAllocatedBytes), megabytes(s.InUseBytes), megabytes(s.PooledBytes), megabytes(s.PeakBytes),
		s.HitRate()*100, s.CPUFallbacks, s.ActiveBuffers)
}

func megabytes(bytes uint64) float64 { return float64(bytes) / (1 << 20) }

// counters is MemoryStats under change. Each is right by itself at any time, and
// all fit together while no call is under way.
type counters struct {
	total, inUse, pooled, peak, hits, misses, fallbacks, active atomic.Uint64
}

func (c *counters) read() MemoryStats {
	s := MemoryStats{
		TotalAllocatedBytes: c.total.Load(), InUseBytes: c.inUse.Load(), PooledBytes: c.pooled.Load(),
		PeakBytes: c.peak.Load(), PoolHits: c.hits.Load(), PoolMisses: c.misses.Load(),
		CPUFallbacks: c.fallbacks.Load(), ActiveBuffers: c.active.Load(),
	}
	// A rise may be on its way into the peak.
	s.PeakBytes = max(s.PeakBytes, s.InUseBytes)
	return s
}

// use adds to what is in use, and to the peak.
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

// minus takes from a counter.
func minus(c *atomic.Uint64, n uint64) { c.Add(-n) }
