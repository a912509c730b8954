package manager

import (
	"slices"

	"ferrum_mem/core/track"
)

// Statistics returns the counters of the manager: the sum over its pools, including the
// counts of closed pools. Peaks are peaks of the sum, not the sum of the peaks.
func (m *Manager) Statistics() track.Statistics {
	// The lock is held during the sum, so that no pool is closed between the list and
	// its counters.
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

// dropHome removes a closed pool. Its counts are kept. The caller holds m.mu.
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
