package manager

import (
	"errors"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/manager/relocation"
	"ferrum_mem/core/track"
)

// DefragmentationStats is the result of a defragmentation. Every live block counts
// once: as moved, as skipped for one reason, or as kept.
type DefragmentationStats struct {
	// FragmentationBefore and FragmentationAfter are 1 - largest free run / total free,
	// over the memory of the manager's pools; 0 if nothing is free.
	FragmentationBefore float32 `json:"fragmentation_before"`
	FragmentationAfter  float32 `json:"fragmentation_after"`
	// MemoryFreedBytes counts the bytes that were released to the system.
	MemoryFreedBytes uint64 `json:"memory_freed_bytes"`
	// BlocksMoved counts the blocks that were moved to another address, BlocksSkipped
	// those that could not be moved.
	BlocksMoved   uint64 `json:"blocks_moved"`
	BlocksSkipped uint64 `json:"blocks_skipped"`
	TimeTakenNs   uint64 `json:"time_taken_ns"`
	// TimeTakenMs is TimeTakenNs in milliseconds, rounded up.
	TimeTakenMs uint64 `json:"time_taken_ms"`
	// BytesMoved is the sum of the requested sizes of the moved blocks.
	BytesMoved uint64 `json:"bytes_moved"`
	// PagesEmptied counts the pages from which all blocks were moved. SegmentsEmptied
	// counts segments in the same way, for segmented pools.
	PagesEmptied    uint64 `json:"pages_emptied"`
	SegmentsEmptied uint64 `json:"segments_emptied"`
	// BlocksKept counts blocks that could have been moved, but without freeing a page.
	BlocksKept uint64 `json:"blocks_kept"`
	// Skipped has BlocksSkipped by reason.
	Skipped Skipped `json:"skipped"`
	// BudgetEnded states that the budget ended before the work was complete.
	BudgetEnded bool `json:"budget_ended"`
}

// Skipped counts the blocks that could not be moved, by reason.
type Skipped = relocation.Skipped

// Defragment is DefragmentWithin without a limit on the time.
func (m *Manager) Defragment() (DefragmentationStats, error) {
	return m.DefragmentWithin(device.Forever)
}

// DefragmentWithin moves relocatable blocks that no work uses, so that pages (or
// segments, in segmented pools) become free. It begins with the pages that are cheapest
// to empty, and then releases unused memory of the manager's pools to the system.
// The addresses of moved blocks change; their handles, bytes, tags and ages stay. No
// pool grows for it. It does not move blocks that are not relocatable, pinned, mapped,
// or were used on a stream with queued work.
//
// No move starts after the budget (device.Forever: no limit; 0: nothing is moved). A
// move in progress is abandoned at the end of the part that is being copied. Free
// memory is released in any case. One call at a time moves blocks of a manager; another
// call waits, within its budget.
//
// If the budget ends a call (BudgetEnded), the next call with a limit continues from
// its results. So small budgets make progress in a manager with many blocks. Such a
// call counts blocks in the state in which they were checked.
//
// If the driver fails, the block that was being moved is as before, and blocks moved
// before stay moved. It returns CodeInvalidArgument for a negative budget.
func (m *Manager) DefragmentWithin(budget time.Duration) (DefragmentationStats, error) {
	if budget < 0 && budget != device.Forever {
		return DefragmentationStats{}, device.Errorf(device.CodeInvalidArgument, opMove,
			"budget %v is negative", budget).On(m.owner.engine.ID())
	}
	if err := m.begin(opMove); err != nil {
		return DefragmentationStats{}, err
	}
	defer m.end()
	start := track.Now()
	before := m.Statistics()
	moved, err := m.relocator.Run(&m.mover, newDeadline(budget))
	released, failure := m.trim(func(*home) bool { return true })
	if err = errors.Join(err, failure); err != nil {
		return DefragmentationStats{}, err
	}
	m.closeFormer()
	stats := DefragmentationStats{
		BlocksMoved: moved.BlocksMoved, BytesMoved: moved.BytesMoved, BlocksKept: moved.BlocksKept,
		PagesEmptied: moved.PagesEmptied, SegmentsEmptied: moved.SegmentsEmptied,
		Skipped: moved.Skipped, BlocksSkipped: moved.Skipped.Sum(), BudgetEnded: moved.BudgetEnded,
	}
	stats.FragmentationBefore, stats.FragmentationAfter = before.Fragmentation(), m.Statistics().Fragmentation()
	stats.MemoryFreedBytes = released
	stats.took(track.Now() - start)
	return stats, nil
}

// took records the duration. A duration below the resolution of the clock counts as 1
// ns.
func (s *DefragmentationStats) took(elapsed time.Duration) {
	elapsed = max(elapsed, 1)
	s.TimeTakenNs = uint64(elapsed)
	s.TimeTakenMs = uint64((elapsed + time.Millisecond - 1) / time.Millisecond)
}

// trim releases the cached segments of the pools that wanted selects.
func (m *Manager) trim(wanted func(*home) bool) (released uint64, err error) {
	m.mu.Lock()
	homes := m.listHomes()
	m.mu.Unlock()
	for _, h := range homes {
		if !wanted(h) {
			continue
		}
		bytes, failure := h.pool.Trim(0)
		released += bytes
		// A replaced pool may have been closed since the list was copied.
		if failure != nil && !errors.Is(failure, device.CodeInvalidState) {
			err = errors.Join(err, failure)
		}
	}
	return released, err
}

// deadline is the end of a budget on the clock of track.Now.
type deadline struct {
	at    time.Duration
	never bool
}

func newDeadline(budget time.Duration) deadline {
	now := track.Now()
	if budget == device.Forever || budget > maxDuration-now {
		return deadline{never: true}
	}
	return deadline{at: now + budget}
}

const maxDuration = time.Duration(1<<63 - 1)

// Left returns the rest of the budget, or device.Forever; 0: it has ended.
func (d deadline) Left() time.Duration {
	if d.never {
		return device.Forever
	}
	return max(d.at-track.Now(), 0)
}

func (d deadline) Over() bool { return d.Left() == 0 }

const opMove = "manager.defragment"
