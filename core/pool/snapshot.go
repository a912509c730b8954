package pool

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
)

// Snapshot describes a pool at one moment, for reports.
type Snapshot struct {
	Name       string            `json:"name"`
	Strategy   string            `json:"strategy"`
	Statistics track.Statistics  `json:"statistics"`
	Info       Info              `json:"info"`
	Segments   []SegmentSnapshot `json:"segments"`
	// HighWaterBytes is the highest end of any block so far, from the start of the pool's
	// usable memory. It is 0 if the pool has ever had more than one segment, because the
	// addresses of several segments have no common start.
	HighWaterBytes uint64 `json:"high_water_bytes"`
}

// Info describes the memory of a pool at one moment. Pages are counts; they are 0 in a
// segmented pool.
type Info struct {
	HeldBytes uint64 `json:"held_bytes"`
	PageBytes uint64 `json:"page_bytes"`
	// MappedPages is the number of mapped pages. IdlePages is the number of those that
	// contain no part of a block.
	MappedPages uint64 `json:"mapped_pages"`
	IdlePages   uint64 `json:"idle_pages"`
	// ReadyPages is the number of idle pages that stay, for the present number of pages
	// in use.
	ReadyPages uint64 `json:"ready_pages"`
	Segments   uint64 `json:"segments"`
	// AddressBytes is the size of all segments, mapped or not.
	AddressBytes uint64 `json:"address_bytes"`
}

// Info describes the memory of the pool.
func (p *Pool) Info() Info {
	p.heap.mu.Lock()
	defer p.heap.mu.Unlock()
	return p.heap.infoLocked()
}

// infoLocked is Info. The caller holds mu.
func (h *heap) infoLocked() Info {
	info := Info{HeldBytes: h.held, Segments: uint64(len(h.segments))}
	for _, s := range h.segments {
		info.AddressBytes += s.memory.SizeBytes
		if s.pages != nil {
			info.MappedPages += s.pages.MappedCount()
		}
	}
	if g := h.paged; g != nil {
		info.PageBytes, info.IdlePages, info.ReadyPages = g.pageBytes, g.counts.Idle, g.readyNow()
	}
	return info
}

// SegmentSnapshot describes a segment at one moment. ActiveBytes is the size of its
// blocks that are live, in flight or leased to the thread caches.
type SegmentSnapshot struct {
	Address          device.Addr `json:"address"`
	SizeBytes        uint64      `json:"size_bytes"`
	ActiveBytes      uint64      `json:"active_bytes"`
	LargestFreeBytes uint64      `json:"largest_free_bytes"`
	// MappedBytes is the part of SizeBytes that is backed by memory: the mapped pages of
	// a segment of pages, and all of any other segment.
	MappedBytes uint64 `json:"mapped_bytes"`
	// Number is the count of segments that the pool had before this one. It distinguishes
	// a segment from an earlier one at the same address.
	Number uint64 `json:"-"`
}

// Snapshot describes the pool. The segments are in order of address. The statistics are
// of one moment; the segments are of one moment shortly after.
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
			Address: s.memory.Addr, SizeBytes: s.memory.SizeBytes,
			ActiveBytes:      stats.SizeBytes - stats.FreeBytes,
			LargestFreeBytes: p.heap.largestFreeOf(s, &stats), Number: s.number, MappedBytes: s.mappedBytes(),
		})
		if p.heap.segmentsCreated == 1 {
			snapshot.HighWaterBytes = stats.HighWaterBytes
		}
	}
	return snapshot
}

// SegmentChanges counts how often a segment was added or removed, so that a caller that
// tracks the segments knows when to read them again.
func (p *Pool) SegmentChanges() uint64 {
	p.heap.mu.Lock()
	defer p.heap.mu.Unlock()
	return p.heap.layoutChanges
}
