package inflight

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// Each use of a shared event closes it, and the last one does so in truth; a Close that
// failed may come again.
func TestSharedEventsAreClosedByTheirLastUse(t *testing.T) {
	e := &point{refuses: 1}
	shared := Share(e)
	require.Same(t, shared, shared.Use())
	require.NoError(t, shared.Close())
	require.False(t, e.closed)
	require.Error(t, shared.Close(), "the event refuses")
	require.NoError(t, shared.Close())
	require.True(t, e.closed)
	require.True(t, inOrder(shared))
	require.False(t, inOrder(Share(LaterEndOf(nil))))
}

func newStream(t *testing.T) (*devicetest.Device, *devicetest.Stream) {
	dev := devicetest.Open(devicetest.Config{})
	s, err := dev.NewStream()
	require.NoError(t, err)
	return dev, s.(*devicetest.Stream)
}

// An end that cannot be marked at once is marked when it can be, and nobody takes it for
// passed, or waits for it, before.
func TestAnEndThatFailsIsMarkedLater(t *testing.T) {
	dev, s := newStream(t)
	require.Nil(t, EndOf(s), "nothing is queued")
	s.Hold()
	require.NoError(t, s.HostFunction(func() {}))
	dev.FailNth(devicetest.RecordEvent, 1, nil)
	end := EndOf(s)
	require.IsType(t, &laterEnd{}, end)
	require.False(t, inOrder(end))
	dev.FailNth(devicetest.RecordEvent, 1, nil)
	require.False(t, isMarked(end))
	dev.FailNth(devicetest.RecordEvent, 1, nil)
	require.ErrorIs(t, end.Synchronize(0), device.CodeTimeout)
	require.True(t, isMarked(end))
	require.False(t, Passed(end))
	require.Equal(t, 1, dev.OpenEvents())
	s.Release()
	require.NoError(t, end.Synchronize(device.Forever))
	require.True(t, Passed(end))
	require.NoError(t, end.Close())
	require.Zero(t, dev.OpenEvents())
	require.NoError(t, s.Close())
}

// lost is an event of a device that is lost.
type lost struct{ point }

func (lost) Done() (bool, error) { return false, device.Errorf(device.CodeDeviceLost, "test", "lost") }

func TestEventsOfALostDeviceHavePassed(t *testing.T) {
	require.True(t, Passed(&lost{}))
	require.False(t, Passed(&refusing{}))
}

// refusing is an event that can be neither asked nor waited for.
type refusing struct{ point }

func (refusing) Done() (bool, error) { return false, errors.New("not now") }
