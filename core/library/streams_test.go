package library_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/manager"
)

func TestStreamsAndEventsAreMadeAndEndedByHandle(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	def, err := b.StreamDefault(dev)
	require.NoError(t, err)
	same, err := b.StreamDefault(dev)
	require.NoError(t, err)
	require.Equal(t, def, same)
	requireCode(t, device.CodeInvalidArgument, b.StreamDestroy(def, true))

	stream, err := b.StreamCreate(dev)
	require.NoError(t, err)
	b.device(0).Default().Hold()
	ran := false
	require.NoError(t, made(b).HostFunction(manager.StreamHandle(def), func() { ran = true }))
	event, err := made(b).RecordEvent(manager.StreamHandle(def))
	require.NoError(t, err)
	require.NoError(t, made(b).WaitEvent(manager.StreamHandle(stream), manager.EventHandle(event)))
	ready, err := made(b).IsStreamReady(manager.StreamHandle(stream))
	require.NoError(t, err)
	require.False(t, ready)
	ready, err = made(b).IsEventReady(manager.EventHandle(event))
	require.NoError(t, err)
	require.False(t, ready)
	requireCode(t, device.CodeTimeout, made(b).SynchronizeStream(manager.StreamHandle(stream), 0))
	requireCode(t, device.CodeTimeout, made(b).SynchronizeEvent(manager.EventHandle(event), 0))
	requireCode(t, device.CodeTimeout, at(b.Device, dev).Synchronize(0))
	requireCode(t, device.CodeBusy, b.StreamDestroy(stream, false))
	later, err := made(b).RecordEvent(manager.StreamHandle(stream))
	require.NoError(t, err)
	_, err = made(b).EventElapsed(manager.EventHandle(event), manager.EventHandle(later))
	requireCode(t, device.CodeInvalidState, err)

	b.device(0).Default().Release()
	require.NoError(t, made(b).SynchronizeStream(manager.StreamHandle(stream), device.Forever))
	require.NoError(t, made(b).SynchronizeEvent(manager.EventHandle(later), device.Forever))
	require.True(t, ran)
	elapsed, err := made(b).EventElapsed(manager.EventHandle(event), manager.EventHandle(later))
	require.NoError(t, err)
	back, err := made(b).EventElapsed(manager.EventHandle(later), manager.EventHandle(event))
	require.NoError(t, err)
	require.Equal(t, elapsed, -back)
	for _, e := range []manager.EventHandle{event, later} {
		require.NoError(t, made(b).DestroyEvent(manager.EventHandle(e)))
		requireCode(t, device.CodeInvalidHandle, made(b).DestroyEvent(manager.EventHandle(e)))
	}
	require.NoError(t, b.StreamDestroy(stream, false))
	requireCode(t, device.CodeInvalidHandle, b.StreamDestroy(stream, false))
	require.NoError(t, at(b.Device, dev).Close(false))
	requireCode(t, device.CodeInvalidHandle, made(b).SynchronizeStream(manager.StreamHandle(def), 0))
}

func TestStreamsRefuseBadHandles(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	for _, wrong := range []uint64{0, dev, ^uint64(0)} {
		requireCode(t, device.CodeInvalidHandle, made(b).SynchronizeStream(manager.StreamHandle(wrong), 0))
		requireCode(t, device.CodeInvalidHandle, second(made(b).IsStreamReady(manager.StreamHandle(wrong))))
		requireCode(t, device.CodeInvalidHandle, b.StreamDestroy(wrong, true))
		requireCode(t, device.CodeInvalidHandle, made(b).HostFunction(manager.StreamHandle(wrong), func() {}))
		requireCode(t, device.CodeInvalidHandle, second(made(b).RecordEvent(manager.StreamHandle(wrong))))
		requireCode(t, device.CodeInvalidHandle, second(made(b).IsEventReady(manager.EventHandle(wrong))))
		requireCode(t, device.CodeInvalidHandle, made(b).SynchronizeEvent(manager.EventHandle(wrong), 0))
		requireCode(t, device.CodeInvalidHandle, second(made(b).EventElapsed(manager.EventHandle(wrong), manager.EventHandle(wrong))))
	}
	stream, err := b.StreamCreate(dev)
	require.NoError(t, err)
	requireCode(t, device.CodeInvalidHandle, second(b.StreamCreate(stream)))
	requireCode(t, device.CodeInvalidHandle, second(b.StreamDefault(0)))
	requireCode(t, device.CodeInvalidHandle, made(b).WaitEvent(manager.StreamHandle(stream), manager.EventHandle(stream)))
	requireCode(t, device.CodeNullPointer, made(b).HostFunction(manager.StreamHandle(stream), nil))
}
