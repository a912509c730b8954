package vmm

import (
	"slices"
)

// ModelStats has the counters of a model at one moment.
type ModelStats struct {
	ID string `json:"id"`
	Stats
	// GuaranteedBytes and MaxBytes are in whole pages; MaxBytes 0 means no maximum of
	// its own. RequestedGuaranteeBytes is the requested guarantee: the part above
	// GuaranteedBytes waits for pages.
	GuaranteedBytes         uint64 `json:"guaranteed_bytes"`
	RequestedGuaranteeBytes uint64 `json:"requested_guarantee_bytes"`
	MaxBytes                uint64 `json:"max_bytes"`
	Priority                int32  `json:"priority"`
	// CachedBytes counts unused memory that the model used last. The model can use it
	// as it is; other models can use it after it was zeroed.
	CachedBytes uint64 `json:"cached_bytes"`
	ModelCounts
}

// GlobalStats has the counters of an elastic pool at one moment.
type GlobalStats struct {
	PhysicalLimitBytes uint64 `json:"physical_limit_bytes"`
	// PhysicalBytes counts the memory that the models use: mapped, retiring and
	// pending. Pending memory is granted to allocations in progress. The sum exceeds
	// the limit only after the limit was lowered.
	PhysicalBytes     uint64 `json:"physical_bytes"`
	PeakPhysicalBytes uint64 `json:"peak_physical_bytes"`
	PendingBytes      uint64 `json:"pending_bytes"`
	Models            uint64 `json:"models"`
	VirtualBytes      uint64 `json:"virtual_bytes"`
	GuaranteedBytes   uint64 `json:"guaranteed_bytes"`
	RetiringBytes     uint64 `json:"retiring_bytes"`
	// CachedBytes counts unused memory that the pool holds from the device.
	CachedBytes uint64 `json:"cached_bytes"`
	// HeldBytes counts the memory that the pool holds from the device.
	HeldBytes uint64 `json:"held_bytes"`
	// Waiting counts the allocations in a queue.
	Waiting uint64 `json:"waiting"`
}

// ElasticStats has the counters of an elastic pool and of its models, in order of
// registration. All are of one moment, so the sums agree.
type ElasticStats struct {
	GlobalStats
	Each []ModelStats `json:"each"`
}

// Stats returns all counters of the pool.
func (s *Elastic) Stats() ElasticStats {
	for {
		if stats, ok := s.tryStats(); ok {
			return stats
		}
	}
}

// tryStats returns false if models were added or removed during the call. It takes the
// locks of several spaces in order of registration, as tryClose does. No other function
// takes more than one.
func (s *Elastic) tryStats() (stats ElasticStats, ok bool) {
	s.mu.Lock()
	listed := s.ordered.Copy()
	s.mu.Unlock()
	for _, m := range listed {
		m.space.mu.Lock()
		defer m.space.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(listed, s.ordered.Copy()) {
		return ElasticStats{}, false
	}
	ph := s.physical
	ph.mu.Lock()
	defer ph.mu.Unlock()
	stats.GlobalStats = GlobalStats{
		PhysicalLimitBytes: s.scale.bytes(s.quota.limit), PhysicalBytes: s.scale.bytes(s.quota.used),
		PendingBytes: s.scale.bytes(s.quota.used), PeakPhysicalBytes: s.scale.bytes(s.peak),
		GuaranteedBytes: s.scale.bytes(s.quota.guaranteed), CachedBytes: s.scale.bytes(ph.created - min(ph.used, ph.created)),
		HeldBytes: s.scale.bytes(ph.created), Waiting: uint64(len(s.stage.line.waiting) + len(s.supply.waiting)),
	}
	for _, m := range listed {
		if m.space.table.state == stateClosed {
			continue
		}
		each := m.stats()
		stats.Each = append(stats.Each, each)
		stats.Models++
		stats.VirtualBytes += each.VirtualCapacityBytes
		stats.RetiringBytes += s.scale.bytes(each.RetiringPages)
		stats.PendingBytes -= each.PhysicalBytes
		stats.Waiting += uint64(len(m.stage.line.waiting))
	}
	return stats, true
}

// stats returns the model's counters. The caller holds the mu of the space, of the pool
// and of the Physical.
func (m *Model) stats() ModelStats {
	s, share := m.shared, m.share
	stats := ModelStats{
		ID: m.id, Stats: m.space.statsLocked(), GuaranteedBytes: s.scale.bytes(share.guaranteed),
		RequestedGuaranteeBytes: s.scale.bytes(share.asked), Priority: share.priority,
		CachedBytes: s.scale.bytes(m.space.table.parked.Count() + uint64(len(m.space.owner.idle))), ModelCounts: m.counts,
	}
	if share.most != noBound {
		stats.MaxBytes = s.scale.bytes(share.most)
	}
	// A model reports the limit of the pool, and the part of it that the model can
	// still get.
	stats.LimitBytes = s.scale.bytes(s.quota.limit)
	stats.AvailableBytes = s.scale.bytes(s.quota.available(share))
	return stats
}

// GlobalStats returns the counters of the pool without those of each model.
func (s *Elastic) GlobalStats() GlobalStats { return s.Stats().GlobalStats }

// ModelStats returns the counters of a model; false: there is none with that id.
func (s *Elastic) ModelStats(id string) (ModelStats, bool) {
	m, err := s.find("model_stats", id)
	if err != nil {
		return ModelStats{}, false
	}
	return m.Stats(), true
}

// Stats returns the model's counters.
func (m *Model) Stats() ModelStats {
	m.space.mu.Lock()
	defer m.space.mu.Unlock()
	m.shared.mu.Lock()
	defer m.shared.mu.Unlock()
	ph := m.shared.physical
	ph.mu.Lock()
	defer ph.mu.Unlock()
	return m.stats()
}
