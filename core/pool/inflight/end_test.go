package inflight

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// Each use of a shared event calls Close, and the last one closes the event. A Close that
// failed may be repeated.
func TestSharedEventIsClosedByItsLastUse(t *testing.T) {
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

// An event that cannot be recorded at once is recorded later. Before that it has not
// completed, and no thread can wait for it.
func TestEndThatCannotBeRecordedIsRecordedLater(t *testing.T) {
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

// lost is an event of a lost device.
type lost struct{ point }

func (lost) Done() (bool, error) { return false, device.Errorf(device.CodeDeviceLost, "test", "lost") }

func TestEventsOfALostDeviceHaveCompleted(t *testing.T) {
	require.True(t, Passed(&lost{}))
	require.False(t, Passed(&refusing{}))
}

// refusing is an event that can be neither queried nor waited for.
type refusing struct{ point }

func (refusing) Done() (bool, error) { return false, errors.New("not now") }
