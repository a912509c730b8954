package vmm

import (
	"slices"
)

// ModelStats is a model of an elastic pool at one moment.
type ModelStats struct {
	ID string `json:"id"`
	Stats
	// GuaranteedBytes and MaxBytes are in whole pages; MaxBytes 0: no bound of its
	// own. RequestedGuaranteeBytes is the guarantee that was asked for: what of it is
	// not in GuaranteedBytes waits for pages.
	GuaranteedBytes         uint64 `json:"guaranteed_bytes"`
	RequestedGuaranteeBytes uint64 `json:"requested_guarantee_bytes"`
	MaxBytes                uint64 `json:"max_bytes"`
	Priority                int32  `json:"priority"`
	// CachedBytes is the memory that the model had last and nobody uses now: ready
	// for the model as it is, and for others once it is zeros.
	CachedBytes uint64 `json:"cached_bytes"`
	ModelCounts
}

// GlobalStats is an elastic pool at one moment.
type GlobalStats struct {
	PhysicalLimitBytes uint64 `json:"physical_limit_bytes"`
	// PhysicalBytes is used by the models: mapped, retiring, and pending, which is
	// granted to allocations that are on their way. It is above the limit only after
	// that was lowered.
	PhysicalBytes     uint64 `json:"physical_bytes"`
	PeakPhysicalBytes uint64 `json:"peak_physical_bytes"`
	PendingBytes      uint64 `json:"pending_bytes"`
	Models            uint64 `json:"models"`
	VirtualBytes      uint64 `json:"virtual_bytes"`
	GuaranteedBytes   uint64 `json:"guaranteed_bytes"`
	RetiringBytes     uint64 `json:"retiring_bytes"`
	// CachedBytes was had from the device and nobody uses it.
	CachedBytes uint64 `json:"cached_bytes"`
	// HeldBytes was had from the device.
	HeldBytes uint64 `json:"held_bytes"`
	// Waiting counts the allocations that stand in a line.
	Waiting uint64 `json:"waiting"`
}

// ElasticStats is an elastic pool and its models, in order of registration, at one
// and the same moment: the sums agree.
type ElasticStats struct {
	GlobalStats
	Each []ModelStats `json:"each"`
}

// Stats is all numbers of the pool.
func (s *Elastic) Stats() ElasticStats {
	for {
		if stats, ok := s.tryStats(); ok {
			return stats
		}
	}
}

// tryStats is false when models came or went meanwhile. The locks of several
// spaces are taken in order of registration, as tryClose does, and nobody
// else takes more than one.
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

// stats is ModelStats. The caller holds the mu of the space, of the pool and of the stock.
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
	// The limit of the pool and what of it is to be had are the model's own.
	stats.LimitBytes = s.scale.bytes(s.quota.limit)
	stats.AvailableBytes = s.scale.bytes(s.quota.available(share))
	return stats
}

// GlobalStats is the numbers of the pool without those of each model.
func (s *Elastic) GlobalStats() GlobalStats { return s.Stats().GlobalStats }

// ModelStats is the numbers of a model; false: there is none of that id.
func (s *Elastic) ModelStats(id string) (ModelStats, bool) {
	m, err := s.find("model_stats", id)
	if err != nil {
		return ModelStats{}, false
	}
	return m.Stats(), true
}

// Stats is the model's numbers.
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
