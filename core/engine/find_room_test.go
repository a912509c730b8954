package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
)

// lateCompletion is a pool with one block in flight. While FindRoom calls WaitForFlight,
// another thread completes the free of this block, so the pool has nothing left to wait
// for.
type lateCompletion struct {
	counterPool
	completed bool
	// cached is the number of bytes that the freed block makes releasable.
	cached uint64
}

func (p *lateCompletion) WaitForFlight(time.Duration) (bool, error) {
	p.completed = true
	return false, nil
}

func (p *lateCompletion) ReleaseCached(uint64) (uint64, error) {
	if !p.completed {
		return 0, nil
	}
	released := p.cached
	p.cached = 0
	return released, nil
}

func TestASearchSeesWhatAnotherThreadHasCompleted(t *testing.T) {
	t.Run("in the pool that searches", func(t *testing.T) {
		_, e := open(1 << 20)
		p := &lateCompletion{}
		require.NoError(t, e.FindRoom(Need{Pool: p, SizeBytes: 1}, func() (bool, error) { return p.completed, nil }))
	})
	t.Run("in another pool of the device", func(t *testing.T) {
		_, e := open(1 << 20)
		asking, other := newCounterPool(t, e, "asking"), &lateCompletion{cached: 1}
		other.counterPool.counters = track.NewCounters(true, e.Totals())
		require.NoError(t, e.Register(other))
		retry := func() (bool, error) { return other.completed && other.cached == 0, nil }
		require.NoError(t, e.FindRoom(Need{Pool: asking, SizeBytes: 1}, retry))
	})
	t.Run("none", func(t *testing.T) {
		_, e := open(1 << 20)
		err := e.FindRoom(Need{Pool: newCounterPool(t, e, "asking"), SizeBytes: 1}, func() (bool, error) { return false, nil })
		require.ErrorIs(t, err, device.CodeOutOfMemory)
	})
}
