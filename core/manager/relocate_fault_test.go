package manager

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/pool"
)

// Every driver call of a defragmentation fails once, in turn. No byte, handle or
// counter is lost, and the next defragmentation does the work.
func TestEveryDriverCallOfADefragmentationMayFail(t *testing.T) {
	overBoth(t, func(t *testing.T, small pool.Config) {
		// Blocks that were not moved at once may prevent later moves.
		for n := 1; ; n++ {
			s := scatter(t, small, all)
			s.dev.FailNth(devicetest.Any, n, nil)
			stats, err := s.m.Defragment()
			unused := s.dev.ClearFaults()
			if err != nil {
				requireError(t, err, device.CodeDevice)
				require.Zero(t, stats)
			} else {
				counted(t, 16, stats)
			}
			for _, p := range s.m.Pools() {
				p.CompleteFrees()
			}
			s.same(t)
			_, err = s.m.Defragment()
			require.NoError(t, err)
			s.same(t)
			require.EqualValues(t, 64*kib, s.m.Statistics().Reserved.Current)
			for h := range s.bytes {
				require.NoError(t, s.factory.Free(h))
			}
			require.NoError(t, s.m.Close(false))
			if unused > 0 {
				require.Greater(t, n, 40, "a defragmentation makes this many driver calls")
				return
			}
		}
	})
}

// The copy is queued, and both its event and the wait for it fail: the target stays
// reserved until a later call finds that the copy has completed.
func TestAPlaceStaysClaimedUntilItsCopyIsDone(t *testing.T) {
	overBoth(t, func(t *testing.T, small pool.Config) {
		s := scatter(t, small, all)
		require.NoError(t, s.m.mover.Ready(newDeadline(device.Forever)))
		mover := s.m.mover.stream.dev.(*devicetest.Stream)
		s.held = append(s.held, mover)
		mover.Hold()
		// The calls of Ready succeed; the copy's event and all waits fail.
		failure := errors.New("broken")
		s.dev.FailNth(devicetest.RecordEvent, 1, failure)
		s.dev.FailNth(devicetest.RecordEvent, 2, failure)
		s.dev.FailNth(devicetest.StreamSynchronize, 2, failure)
		s.dev.FailNth(devicetest.StreamSynchronize, 3, failure)
		_, err := s.m.Defragment()
		require.ErrorIs(t, err, failure)
		require.Zero(t, s.dev.ClearFaults())
		require.Len(t, s.m.mover.owed, 1)
		stats := s.m.Statistics()
		require.NoError(t, stats.Check())
		require.EqualValues(t, 17*4*kib, stats.Active.Current)
		mover.Release()
		_, err = s.m.Defragment()
		require.NoError(t, err)
		require.Empty(t, s.m.mover.owed)
		s.same(t)
	})
}
