package pool

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
)

// Snapshot is a pool at one moment, for reports.
type Snapshot struct {
	Name       string            `json:"name"`
	Strategy   string            `json:"strategy"`
	Statistics track.Statistics  `json:"statistics"`
	Info       Info              `json:"info"`
	Segments   []SegmentSnapshot `json:"segments"`
	// HighWaterBytes is the highest end of any block that ever was live, from
	// the start of the pool's usable memory. It means something for a pool that
	// ever had one segment only, and is 0 for any other: the addresses of several
	// segments have no common start.
	HighWaterBytes uint64 `json:"high_water_bytes"`
}

// Info is how a pool has its memory, at one moment. Pages are counts, and 0 in a
// pool that takes segments whole.
type Info struct {
	HeldBytes uint64 `json:"held_bytes"`
	PageBytes uint64 `json:"page_bytes"`
	// MappedPages are mapped, and IdlePages are those of them that no block touches.
	MappedPages uint64 `json:"mapped_pages"`
	IdlePages   uint64 `json:"idle_pages"`
	// ReadyPages is how many idle pages stay, with as many in use as now.
	ReadyPages uint64 `json:"ready_pages"`
	Segments   uint64 `json:"segments"`
	// AddressBytes is the sum of the segments, mapped or not.
	AddressBytes uint64 `json:"address_bytes"`
}

// Info describes how the pool has its memory.
func (p *Pool) Info() Info {
	p.heap.mu.Lock()
	defer p.heap.mu.Unlock()
	return p.heap.infoLocked()
}

// infoLocked is Info. The caller holds mu.
func (h *heap) infoLocked() Info {
	info := Info{HeldBytes: h.held, Segments: uint64(len(h.segments))}
	for _, s := range h.segments {
		info.AddressBytes += s.had.SizeBytes
		if s.pages != nil {
			info.MappedPages += s.pages.MappedCount()
		}
	}
	if g := h.paged; g != nil {
		info.PageBytes, info.IdlePages, info.ReadyPages = g.pageBytes, g.counts.Idle, g.readyNow()
	}
	return info
}

// SegmentSnapshot is a segment at one moment. ActiveBytes is live, in
// flight or with the thread caches.
type SegmentSnapshot struct {
	Address          device.Addr `json:"address"`
	SizeBytes        uint64      `json:"size_bytes"`
	ActiveBytes      uint64      `json:"active_bytes"`
	LargestFreeBytes uint64      `json:"largest_free_bytes"`
	// MappedBytes is what of SizeBytes has memory behind it: all of it, or the
	// mapped pages of a segment of addresses.
	MappedBytes uint64 `json:"mapped_bytes"`
	// Number counts the pool's segments in the order in which they came, so it
	// tells a segment from an earlier one at the same address.
	Number uint64 `json:"-"`
}

// Snapshot describes the pool; segments are in the order of their addresses. The
// statistics are of one moment, the segments of one a little later.
func (p *Pool) Snapshot() Snapshot {
	stats := p.Statistics()
	p.heap.mu.Lock()
	defer p.heap.mu.Unlock()
	snapshot := Snapshot{
		Name: p.heap.config.Name, Strategy: p.heap.config.Strategy, Statistics: stats,
		Info: p.heap.infoLocked(), Segments: make([]SegmentSnapshot, 0, len(p.heap.segments)),
	}
	for _, s := range p.heap.segments {
		stats := s.strategy.Stats()
		snapshot.Segments = append(snapshot.Segments, SegmentSnapshot{
			Address: s.had.Addr, SizeBytes: s.had.SizeBytes,
			ActiveBytes:      stats.SizeBytes - stats.FreeBytes,
			LargestFreeBytes: p.heap.largestFreeOf(s, &stats), Number: s.number, MappedBytes: s.mappedBytes(),
		})
		if p.heap.born == 1 {
			snapshot.HighWaterBytes = stats.HighWaterBytes
		}
	}
	return snapshot
}

// SegmentChanges counts how often a segment came or went, so that a caller who
// follows the segments knows when to look at them again.
func (p *Pool) SegmentChanges() uint64 {
	p.heap.mu.Lock()
	defer p.heap.mu.Unlock()
	return p.heap.relaid
}
