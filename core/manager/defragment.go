package manager

import (
	"errors"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
)

// DefragmentationStats is what a defragmentation did.
type DefragmentationStats struct {
	// FragmentationBefore and After are 1 - largest free run / total free, over
	// what the manager's pools hold; 0 when nothing is free.
	FragmentationBefore float32 `json:"fragmentation_before"`
	FragmentationAfter  float32 `json:"fragmentation_after"`
	// MemoryFreedBytes were given back to the system.
	MemoryFreedBytes uint64 `json:"memory_freed_bytes"`
	// BlocksMoved were moved to another address, BlocksSkipped could not be.
	BlocksMoved   uint64 `json:"blocks_moved"`
	BlocksSkipped uint64 `json:"blocks_skipped"`
	TimeTakenNs   uint64 `json:"time_taken_ns"`
	// TimeTakenMs is TimeTakenNs in milliseconds, rounded up.
	TimeTakenMs uint64 `json:"time_taken_ms"`
}

// Defragment gives back to the system what the manager's pools hold without
// use. Live blocks stay where they are; every one of them counts as skipped.
func (m *Manager) Defragment() (DefragmentationStats, error) {
	if err := m.begin("manager.defragment"); err != nil {
		return DefragmentationStats{}, err
	}
	defer m.end()
	start := track.Now()
	before := m.Statistics()
	released, err := m.trim(func(*home) bool { return true })
	if err != nil {
		return DefragmentationStats{}, err
	}
	m.closeFormer()
	after := m.Statistics()
	stats := DefragmentationStats{
		FragmentationBefore: before.Fragmentation(), FragmentationAfter: after.Fragmentation(),
		MemoryFreedBytes: released, BlocksSkipped: after.LiveBlocks.Current,
	}
	stats.took(track.Now() - start)
	return stats, nil
}

// took enters the duration; one that the clock cannot show counts as 1 ns.
func (s *DefragmentationStats) took(elapsed time.Duration) {
	elapsed = max(elapsed, 1)
	s.TimeTakenNs = uint64(elapsed)
	s.TimeTakenMs = uint64((elapsed + time.Millisecond - 1) / time.Millisecond)
}

// trim gives back the cached segments of the pools that are wanted.
func (m *Manager) trim(wanted func(*home) bool) (released uint64, err error) {
	m.mu.Lock()
	homes := m.listHomesLocked()
	m.mu.Unlock()
	for _, h := range homes {
		if !wanted(h) {
			continue
		}
		bytes, failure := h.pool.Trim(0)
		released += bytes
		// A replaced pool may have been closed since the list was made.
		if failure != nil && !errors.Is(failure, device.CodeInvalidState) {
			err = errors.Join(err, failure)
		}
	}
	return released, err
}
