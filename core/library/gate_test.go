package library

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/handle"
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

// A forced end of memory does not wait for work that never runs, and not on a thread that must not wait.
func TestForcedEndsThatDoNotWaitForHolds(t *testing.T) {
	mayNotWait := false
	driver := devicetest.New(devicetest.Config{TotalBytes: 1 << 20})
	opened, err := driver.Open(0)
	require.NoError(t, err)
	e := engine.New(opened, engine.Options{MayNotWait: func() bool { return mayNotWait }})
	g := newGate()
	ended := func() error { return g.endHeld("test", e, true, func() error { return nil }) }
	isOpen := func() {
		t.Helper()
		require.True(t, g.enter())
		g.exit()
	}
	require.True(t, g.enter())

	mayNotWait = true
	require.Equal(t, device.CodeBusy, device.CodeOf(ended()))
	isOpen()
	mayNotWait = false
	opened.(*devicetest.Device).FailNth(devicetest.DeviceSynchronize, 1, device.CodeDevice)
	require.Equal(t, device.CodeDevice, device.CodeOf(ended()))
	isOpen()
	opened.(*devicetest.Device).FailNth(devicetest.DeviceSynchronize, 1, device.CodeDeviceLost)
	require.NoError(t, ended())
	require.False(t, g.enter())
	g.exit()
	g.reopen()
	fail := func() error { return device.CodeDevice }
	require.ErrorIs(t, g.endHeld("test", e, true, fail), device.CodeDevice)
	isOpen()
	require.NoError(t, e.Close())
}
