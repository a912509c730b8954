package vmm

// Stats is a pool at one moment. "Pages" are counts.
type Stats struct {
	VirtualCapacityBytes uint64 `json:"virtual_capacity_bytes"`
	PageBytes            uint64 `json:"page_bytes"`
	// PhysicalBytes is the memory behind mapped and retiring pages.
	PhysicalBytes     uint64 `json:"physical_bytes"`
	PeakPhysicalBytes uint64 `json:"peak_physical_bytes"`
	// RequestedBytes is what the mapped pages were asked for with.
	RequestedBytes uint64 `json:"requested_bytes"`
	MappedPages    uint64 `json:"mapped_pages"`
	// RetiringPages were freed, and queued work may still use them.
	RetiringPages uint64 `json:"retiring_pages"`
	// ParkedPages were freed and are no more used, but are not unmapped yet: they
	// are ready for their range, and after an unmapping for any.
	ParkedPages uint64 `json:"parked_pages"`
	// ReadyPages are physical pages that are mapped nowhere, of all owners.
	ReadyPages uint64 `json:"ready_pages"`
	// HeldBytes is what was had from the device, of all owners.
	HeldBytes  uint64 `json:"held_bytes"`
	LimitBytes uint64 `json:"limit_bytes"`
	// AvailableBytes is how much the limit still allows to be mapped.
	AvailableBytes uint64 `json:"available_bytes"`
	// TableBytes is address space for the tables, of which only the part that was
	// used has memory.
	TableBytes  uint64 `json:"table_bytes"`
	Allocations uint64 `json:"allocations"`
	// MovedPages counts the movable pages that another owner had last.
	MovedPages uint64 `json:"moved_pages"`
	// UnmappedShare is 1 - mapped pages / all pages: what seed 003 calls its
	// fragmentation ratio. An empty pool has 1, a full one 0.
	UnmappedShare float32 `json:"fragmentation_ratio"`
	// Fragmentation is 1 - longest free run / free address space; 0 when nothing
	// is free.
	Fragmentation       float32 `json:"fragmentation"`
	LargestFreeRunBytes uint64  `json:"largest_free_run_bytes"`
	SleepStats
}

// stats costs the same whatever the size of the space.
func (s *space) stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.physical.mu.Lock()
	defer s.physical.mu.Unlock()
	return s.statsLocked()
}

// statsLocked is stats. The caller holds the mu of the space and of the stock.
func (s *space) statsLocked() Stats {
	stats := Stats{
		VirtualCapacityBytes: s.table.extent.Bytes(), PageBytes: s.table.extent.PageBytes, PhysicalBytes: s.table.physicalBytes(),
		PeakPhysicalBytes: s.peak * s.table.extent.PageBytes, RequestedBytes: s.table.requested,
		MappedPages: s.table.live.Count(), RetiringPages: s.table.retiring, ParkedPages: s.table.parked.Count(),
		TableBytes: s.table.tableBytes(), Allocations: s.allocations, MovedPages: s.owner.moved,
		LargestFreeRunBytes: s.table.free.Longest() * s.table.extent.PageBytes,
		SleepStats:          s.table.sleepStats(),
		UnmappedShare:       float32(1 - float64(s.table.live.Count())/float64(s.table.extent.Pages)),
	}
	if s.table.free.Pages() > 0 {
		stats.Fragmentation = float32(1 - float64(s.table.free.Longest())/float64(s.table.free.Pages()))
	}
	ph := s.physical
	stats.ReadyPages, stats.HeldBytes = ph.idle, ph.created*ph.pageBytes
	stats.LimitBytes = ph.limitLocked()
	stats.AvailableBytes = ph.available() * ph.pageBytes
	return stats
}

// sleepStats is what sleeps, and where. The caller holds mu.
func (t *pageTable) sleepStats() SleepStats {
	stats := t.counts
	stats.AsleepPages, stats.AsleepBytes = t.asleep.Count(), t.asleep.Count()*t.extent.PageBytes
	stats.AsleepHostBytes, stats.AsleepFileBytes = t.saved.Held().HostBytes, t.saved.Held().FileBytes
	stats.AsleepDiscardedBytes = t.saved.Held().DiscardedBytes
	return stats
}

// physicalBytes is the memory behind mapped and retiring pages, and behind those that
// sleep and could not be unmapped.
func (t *pageTable) physicalBytes() uint64 {
	return (t.live.Count() + t.retiring + t.jammed) * t.extent.PageBytes
}
