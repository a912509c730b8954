package manager

import (
	"errors"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/manager/relocation"
	"ferrum_mem/core/track"
)

// DefragmentationStats is what a defragmentation did. Every block that was live
// counts once: as moved, as skipped for one reason, or as kept.
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
	// BytesMoved is the sizes, as asked for, of the blocks that were moved.
	BytesMoved uint64 `json:"bytes_moved"`
	// PagesEmptied are those that all blocks were moved out of; SegmentsEmptied the
	// same in pools that take segments whole.
	PagesEmptied    uint64 `json:"pages_emptied"`
	SegmentsEmptied uint64 `json:"segments_emptied"`
	// BlocksKept could have been moved, but no page would have come free for it.
	BlocksKept uint64 `json:"blocks_kept"`
	// Skipped is BlocksSkipped by reason.
	Skipped Skipped `json:"skipped"`
	// BudgetEnded says that the budget was over before all was done.
	BudgetEnded bool `json:"budget_ended"`
}

// Skipped counts the blocks that could not be moved, by reason.
type Skipped = relocation.Skipped

// Defragment is DefragmentWithin without a bound on the time.
func (m *Manager) Defragment() (DefragmentationStats, error) {
	return m.DefragmentWithin(device.Forever)
}

// DefragmentWithin moves relocatable blocks that nobody uses, so that pages (or
// segments, in pools that take them whole) come free, the cheapest first, and gives
// back to the system what the manager's pools hold without use. Their addresses are
// others afterwards; their handles, bytes, tags and ages stay. No pool grows for
// it. Blocks that are not relocatable, pinned, mapped, or have been used on a stream that
// has work queued stay where they are.
//
// No move is started after the budget (device.Forever: no bound; 0: nothing is
// moved); one under way is given up at the end of the part that is being copied.
// What is free is given back in any case. One call at a time moves blocks of a
// manager; another one waits, within its budget.
//
// A call that its budget ends (BudgetEnded) leaves what it has found out to the next
// call with a bound, which goes on there: so small budgets get somewhere in a manager
// of many blocks. Such a call counts blocks as they were when they were looked at.
//
// When the driver fails, the block that was to be moved is as it was; those that
// were moved before stay moved. CodeInvalidArgument for a negative budget.
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

// took enters the duration; one that the clock cannot show counts as 1 ns.
func (s *DefragmentationStats) took(elapsed time.Duration) {
	elapsed = max(elapsed, 1)
	s.TimeTakenNs = uint64(elapsed)
	s.TimeTakenMs = uint64((elapsed + time.Millisecond - 1) / time.Millisecond)
}

// trim gives back the cached segments of the pools that are wanted.
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
		// A replaced pool may have been closed since the list was made.
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

// Left is what is left of the budget, or device.Forever; 0: it is over.
func (d deadline) Left() time.Duration {
	if d.never {
		return device.Forever
	}
	return max(d.at-track.Now(), 0)
}

func (d deadline) Over() bool { return d.Left() == 0 }

const opMove = "manager.defragment"
