package manager

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/manager/relocation"
	"ferrum_mem/core/pool"
)

// A call found its blocks before another call moved them. Other blocks may now be at
// their addresses, and must not be moved instead.
func TestBlocksThatAnotherCallHasMoved(t *testing.T) {
	overBoth(t, func(t *testing.T, small pool.Config) {
		s := scatter(t, small, all)
		late := relocation.New[*block, blockPool]()
		looked, err := late.Run(&s.m.mover, &looks{4})
		require.NoError(t, err)
		require.True(t, looked.BudgetEnded)
		require.Zero(t, looked.BlocksMoved)
		was := map[device.Addr]bool{}
		for h := range s.bytes {
			was[s.addr(t, h)] = true
		}
		moved, err := s.m.Defragment()
		require.NoError(t, err)
		require.EqualValues(t, 12, moved.BlocksMoved)
		var others []MemoryHandle
		before := len(s.bytes)
		for i := range 64 {
			h, err := s.m.AllocTyped(Request{SizeBytes: 4 * kib, Tag: "scattered", Relocatable: true})
			require.NoError(t, err)
			if !was[s.addr(t, h)] {
				others = append(others, h)
				continue
			}
			content := counting(4 * kib)
			content[1], content[4*kib-2] = byte(i), byte(i)
			s.write(t, h, content)
			s.bytes[h] = content
		}
		for _, h := range others {
			require.NoError(t, s.factory.Free(h))
		}
		if small.Paging == pool.PagingOn {
			require.Greater(t, len(s.bytes), before+8, "new blocks have addresses of freed blocks")
		}
		s.same(t)
		_, err = late.Run(&s.m.mover, newDeadline(time.Hour))
		require.NoError(t, err)
		s.same(t)
		for h := range s.bytes {
			require.NoError(t, s.factory.Free(h))
		}
		require.NoError(t, s.m.Close(false))
	})
}

// A block in two pages that both cannot be emptied is counted once.
func TestABlockOfTwoPagesWithoutRoomIsCountedOnce(t *testing.T) {
	r := cleanRig(t, devicetest.Config{Backed: true, PageMinimumBytes: 64 * kib, PageRecommendedBytes: 64 * kib})
	small := smallPool()
	small.Paging = pool.PagingOn
	m := r.manager(t, func(c *Config) { c.PoolConfigs[General] = small })
	allocate := func(size uint64, relocatable bool) MemoryHandle {
		h, err := m.AllocTyped(Request{SizeBytes: size, Relocatable: relocatable})
		require.NoError(t, err)
		return h
	}
	front := allocate(32*kib, false)
	allocate(64*kib, true)
	holes := []MemoryHandle{front, allocate(32*kib, false)}
	for range 4 {
		holes = append(holes, allocate(32*kib, false))
		allocate(32*kib, false)
	}
	for _, h := range holes {
		require.NoError(t, r.factory.Free(h))
	}
	stats, err := m.Defragment()
	require.NoError(t, err)
	counted(t, 5, stats)
	require.Equal(t, Skipped{NotRelocatable: 4, NoRoom: 1}, stats.Skipped)
	require.Zero(t, stats.BlocksKept)
}
