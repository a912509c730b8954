package manager

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool"
)

// looks is a budget that lasts for that many checks.
type looks struct{ most int }

func (l *looks) Over() bool {
	l.most--
	return l.most < 0
}

func (l *looks) Left() time.Duration {
	if l.most <= 0 {
		return 0
	}
	return math.MaxInt64
}

// moveWithin moves blocks within a budget.
func (m *Manager) moveWithin(t require.TestingT, most int) DefragmentationStats {
	stats, err := m.relocator.Run(&m.mover, &looks{most})
	require.NoError(t, err)
	return DefragmentationStats{
		BlocksMoved: stats.BlocksMoved, BlocksKept: stats.BlocksKept, BytesMoved: stats.BytesMoved,
		Skipped: stats.Skipped, BlocksSkipped: stats.Skipped.Sum(), BudgetEnded: stats.BudgetEnded,
	}
}

// Calls with small budgets together move what one call does.
func TestSmallBudgetsMakeProgress(t *testing.T) {
	overBoth(t, func(t *testing.T, small pool.Config) {
		s := scatter(t, small, func(i int) bool { return i != 4 })
		moved, ended := uint64(0), 0
		for call := 1; ; call++ {
			stats := s.m.moveWithin(t, call%40)
			counted(t, 16, stats)
			moved += stats.BlocksMoved
			s.same(t)
			if !stats.BudgetEnded {
				require.Equal(t, Skipped{NotRelocatable: 1}, stats.Skipped)
				break
			}
			ended++
			require.Positive(t, stats.Skipped.OverBudget)
		}
		require.EqualValues(t, 12, moved)
		require.Greater(t, ended, 5)
		stats, err := s.m.Defragment()
		require.NoError(t, err)
		require.Zero(t, stats.BlocksMoved)
	})
}

// leavePlan has the blocks checked, and then the budget ends.
func (s *scattered) leavePlan(t *testing.T) {
	stats := s.m.moveWithin(t, 4)
	require.True(t, stats.BudgetEnded)
	require.Zero(t, stats.BlocksMoved)
}

// Blocks were freed, allocated and pinned after a call had found which may move.
func TestPlanSkipsFreedAndPinnedBlocks(t *testing.T) {
	overBoth(t, func(t *testing.T, small pool.Config) {
		s := scatter(t, small, all)
		s.leavePlan(t)
		pinned, gone := s.left[0], s.left[15]
		addr, err := s.factory.Pin(pinned)
		require.NoError(t, err)
		require.NoError(t, s.factory.Free(gone))
		delete(s.bytes, gone)
		fresh := s.m.mustAlloc(t, 4*kib)
		stays := s.addr(t, fresh)
		stats, err := s.m.DefragmentWithin(math.MaxInt64 / 2)
		require.NoError(t, err)
		counted(t, 16, stats)
		require.Equal(t, Skipped{NotRelocatable: 1, Pinned: 1}, stats.Skipped)
		require.False(t, stats.BudgetEnded)
		require.Equal(t, addr, s.addr(t, pinned))
		require.Equal(t, stays, s.addr(t, fresh))
		require.NoError(t, s.factory.Free(fresh))
		s.same(t)
		require.NoError(t, s.factory.Unpin(pinned))
	})
}

// A call without a limit makes its own plan, and closing ends one.
func TestACallWithoutABoundMakesItsOwnPlan(t *testing.T) {
	overBoth(t, func(t *testing.T, small pool.Config) {
		s := scatter(t, small, all)
		s.leavePlan(t)
		stats, err := s.m.DefragmentWithin(device.Forever)
		require.NoError(t, err)
		require.EqualValues(t, 12, stats.BlocksMoved)
		s.same(t)
		s.leavePlan(t)
		for h := range s.bytes {
			require.NoError(t, s.factory.Free(h))
		}
		require.NoError(t, s.m.Close(false))
	})
}

// The pool of a plan was replaced and closed.
func TestAPlanEndsWithThePoolItWasMadeFor(t *testing.T) {
	overBoth(t, func(t *testing.T, small pool.Config) {
		s := scatter(t, small, all)
		s.leavePlan(t)
		small.Strategy = "tlsf"
		require.NoError(t, s.m.ConfigurePool(General, small))
		for h := range s.bytes {
			require.NoError(t, s.factory.Free(h))
		}
		s.m.closeFormer()
		s.m.mustAlloc(t, 64)
		stats, err := s.m.DefragmentWithin(time.Hour)
		require.NoError(t, err)
		require.Equal(t, Skipped{NotRelocatable: 1}, stats.Skipped)
		require.False(t, stats.BudgetEnded)
	})
}
