package manager

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/handle"
	"ferrum_mem/core/track"
)

func TestStreamsAreCreatedAndDestroyed(t *testing.T) {
	r := cleanRig(t, devicetest.Config{})
	a, err := r.streams.CreateStream()
	require.NoError(t, err)
	b, err := r.streams.CreateStream()
	require.NoError(t, err)
	require.NotEqual(t, a, b)
	require.Equal(t, handle.Stream, handle.KindOf(a.ID()))
	require.Equal(t, 2, r.dev.OpenStreams())
	ready, err := r.streams.IsStreamReady(a)
	require.NoError(t, err)
	require.True(t, ready)
	require.NoError(t, r.streams.DestroyStream(a, false))
	require.Equal(t, 1, r.dev.OpenStreams())
	requireError(t, r.streams.DestroyStream(a, false), device.CodeInvalidHandle, "destroyed")
	for _, bad := range []StreamHandle{0, a, b + 1, StreamHandle(handle.Memory) << 56} {
		requireError(t, r.streams.DestroyStream(bad, true), device.CodeInvalidHandle, "stream")
		requireError(t, r.streams.SynchronizeStream(bad, device.Forever), device.CodeInvalidHandle)
		_, err = r.streams.IsStreamReady(bad)
		requireError(t, err, device.CodeInvalidHandle)
		_, err = r.streams.RecordEvent(bad)
		requireError(t, err, device.CodeInvalidHandle)
		requireError(t, r.streams.WaitEvent(bad, 1), device.CodeInvalidHandle)
		requireError(t, r.streams.HostFunction(bad, func() {}), device.CodeInvalidHandle)
		_, _, err = r.factory.Stream(bad)
		requireError(t, err, device.CodeInvalidHandle)
	}
	dev, e, err := r.factory.Stream(b)
	require.NoError(t, err)
	require.Same(t, r.engine, e)
	require.NotNil(t, dev)
	require.Same(t, r.engine, r.streams.Engine())
}

func TestStreamThatCannotBeMadeLeavesNothing(t *testing.T) {
	r := cleanRig(t, devicetest.Config{})
	r.dev.FailNth(devicetest.NewStream, 1, nil)
	h, err := r.streams.CreateStream()
	require.Zero(t, h)
	requireError(t, err, device.CodeDevice)
	require.False(t, r.factory.Leftovers(r.engine).Any())
}

func TestDefaultStreamHasAHandleOfItsOwn(t *testing.T) {
	driver := devicetest.New(devicetest.Config{Devices: 2})
	f := NewFactory()
	a, b := openRig(t, driver, f, 0), openRig(t, driver, f, 1)
	first, err := a.streams.DefaultStream()
	require.NoError(t, err)
	again, err := a.streams.DefaultStream()
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.NotZero(t, first)
	other, err := b.streams.DefaultStream()
	require.NoError(t, err)
	require.NotEqual(t, first, other, "the device is in the handle's entry")
	dev, e, err := f.Stream(first)
	require.NoError(t, err)
	require.Same(t, a.engine, e)
	require.Same(t, a.dev.DefaultStream(), dev)
	for _, force := range []bool{false, true} {
		requireError(t, a.streams.DestroyStream(first, force), device.CodeInvalidArgument, "default stream", "test:0")
	}
	require.NoError(t, f.SynchronizeStream(first, device.Forever))
	seen := map[StreamHandle]bool{}
	f.EachStream(func(s StreamInfo) bool {
		require.True(t, s.IsDefault)
		seen[s.Handle] = true
		return true
	})
	require.Equal(t, map[StreamHandle]bool{first: true, other: true}, seen)
	require.False(t, f.Leftovers(a.engine).Any())
}

func TestDestroyOfABusyStreamIsBusyUnlessForced(t *testing.T) {
	r := cleanRig(t, devicetest.Config{Backed: true})
	h := r.manager(t, nil).mustAlloc(t, 64)
	stream, held := r.heldStream(t)
	require.NoError(t, r.factory.FillAsync(fillOf(h, 0, 64, 9, 1), stream))
	requireError(t, r.streams.DestroyStream(stream, false), device.CodeBusy)
	ready, err := r.streams.IsStreamReady(stream)
	require.NoError(t, err)
	require.False(t, ready)
	waits := r.dev.Calls(devicetest.StreamSynchronize)
	done := make(chan error, 1)
	go func() { done <- r.streams.DestroyStream(stream, true) }()
	for r.dev.Calls(devicetest.StreamSynchronize) == waits {
		requireNot(t, done)
	}
	requireNot(t, done)
	requireError(t, r.factory.FillAsync(fillOf(h, 0, 64, 9, 1), stream), device.CodeInvalidHandle, "destroyed")
	requireError(t, r.streams.DestroyStream(stream, true), device.CodeInvalidHandle, "destroyed")
	info, err := r.factory.HandleInfo(h)
	require.NoError(t, err)
	require.EqualValues(t, 1, info.OperationsInFlight)
	held.Release()
	require.NoError(t, <-done)
	require.EqualValues(t, 9, r.bytes(t, h)[0])
	info, err = r.factory.HandleInfo(h)
	require.NoError(t, err)
	require.Zero(t, info.OperationsInFlight)
	require.NoError(t, r.factory.Free(h), "a block that a destroyed stream used can be freed")
}

func TestStreamThatCannotBeDestroyedStaysUsable(t *testing.T) {
	r := cleanRig(t, devicetest.Config{})
	stream, err := r.streams.CreateStream()
	require.NoError(t, err)
	for _, force := range []bool{false, true} {
		r.dev.FailNth(devicetest.StreamClose, 1, nil)
		requireError(t, r.streams.DestroyStream(stream, force), device.CodeDevice)
		require.NoError(t, r.streams.SynchronizeStream(stream, 0))
		require.NoError(t, r.streams.HostFunction(stream, func() {}))
	}
	r.dev.FailNth(devicetest.StreamIdle, 1, nil)
	requireError(t, r.streams.DestroyStream(stream, false), device.CodeDevice)
	require.NoError(t, r.streams.DestroyStream(stream, false))
}

func TestHostFunctionRunsInOrderAndMayCallIn(t *testing.T) {
	r := cleanRig(t, devicetest.Config{Backed: true})
	m := r.manager(t, nil)
	h := m.mustAlloc(t, 64)
	stream, held := r.heldStream(t)
	var seen []byte
	look := func() {
		seen = append(seen, r.bytes(t, h)[0])
		inside := m.mustAlloc(t, 10)
		if err := r.factory.Free(inside); err != nil {
			panic(err)
		}
	}
	require.NoError(t, r.factory.FillAsync(fillOf(h, 0, 64, 1, 1), stream))
	require.NoError(t, r.streams.HostFunction(stream, look))
	require.NoError(t, r.factory.FillAsync(fillOf(h, 0, 64, 2, 1), stream))
	require.NoError(t, r.streams.HostFunction(stream, look))
	held.Release()
	require.Equal(t, []byte{1, 2}, seen)
	requireError(t, r.streams.HostFunction(stream, nil), device.CodeNullPointer)
}

func TestSynchronizeReturnsTheFailureOfQueuedWorkOnce(t *testing.T) {
	r := cleanRig(t, devicetest.Config{})
	stream, err := r.streams.CreateStream()
	require.NoError(t, err)
	found, err := r.factory.streams.Get(stream.ID())
	require.NoError(t, err)
	found.fail(device.Errorf(device.CodeDevice, "test", "the first"))
	found.fail(device.Errorf(device.CodeDevice, "test", "the second"))
	requireError(t, r.streams.SynchronizeStream(stream, device.Forever), device.CodeDevice, "the first")
	require.NoError(t, r.streams.SynchronizeStream(stream, device.Forever))
}

func TestEventsMarkPointsOfAStream(t *testing.T) {
	r := cleanRig(t, devicetest.Config{Backed: true})
	h := r.manager(t, nil).mustAlloc(t, 64)
	stream, held := r.heldStream(t)
	start, err := r.streams.RecordEvent(stream)
	require.NoError(t, err)
	require.True(t, start.IsValid())
	require.Equal(t, handle.Event, handle.KindOf(start.ID()))
	require.NoError(t, r.factory.FillAsync(fillOf(h, 0, 64, 1, 1), stream))
	end, err := r.streams.RecordEvent(stream)
	require.NoError(t, err)

	ready, err := r.factory.IsEventReady(start)
	require.NoError(t, err)
	require.False(t, ready)
	requireError(t, r.factory.SynchronizeEvent(start, 0), device.CodeTimeout)
	_, err = r.factory.EventElapsed(start, end)
	requireError(t, err, device.CodeInvalidState)

	// A second stream waits for the event.
	second, err := r.streams.CreateStream()
	require.NoError(t, err)
	require.NoError(t, r.streams.WaitEvent(second, end))
	passed := false
	require.NoError(t, r.streams.HostFunction(second, func() { passed = true }))
	require.Equal(t, 2, held.Step(2))
	ready, err = r.factory.IsEventReady(start)
	require.NoError(t, err)
	require.True(t, ready)
	_, err = r.factory.EventElapsed(start, end)
	requireError(t, err, device.CodeInvalidState)
	require.False(t, passed)
	held.Release()
	require.True(t, passed)
	require.NoError(t, r.factory.SynchronizeEvent(end, device.Forever))

	elapsed, err := r.factory.EventElapsed(start, end)
	require.NoError(t, err)
	require.GreaterOrEqual(t, elapsed, time.Duration(64), "a nanosecond for each byte filled")
	back, err := r.factory.EventElapsed(end, start)
	require.NoError(t, err)
	require.Equal(t, -elapsed, back)
	none, err := r.factory.EventElapsed(end, end)
	require.NoError(t, err)
	require.Zero(t, none)
}

func TestADestroyedEventIsStillWaitedFor(t *testing.T) {
	r := cleanRig(t, devicetest.Config{})
	stream, held := r.heldStream(t)
	before := track.Now()
	event, err := r.streams.RecordEvent(stream)
	require.NoError(t, err)
	after := track.Now()
	second, err := r.streams.CreateStream()
	require.NoError(t, err)
	require.NoError(t, r.streams.WaitEvent(second, event))
	passed := false
	require.NoError(t, r.streams.HostFunction(second, func() { passed = true }))
	seen := 0
	r.factory.EachEvent(func(e EventInfo) bool {
		require.GreaterOrEqual(t, e.MadeAt, before)
		require.LessOrEqual(t, e.MadeAt, after)
		require.Equal(t, EventInfo{Handle: event, Engine: r.engine, MadeAt: e.MadeAt}, e)
		seen++
		return true
	})
	require.Equal(t, 1, seen)
	r.factory.EachStream(func(s StreamInfo) bool {
		if s.Handle == second {
			seen++
			require.GreaterOrEqual(t, s.MadeAt, after)
		} else {
			require.LessOrEqual(t, s.MadeAt, before)
		}
		return true
	})
	require.Equal(t, 2, seen)

	r.dev.FailNth(devicetest.EventClose, 1, nil)
	requireError(t, r.factory.DestroyEvent(event), device.CodeDevice)
	requireError(t, r.factory.SynchronizeEvent(event, 0), device.CodeTimeout)
	require.NoError(t, r.factory.DestroyEvent(event))
	require.Zero(t, r.dev.OpenEvents())
	require.False(t, passed)
	held.Release()
	require.True(t, passed, "a stream that waits for a destroyed event still does")

	for _, bad := range []EventHandle{0, event, event + 1, EventHandle(stream)} {
		requireError(t, r.factory.DestroyEvent(bad), device.CodeInvalidHandle, "event")
		requireError(t, r.factory.SynchronizeEvent(bad, 0), device.CodeInvalidHandle)
		_, err := r.factory.IsEventReady(bad)
		requireError(t, err, device.CodeInvalidHandle)
		_, err = r.factory.EventElapsed(bad, event)
		requireError(t, err, device.CodeInvalidHandle)
		requireError(t, r.streams.WaitEvent(second, bad), device.CodeInvalidHandle)
	}
	r.dev.FailNth(devicetest.RecordEvent, 1, nil)
	_, err = r.streams.RecordEvent(second)
	requireError(t, err, device.CodeDevice)
	require.Zero(t, r.factory.Leftovers(r.engine).Events)
}

func TestEventIsNotClosedUnderAWaitingCall(t *testing.T) {
	r := cleanRig(t, devicetest.Config{})
	stream, held := r.heldStream(t)
	event, err := r.streams.RecordEvent(stream)
	require.NoError(t, err)
	waits := r.dev.Calls(devicetest.EventSynchronize)
	done := make(chan error, 1)
	go func() { done <- r.factory.SynchronizeEvent(event, device.Forever) }()
	for r.dev.Calls(devicetest.EventSynchronize) == waits {
		requireNot(t, done)
	}
	require.NoError(t, r.factory.DestroyEvent(event))
	requireError(t, r.factory.DestroyEvent(event), device.CodeInvalidHandle)
	require.Equal(t, 1, r.dev.OpenEvents())
	held.Release()
	require.NoError(t, <-done)
	require.Zero(t, r.dev.OpenEvents())
}

// A call that finds the device closed returns the error that the event's handle has
// from now on.
func TestEventThatEndsUnderACallWithItsDevice(t *testing.T) {
	r := cleanRig(t, devicetest.Config{})
	stream, _ := r.heldStream(t)
	recorded, err := r.streams.RecordEvent(stream)
	require.NoError(t, err)
	closed := device.Errorf(device.CodeInvalidState, "event_done", "the device is closed")
	err = r.factory.use("event.is_ready", recorded, func(*event) error { return closed })
	require.ErrorIs(t, err, closed, "the event lives")
	err = r.factory.use("event.is_ready", recorded, func(*event) error {
		require.NoError(t, r.factory.DestroyEvent(recorded))
		return closed
	})
	requireError(t, err, device.CodeInvalidHandle, "destroyed")
}

func TestEventsOfTwoDevices(t *testing.T) {
	driver := devicetest.New(devicetest.Config{Devices: 2})
	f := NewFactory()
	a, b := openRig(t, driver, f, 0), openRig(t, driver, f, 1)
	foreign := openRig(t, devicetest.New(devicetest.Config{Backend: "other"}), f, 0)
	record := func(r *rig) (StreamHandle, EventHandle) {
		stream, err := r.streams.CreateStream()
		require.NoError(t, err)
		event, err := r.streams.RecordEvent(stream)
		require.NoError(t, err)
		return stream, event
	}
	first, mine := record(a)
	_, theirs := record(b)
	_, strange := record(foreign)
	_, err := f.EventElapsed(mine, theirs)
	requireError(t, err, device.CodeInvalidArgument, "test:0", "test:1")
	require.NoError(t, f.WaitEvent(first, theirs), "streams of one backend can wait for each other")
	requireError(t, f.WaitEvent(first, strange), device.CodeUnsupported, "test:0", "other:0")
}
