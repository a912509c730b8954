package library

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/handle"

	"ferrum_mem/core/device"
)

func TestGateIsClosedOnlyIfTheCheckAllowsIt(t *testing.T) {
	g := newGate()
	require.True(t, g.enter())
	refuse := device.Errorf(device.CodeBusy, "test", "in use")
	require.Same(t, refuse, g.tryClose(func(making int) error {
		require.Equal(t, 1, making)
		return refuse
	}))
	require.True(t, g.enter(), "a refused closing changes nothing")
	g.exit()
	g.exit()
	require.NoError(t, g.tryClose(func(making int) error {
		require.Zero(t, making)
		return nil
	}))
	require.False(t, g.enter())
	g.reopen()
	require.True(t, g.enter())
}

func TestGateCloseWaitsForWhatIsBeingMade(t *testing.T) {
	for range 100 {
		g := newGate()
		require.True(t, g.enter())
		var made, madeFirst atomic.Bool
		closed := device.Go("close", func() {
			g.close()
			madeFirst.Store(made.Load())
		})
		for g.enter() {
			g.exit()
			runtime.Gosched()
		}
		runtime.Gosched()
		made.Store(true)
		g.exit()
		<-closed
		require.True(t, madeFirst.Load())
	}
}

func TestBusyErrorListsRemainingObjects(t *testing.T) {
	require.Equal(t, "nothing", leftovers{}.String())
	require.Equal(t, "1 device", leftovers{kinds: []leftKind{{handle.Device, 1}, {handle.Pool, 0}}}.String())
	require.Equal(t, "2 pools, 1 unfinished call and 5 blocks",
		leftovers{kinds: []leftKind{{handle.Pool, 2}}, making: 1, blocks: 5}.String())
	require.Equal(t, "2 unfinished calls", leftovers{making: 2}.String())
}
