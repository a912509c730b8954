package manager

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool"
)

// scattered is a manager with four pieces of memory of 64 KiB. Each has four blocks of
// 4 KiB with different bytes.
type scattered struct {
	*rig
	m     *Manager
	left  []MemoryHandle
	bytes map[MemoryHandle][]byte
}

func scatter(t *testing.T, small pool.Config, relocatable func(i int) bool) *scattered {
	r := cleanRig(t, devicetest.Config{Backed: true, PageMinimumBytes: 64 * kib, PageRecommendedBytes: 64 * kib})
	s := &scattered{rig: r, bytes: map[MemoryHandle][]byte{}}
	s.m = r.manager(t, func(c *Config) { c.PoolConfigs[General] = small })
	var all []MemoryHandle
	for i := range 64 {
		h, err := s.m.AllocTyped(Request{SizeBytes: 4 * kib, Tag: "scattered", Relocatable: relocatable(i)})
		require.NoError(t, err)
		all = append(all, h)
	}
	for i, h := range all {
		if i%4 != 0 {
			require.NoError(t, r.factory.Free(h))
			continue
		}
		content := counting(4 * kib)
		content[0], content[4*kib-1] = byte(i), byte(i)
		r.write(t, h, content)
		s.left, s.bytes[h] = append(s.left, h), content
	}
	require.EqualValues(t, 256*kib, s.m.Statistics().Reserved.Current)
	return s
}

func all(int) bool { return true }

// same checks that every block has its bytes, wherever it is.
func (s *scattered) same(t *testing.T) {
	t.Helper()
	for h, content := range s.bytes {
		require.Equal(t, content, s.rig.bytes(t, h))
		info, err := s.factory.HandleInfo(h)
		require.NoError(t, err)
		require.EqualValues(t, 4*kib, info.SizeBytes)
		require.Equal(t, "scattered", info.Tag)
	}
	stats := s.m.Statistics()
	require.NoError(t, stats.Check())
	require.EqualValues(t, len(s.bytes), stats.LiveBlocks.Current)
	require.EqualValues(t, len(s.bytes)*4*kib, stats.Requested.Current)
	require.EqualValues(t, len(s.bytes)*4*kib, stats.Active.Current)
}

func (s *scattered) addr(t *testing.T, h MemoryHandle) device.Addr {
	info, err := s.factory.HandleInfo(h)
	require.NoError(t, err)
	return info.Addr
}

// counted checks that every block is in the report once.
func counted(t *testing.T, live int, stats DefragmentationStats) {
	t.Helper()
	require.EqualValues(t, live, stats.BlocksMoved+stats.BlocksSkipped+stats.BlocksKept)
	require.Equal(t, stats.Skipped.Sum(), stats.BlocksSkipped)
}

func TestDefragmentMovesRelocatableBlocks(t *testing.T) {
	overBoth(t, func(t *testing.T, small pool.Config) {
		s := scatter(t, small, all)
		ages := map[MemoryHandle]time.Duration{}
		for h := range s.bytes {
			info, err := s.factory.HandleInfo(h)
			require.NoError(t, err)
			require.True(t, info.Relocatable)
			ages[h] = info.AllocatedAt
		}
		before := s.m.Statistics()
		stats, err := s.m.Defragment()
		require.NoError(t, err)
		require.EqualValues(t, 12, stats.BlocksMoved)
		require.EqualValues(t, 12*4*kib, stats.BytesMoved)
		require.EqualValues(t, 192*kib, stats.MemoryFreedBytes)
		require.EqualValues(t, 4, stats.BlocksKept, "the blocks of the target pages stay")
		require.EqualValues(t, 3, stats.PagesEmptied+stats.SegmentsEmptied)
		require.Equal(t, small.Paging == pool.PagingOff, stats.SegmentsEmptied == 3)
		require.False(t, stats.BudgetEnded)
		counted(t, 16, stats)
		after := s.m.Statistics()
		require.EqualValues(t, 64*kib, after.Reserved.Current)
		require.Equal(t, before.Allocations, after.Allocations, "a move is neither an allocation nor a free")
		require.Equal(t, before.Frees, after.Frees)
		s.same(t)
		for h, age := range ages {
			info, err := s.factory.HandleInfo(h)
			require.NoError(t, err)
			require.Equal(t, age, info.AllocatedAt)
			require.Zero(t, info.OperationsInFlight)
		}
		again, err := s.m.Defragment()
		require.NoError(t, err)
		require.Zero(t, again.BlocksMoved+again.MemoryFreedBytes)
		counted(t, 16, again)
		for h := range s.bytes {
			require.NoError(t, s.factory.Free(h))
		}
		require.NoError(t, s.m.Close(false))
	})
}

func TestBlocksThatMustStayAreCountedByReason(t *testing.T) {
	overBoth(t, func(t *testing.T, small pool.Config) {
		// In each piece of memory one block stays, for a different reason; the last
		// piece can be released.
		s := scatter(t, small, func(i int) bool { return i != 0 })
		pinned, used, cached := s.left[4], s.left[8], s.addr(t, s.left[0])
		at, err := s.factory.Pin(pinned)
		require.NoError(t, err)
		require.Equal(t, s.addr(t, pinned), at)
		stream, held := s.heldStream(t)
		require.NoError(t, s.factory.FillAsync(fillOf(used, 0, 4*kib, 0x5a, 1), stream))
		usedAt := s.addr(t, used)
		stats, err := s.m.Defragment()
		require.NoError(t, err)
		require.Equal(t, Skipped{NotRelocatable: 1, Pinned: 1, InUse: 1}, stats.Skipped)
		require.EqualValues(t, 4, stats.BlocksMoved)
		require.EqualValues(t, 9, stats.BlocksKept, "beside a block that stays")
		counted(t, 16, stats)
		require.EqualValues(t, 64*kib, stats.MemoryFreedBytes)
		require.Equal(t, cached, s.addr(t, s.left[0]))
		require.Equal(t, at, s.addr(t, pinned))
		require.Equal(t, usedAt, s.addr(t, used))

		held.Release()
		require.NoError(t, s.factory.SynchronizeStream(stream, device.Forever))
		for i := range s.bytes[used] {
			s.bytes[used][i] = 0x5a
		}
		require.NoError(t, s.factory.Unpin(pinned))
		stats, err = s.m.Defragment()
		require.NoError(t, err)
		require.Equal(t, Skipped{NotRelocatable: 1}, stats.Skipped)
		require.EqualValues(t, 128*kib, stats.MemoryFreedBytes)
		counted(t, 16, stats)
		s.same(t)
		require.Equal(t, cached, s.addr(t, s.left[0]))
	})
}

// A stream of the caller that has used a block may have more work for it queued that
// the library does not know.
func TestAStreamWithWorkKeepsItsBlocks(t *testing.T) {
	s := scatter(t, smallPool(), all)
	stream, held := s.heldStream(t)
	held.Release()
	for _, h := range s.left {
		require.NoError(t, s.factory.FillAsync(fillOf(h, 0, 4*kib, 1, 1), stream))
	}
	require.NoError(t, s.factory.SynchronizeStream(stream, device.Forever))
	held.Hold()
	require.NoError(t, s.factory.HostFunction(stream, func() {}))
	stats, err := s.m.Defragment()
	require.NoError(t, err)
	require.Equal(t, Skipped{InUse: 16}, stats.Skipped)
	held.Release()
	require.NoError(t, s.factory.SynchronizeStream(stream, device.Forever))
	stats, err = s.m.Defragment()
	require.NoError(t, err)
	require.EqualValues(t, 12, stats.BlocksMoved)
}

func TestBlocksOfADebugModeStay(t *testing.T) {
	small := smallPool()
	small.Debug = pool.DebugRedZones
	r := cleanRig(t, devicetest.Config{Backed: true})
	for _, m := range []*Manager{
		r.manager(t, func(c *Config) { c.EnableDebug = true }),
		r.manager(t, func(c *Config) { c.PoolConfigs[General] = small }),
	} {
		for range 3 {
			_, err := m.AllocTyped(Request{SizeBytes: 100, Relocatable: true})
			require.NoError(t, err)
		}
		stats, err := m.Defragment()
		require.NoError(t, err)
		require.Equal(t, Skipped{Debugged: 3}, stats.Skipped)
		counted(t, 3, stats)
	}
}

func TestABlockStaysPinnedUntilTheLastUnpin(t *testing.T) {
	r := cleanRig(t, devicetest.Config{})
	m := r.manager(t, nil)
	h := m.mustAlloc(t, 100)
	requireError(t, r.factory.Unpin(h), device.CodeInvalidState, "not pinned")
	for range 3 {
		_, err := r.factory.Pin(h)
		require.NoError(t, err)
	}
	info, err := r.factory.HandleInfo(h)
	require.NoError(t, err)
	require.EqualValues(t, 3, info.Pins)
	requireError(t, r.factory.Free(h), device.CodeBusy, "pinned 3 times")
	_, err = r.factory.HandleInfo(h)
	require.NoError(t, err, "a refused free changes nothing")
	for range 3 {
		require.NoError(t, r.factory.Unpin(h))
	}
	requireError(t, r.factory.Unpin(h), device.CodeInvalidState)
	b, err := r.factory.memory.Get(uint64(h))
	require.NoError(t, err)
	b.pins = math.MaxUint32
	_, err = r.factory.Pin(h)
	requireError(t, err, device.CodeResourceExhausted, "4294967295")
	b.pins = 0
	require.NoError(t, r.factory.Free(h))
	for _, bad := range []MemoryHandle{0, h, h + 1} {
		_, err = r.factory.Pin(bad)
		requireError(t, err, device.CodeInvalidHandle, "memory")
		requireError(t, r.factory.Unpin(bad), device.CodeInvalidHandle, "memory")
	}
	h = m.mustAlloc(t, 100)
	_, err = r.factory.Pin(h)
	require.NoError(t, err)
	requireError(t, m.Close(false), device.CodeBusy)
	require.NoError(t, m.Close(true), "a forced close frees pinned blocks")
}

func TestNothingMovesWithoutABudget(t *testing.T) {
	s := scatter(t, smallPool(), all)
	stats, err := s.m.DefragmentWithin(0)
	require.NoError(t, err)
	require.True(t, stats.BudgetEnded)
	require.Equal(t, Skipped{OverBudget: 16}, stats.Skipped)
	counted(t, 16, stats)
	_, err = s.m.DefragmentWithin(-2)
	requireError(t, err, device.CodeInvalidArgument, "negative")
	stats, err = s.m.DefragmentWithin(math.MaxInt64)
	require.NoError(t, err)
	require.EqualValues(t, 12, stats.BlocksMoved)
	s.same(t)
}

// A copy does not complete within the budget: the block stays where it is and in use
// until then, and its target is not allocated to another block.
func TestCopyAboveTheBudgetIsAbandoned(t *testing.T) {
	overBoth(t, func(t *testing.T, small pool.Config) {
		s := scatter(t, small, all)
		require.NoError(t, s.m.mover.Ready(newDeadline(device.Forever)))
		mover := s.m.mover.stream.dev.(*devicetest.Stream)
		s.held = append(s.held, mover)
		mover.Hold()
		addresses := map[MemoryHandle]device.Addr{}
		for h := range s.bytes {
			addresses[h] = s.addr(t, h)
		}
		active := s.m.Statistics().Active.Current
		stats, err := s.m.DefragmentWithin(time.Millisecond)
		require.NoError(t, err)
		require.True(t, stats.BudgetEnded)
		require.Zero(t, stats.BlocksMoved)
		counted(t, 16, stats)
		for h, addr := range addresses {
			require.Equal(t, addr, s.addr(t, h))
		}
		if stats.Skipped.OverBudget == 16 && s.m.Statistics().Active.Current == active {
			t.Skip("the budget was over before the first copy")
		}
		require.Equal(t, active+4*kib, s.m.Statistics().Active.Current, "one former place of a block is in flight")
		stats, err = s.m.DefragmentWithin(time.Millisecond)
		require.NoError(t, err)
		require.Equal(t, Skipped{OverBudget: 16}, stats.Skipped, "the copy is waited for")
		counted(t, 16, stats)
		s.m.relocator.Forget()
		stats, err = s.m.DefragmentWithin(time.Millisecond)
		require.NoError(t, err)
		require.Zero(t, stats.BlocksMoved)
		counted(t, 16, stats)
		require.EqualValues(t, 1, stats.Skipped.InUse, "the block that is still being copied")
		mover.Release()
		stats, err = s.m.Defragment()
		require.NoError(t, err)
		require.EqualValues(t, 12, stats.BlocksMoved)
		s.same(t)
	})
}

// An aligned block keeps its alignment, a fill that does not suit the new address is
// rejected as before, and blocks longer than a part are copied completely.
func TestAlignmentAndLongBlocks(t *testing.T) {
	devicetest.SkipShortRace(t)
	overBoth(t, func(t *testing.T, small pool.Config) {
		small.InitialSizeBytes, small.GrowthIncrementBytes, small.PhysicalPageBytes = 32<<20, 32<<20, 32<<20
		r := cleanRig(t, devicetest.Config{Backed: true, TotalBytes: 2 << 30,
			PageMinimumBytes: 32 << 20, PageRecommendedBytes: 32 << 20})
		m := r.manager(t, func(c *Config) { c.PoolConfigs[General] = small })
		take := func(size, align uint64) MemoryHandle {
			h, err := m.AllocTyped(Request{SizeBytes: size, AlignmentBytes: align, Relocatable: true})
			require.NoError(t, err)
			return h
		}
		first := take(11<<20, 0)
		fill := take(21<<20, 0)
		long := take(partBytes+5, 1<<20)
		content := counting(partBytes + 5)
		r.write(t, long, content)
		require.NoError(t, r.factory.Free(fill))
		stats, err := m.Defragment()
		require.NoError(t, err)
		require.EqualValues(t, 1, stats.BlocksMoved)
		require.EqualValues(t, partBytes+5, stats.BytesMoved)
		require.Equal(t, content, r.bytes(t, long))
		info, err := r.factory.HandleInfo(long)
		require.NoError(t, err)
		require.GreaterOrEqual(t, info.AlignmentBytes, uint64(1<<20))
		require.EqualValues(t, 32<<20, m.Statistics().Reserved.Current)
		require.NoError(t, r.factory.Free(first))
	})
}

// An allocation finds no memory and calls the reclaim callback, which defragments.
func TestACallbackThatDefragments(t *testing.T) {
	overBoth(t, func(t *testing.T, small pool.Config) {
		s := scatter(t, small, all)
		require.NoError(t, s.engine.SetLimit(5*64*kib))
		var stats DefragmentationStats
		var failure error
		asked, err := s.engine.OnReclaim(engine.ReclaimConfig{Deadline: time.Hour}, func(uint64) uint64 {
			stats, failure = s.m.Defragment()
			return stats.MemoryFreedBytes
		})
		require.NoError(t, err)
		large, err := s.m.Alloc(128 * kib)
		require.NoError(t, err)
		require.NoError(t, failure)
		require.EqualValues(t, 12, stats.BlocksMoved)
		require.EqualValues(t, 192*kib, stats.MemoryFreedBytes)
		asked.Remove(false)
		require.NoError(t, s.factory.Free(large))
		s.same(t)
	})
}
