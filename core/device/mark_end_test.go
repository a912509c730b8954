package device_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

func newStream(t *testing.T) (*devicetest.Device, *devicetest.Stream) {
	t.Helper()
	dev := devicetest.Open(devicetest.Config{Capture: true})
	s, err := dev.NewStream()
	require.NoError(t, err)
	return dev, s.(*devicetest.Stream)
}

func TestTheEndOfAnIdleStreamNeedsNoMark(t *testing.T) {
	_, s := newStream(t)
	event, err := device.MarkEnd("test", s)
	require.NoError(t, err)
	require.Nil(t, event)
}

func TestTheEndOfAQueueIsPassedWithItsWork(t *testing.T) {
	_, s := newStream(t)
	s.Hold()
	require.NoError(t, s.HostFunction(func() {}))
	event, err := device.MarkEnd("test", s)
	require.NoError(t, err)
	done, err := event.Done()
	require.NoError(t, err)
	require.False(t, done)
	s.Release()
	require.NoError(t, event.Synchronize(device.Forever))
	require.NoError(t, event.Close())
}

func TestAClosedStreamHasEnded(t *testing.T) {
	_, s := newStream(t)
	require.NoError(t, s.Close())
	event, err := device.MarkEnd("test", s)
	require.NoError(t, err)
	require.Nil(t, event)
	_, err = s.Idle()
	require.True(t, device.HasEnded(s, err))
}

func TestCapturingStreamIsNotQueried(t *testing.T) {
	dev, s := newStream(t)
	s.BeginCapture()
	_, err := device.MarkEnd("test", s)
	require.ErrorIs(t, err, device.CodeInvalidState)
	require.False(t, device.HasEnded(s, err))
	require.Zero(t, dev.Calls(devicetest.StreamIdle))
	require.Zero(t, dev.Calls(devicetest.RecordEvent))
	require.Zero(t, dev.Forbidden())
}

// Other code may begin a capture on the stream at any moment, so its work is not queried.
// An event marks its end, even if it is idle.
func TestAStreamThatMayCaptureIsNotQueried(t *testing.T) {
	dev, s := newStream(t)
	require.False(t, device.MayCapture(s))
	s.SetMayCapture()
	require.True(t, device.MayCapture(s))
	drained, err := device.Drained(s)
	require.NoError(t, err)
	require.False(t, drained)
	dry, err := device.IsDry(s)
	require.NoError(t, err)
	require.False(t, dry)
	event, err := device.MarkEnd("test", s)
	require.NoError(t, err)
	require.NoError(t, event.Synchronize(0))
	require.NoError(t, event.Close())
	require.False(t, device.IsClosed(s))
	require.Zero(t, dev.Calls(devicetest.StreamIdle))
	require.NoError(t, s.Close())
	require.True(t, device.IsClosed(s))
	event, err = device.MarkEnd("test", s)
	require.NoError(t, err)
	require.Nil(t, event)
	require.Zero(t, dev.Forbidden())
}

// ending is a stream whose capture ends right after a call that failed because of the
// capture.
type ending struct {
	*devicetest.Stream
	refusals int
}

func (e *ending) Idle() (bool, error) {
	if e.refusals > 0 {
		e.refusals--
		return false, device.Errorf(device.CodeInvalidState, "test", "the stream captures")
	}
	return e.Stream.Idle()
}

// TestACaptureThatHasJustEndedIsNoEndOfTheStream queues work. If MarkEnd took the stream
// for closed, no caller would wait for this work.
func TestACaptureThatHasJustEndedIsNoEndOfTheStream(t *testing.T) {
	_, s := newStream(t)
	s.Hold()
	require.NoError(t, s.HostFunction(func() {}))
	event, err := device.MarkEnd("test", &ending{s, 1})
	require.NoError(t, err)
	require.NotNil(t, event)
	require.ErrorIs(t, event.Synchronize(time.Millisecond), device.CodeTimeout)
	_, err = device.MarkEnd("test", &ending{s, 100})
	require.ErrorIs(t, err, device.CodeInvalidState, "the end of the stream moves each time")
	s.Release()
	require.NoError(t, event.Close())
}

func TestLostDeviceHasNoQueuedWork(t *testing.T) {
	dev, s := newStream(t)
	s.Hold()
	require.NoError(t, s.HostFunction(func() {}))
	for _, call := range []devicetest.Call{devicetest.StreamCapture, devicetest.StreamIdle, devicetest.RecordEvent} {
		dev.FailNth(call, 1, device.Errorf(device.CodeDeviceLost, "test", "gone"))
		event, err := device.MarkEnd("test", s)
		require.NoError(t, err, call)
		require.Nil(t, event, call)
	}
	dev.FailNth(devicetest.StreamIdle, 1, device.Errorf(device.CodeDeviceLost, "test", "gone"))
	dry, err := device.IsDry(s)
	require.NoError(t, err)
	require.True(t, dry)
	s.Release()
}

func TestAnErrorOfTheStreamIsPassedOn(t *testing.T) {
	dev, s := newStream(t)
	dev.FailNth(devicetest.StreamIdle, 1, nil)
	_, err := device.MarkEnd("test", s)
	require.ErrorIs(t, err, device.CodeDevice)
	require.EqualValues(t, 1, dev.Calls(devicetest.StreamIdle))
}
