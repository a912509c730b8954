package library_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

func TestStreamsAndEvents(t *testing.T) {
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
	require.NoError(t, b.StreamHostFunction(def, func() { ran = true }))
	event, err := b.EventRecord(def)
	require.NoError(t, err)
	require.NoError(t, b.StreamWaitEvent(stream, event))
	ready, err := b.StreamIsReady(stream)
	require.NoError(t, err)
	require.False(t, ready)
	ready, err = b.EventIsReady(event)
	require.NoError(t, err)
	require.False(t, ready)
	requireCode(t, device.CodeTimeout, b.StreamSynchronize(stream, 0))
	requireCode(t, device.CodeTimeout, b.EventSynchronize(event, 0))
	requireCode(t, device.CodeTimeout, b.DeviceSynchronize(dev, 0))
	requireCode(t, device.CodeBusy, b.StreamDestroy(stream, false))
	later, err := b.EventRecord(stream)
	require.NoError(t, err)
	_, err = b.EventElapsed(event, later)
	requireCode(t, device.CodeInvalidState, err)

	b.device(0).Default().Release()
	require.NoError(t, b.StreamSynchronize(stream, device.Forever))
	require.NoError(t, b.EventSynchronize(later, device.Forever))
	require.True(t, ran)
	elapsed, err := b.EventElapsed(event, later)
	require.NoError(t, err)
	back, err := b.EventElapsed(later, event)
	require.NoError(t, err)
	require.Equal(t, elapsed, -back)
	for _, e := range []uint64{event, later} {
		require.NoError(t, b.EventDestroy(e))
		requireCode(t, device.CodeInvalidHandle, b.EventDestroy(e))
	}
	require.NoError(t, b.StreamDestroy(stream, false))
	requireCode(t, device.CodeInvalidHandle, b.StreamDestroy(stream, false))
	require.NoError(t, b.DeviceClose(dev, false))
	requireCode(t, device.CodeInvalidHandle, b.StreamSynchronize(def, 0))
}

func TestStreamsRefuseBadHandles(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	first := func(_ any, err error) error { return err }
	for _, wrong := range []uint64{0, dev, ^uint64(0)} {
		requireCode(t, device.CodeInvalidHandle, b.StreamSynchronize(wrong, 0))
		requireCode(t, device.CodeInvalidHandle, first(b.StreamIsReady(wrong)))
		requireCode(t, device.CodeInvalidHandle, b.StreamDestroy(wrong, true))
		requireCode(t, device.CodeInvalidHandle, b.StreamHostFunction(wrong, func() {}))
		requireCode(t, device.CodeInvalidHandle, first(b.EventRecord(wrong)))
		requireCode(t, device.CodeInvalidHandle, first(b.EventIsReady(wrong)))
		requireCode(t, device.CodeInvalidHandle, b.EventSynchronize(wrong, 0))
		requireCode(t, device.CodeInvalidHandle, first(b.EventElapsed(wrong, wrong)))
	}
	stream, err := b.StreamCreate(dev)
	require.NoError(t, err)
	requireCode(t, device.CodeInvalidHandle, first(b.StreamCreate(stream)))
	requireCode(t, device.CodeInvalidHandle, first(b.StreamDefault(0)))
	requireCode(t, device.CodeInvalidHandle, b.StreamWaitEvent(stream, stream))
	requireCode(t, device.CodeNullPointer, b.StreamHostFunction(stream, nil))
}
