package vmm

// Stats has the counters of a pool at one moment. Fields named Pages count pages.
type Stats struct {
	VirtualCapacityBytes uint64 `json:"virtual_capacity_bytes"`
	PageBytes            uint64 `json:"page_bytes"`
	// PhysicalBytes counts the memory of mapped and retiring pages.
	PhysicalBytes     uint64 `json:"physical_bytes"`
	PeakPhysicalBytes uint64 `json:"peak_physical_bytes"`
	// RequestedBytes is the requested size of the mapped pages.
	RequestedBytes uint64 `json:"requested_bytes"`
	MappedPages    uint64 `json:"mapped_pages"`
	// RetiringPages counts freed pages that queued work may still use.
	RetiringPages uint64 `json:"retiring_pages"`
	// ParkedPages counts freed pages that no work uses and that are still mapped. They
	// are ready for their own range, and after an unmap for any range.
	ParkedPages uint64 `json:"parked_pages"`
	// ReadyPages counts physical pages of all owners that are mapped nowhere.
	ReadyPages uint64 `json:"ready_pages"`
	// HeldBytes counts the memory of all owners that is allocated from the device.
	HeldBytes  uint64 `json:"held_bytes"`
	LimitBytes uint64 `json:"limit_bytes"`
	// AvailableBytes is the number of bytes that can still be mapped under the limit.
	AvailableBytes uint64 `json:"available_bytes"`
	// TableBytes is the address space of the tables. Only the part that was used has
	// memory.
	TableBytes  uint64 `json:"table_bytes"`
	Allocations uint64 `json:"allocations"`
	// MovedPages counts the movable pages that were taken from another owner.
	MovedPages uint64 `json:"moved_pages"`
	// UnmappedShare is 1 - mapped pages / all pages, which seed 003 calls the
	// fragmentation ratio. It is 1 for an empty pool and 0 for a full one.
	UnmappedShare float32 `json:"fragmentation_ratio"`
	// Fragmentation is 1 - longest free run / free address space; 0 if nothing is free.
	Fragmentation       float32 `json:"fragmentation"`
	LargestFreeRunBytes uint64  `json:"largest_free_run_bytes"`
	SleepStats
}

// stats has a constant cost, whatever the size of the space.
func (s *space) stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.physical.mu.Lock()
	defer s.physical.mu.Unlock()
	return s.statsLocked()
}

// statsLocked implements stats. The caller holds the mu of the space and of the
// Physical.
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

// sleepStats returns the counters of sleep. The caller holds mu.
func (t *pageTable) sleepStats() SleepStats {
	stats := t.counts
	stats.AsleepPages, stats.AsleepBytes = t.asleep.Count(), t.asleep.Count()*t.extent.PageBytes
	stats.AsleepHostBytes, stats.AsleepFileBytes = t.saved.Held().HostBytes, t.saved.Held().FileBytes
	stats.AsleepDiscardedBytes = t.saved.Held().DiscardedBytes
	return stats
}

// physicalBytes returns the memory of mapped and retiring pages, and of sleeping pages
// that could not be unmapped.
func (t *pageTable) physicalBytes() uint64 {
	return (t.live.Count() + t.retiring + t.stillMapped) * t.extent.PageBytes
}
