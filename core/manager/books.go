package manager

import (
	"slices"

	"ferrum_mem/core/track"
)

// Statistics is the books of the manager: the sum over its pools, the counts of
// pools that are gone included. Peaks are of the sum, not the sum of peaks.
func (m *Manager) Statistics() track.Statistics {
	// The lock is held over the sum, so that no pool goes between the list and
	// its numbers.
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := m.past
	for _, h := range m.listHomes() {
		sum = sum.Plus(h.pool.Statistics())
	}
	if !m.config.EnableTracking {
		return sum
	}
	return m.totals.WithPeaks(sum)
}

// dropHome takes a closed pool out. What it has counted stays counted. The caller holds
// m.mu.
func (m *Manager) dropHome(gone *home) {
	final := gone.pool.Statistics()
	m.past.Allocations += final.Allocations
	m.past.Frees += final.Frees
	m.past.Failures += final.Failures
	m.former = slices.DeleteFunc(m.former, func(h *home) bool { return h == gone })
	for kind, h := range m.homes {
		if h == gone {
			delete(m.homes, kind)
		}
	}
}
