package gate

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

func TestADeviceWithObjectsCannotBeClosed(t *testing.T) {
	for kind, words := range map[Kind]string{
		Segments: "2 segments", Streams: "2 streams", Reservations: "2 reservations", Pages: "2 pages", Foreign: "2 external ranges",
	} {
		g := New(device.ID{Backend: "cpu", Index: 3})
		require.NoError(t, g.Add("enter", kind, 2))
		err := g.Close("close")
		require.Equal(t, device.CodeBusy, device.CodeOf(err))
		require.ErrorContains(t, err, words)
		var typed *device.Error
		require.ErrorAs(t, err, &typed)
		require.Equal(t, "cpu:3", typed.Device)
		require.NoError(t, g.Check("check"), "it is open still")
		g.Remove(kind, 2)
		require.NoError(t, g.Close("close"))
		for _, err := range []error{g.Check("check"), g.Add("enter", kind, 1), g.Close("close")} {
			require.Equal(t, device.CodeInvalidState, device.CodeOf(err))
		}
		require.Equal(t, New(device.ID{}).Left(), g.Left())
	}
}

// Threads enter while others close. In the end either the device is closed and no thread is
// inside, or the device is open.
func TestNoCallEntersAClosedDevice(t *testing.T) {
	for range 200 {
		g := New(device.ID{})
		var inside atomic.Int64
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() {
				if g.Add("enter", Streams, 1) == nil {
					inside.Add(1)
				}
			})
		}
		closed := g.Close("close") == nil
		wait.Wait()
		if closed {
			require.Zero(t, inside.Load())
		} else {
			require.NotZero(t, inside.Load())
			g.Remove(Streams, int(inside.Load()))
			require.NoError(t, g.Close("close"))
		}
	}
}
