package manager

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/track"
)

func TestCloseOfAManagerInUseIsBusyUnlessForced(t *testing.T) {
	r := cleanRig(t, devicetest.Config{Backed: true})
	m := r.manager(t, nil)
	other := r.manager(t, nil)
	theirs := other.mustAlloc(t, 64)
	a, b := m.mustAlloc(t, 64), m.mustAlloc(t, 64)
	before := m.Statistics()
	requireError(t, m.Close(false), device.CodeBusy, "2 blocks")
	require.Equal(t, before, m.Statistics())
	require.Equal(t, 2, r.factory.Leftovers(r.engine).Managers)

	stream, held := r.heldStream(t)
	require.NoError(t, r.factory.CopyAsync(NewTransfer(a, theirs, 64), stream))
	waits := r.dev.Calls(devicetest.EventSynchronize)
	done := make(chan error, 1)
	go func() { done <- m.Close(true) }()
	for r.dev.Calls(devicetest.EventSynchronize) == waits {
		requireNot(t, done)
	}
	requireNot(t, done)
	_, err := m.Alloc(10)
	requireError(t, err, device.CodeInvalidHandle, "destroyed")
	requireError(t, r.factory.CopyAsync(NewTransfer(b, theirs, 8), DefaultStream), device.CodeInvalidHandle)
	held.Release()
	require.NoError(t, <-done)

	for _, h := range []MemoryHandle{a, b} {
		_, err := r.factory.HandleInfo(h)
		requireError(t, err, device.CodeInvalidHandle, "destroyed")
		requireError(t, r.factory.Free(h), device.CodeInvalidHandle)
	}
	requireError(t, m.Close(true), device.CodeInvalidHandle)
	_, err = m.MemoryInfo()
	requireError(t, err, device.CodeInvalidHandle)
	_, err = m.Defragment()
	requireError(t, err, device.CodeInvalidHandle)
	require.Empty(t, m.Pools())
	stats := m.Statistics()
	require.Equal(t, track.Gauge{Peak: 128}, stats.Requested)
	require.EqualValues(t, 2, stats.Frees)
	require.Equal(t, 1, r.factory.Leftovers(r.engine).Managers)
	_, err = r.factory.HandleInfo(theirs)
	require.NoError(t, err, "blocks of another manager stay")
	require.EqualValues(t, 64*kib, r.dev.HeldBytes())
}

func TestCloseOfAnUnusedManagerGivesAllBack(t *testing.T) {
	r := cleanRig(t, devicetest.Config{})
	m := r.manager(t, nil)
	require.Zero(t, r.dev.HeldBytes(), "a manager holds nothing before the first allocation")
	h := m.mustAlloc(t, 64)
	require.NoError(t, r.factory.Free(h))
	require.NoError(t, m.Close(false))
	require.Zero(t, r.dev.HeldBytes())
	require.False(t, r.factory.Leftovers(r.engine).Any())
	require.Zero(t, r.engine.Statistics().Reserved.Current)
}

func TestForcedCloseThatCannotWaitChangesNothing(t *testing.T) {
	r := cleanRig(t, devicetest.Config{Backed: true})
	m := r.manager(t, nil)
	h := m.mustAlloc(t, 64)
	stream, _ := r.heldStream(t)
	require.NoError(t, r.factory.FillAsync(fillOf(h, 0, 64, 1, 1), stream))
	r.dev.FailNth(devicetest.EventSynchronize, 1, nil)
	before := m.Statistics()
	requireError(t, m.Close(true), device.CodeDevice)
	require.Equal(t, before, m.Statistics())
	_, err := r.factory.HandleInfo(h)
	require.NoError(t, err)
	m.mustAlloc(t, 10)
}

func TestCloseCanBeTriedAgain(t *testing.T) {
	overBoth(t, closeTwice)
}

func closeTwice(t *testing.T, _ pool.Config) {
	r := cleanRig(t, devicetest.Config{})
	m := r.manager(t, nil)
	h := m.mustAlloc(t, 64)
	r.dev.FailNth(giveBackCall(), 1, nil)
	requireError(t, m.Close(true), device.CodeDevice)
	_, err := r.factory.HandleInfo(h)
	requireError(t, err, device.CodeInvalidHandle)
	_, err = m.Alloc(1)
	requireError(t, err, device.CodeInvalidHandle)
	require.Equal(t, 1, r.factory.Leftovers(r.engine).Managers)
	require.NoError(t, m.Close(false))
	require.Zero(t, r.dev.HeldBytes())
}

func TestCloseDeviceIsBusyWhileAnythingIsLeft(t *testing.T) {
	r := cleanRig(t, devicetest.Config{})
	m := r.manager(t, nil)
	stream, err := r.streams.CreateStream()
	require.NoError(t, err)
	event, err := r.streams.RecordEvent(stream)
	require.NoError(t, err)
	byDefault, err := r.streams.DefaultStream()
	require.NoError(t, err)
	left, err := r.factory.CloseDevice(r.engine, false)
	requireError(t, err, device.CodeBusy, "1 manager, 1 stream and 1 event")
	require.Equal(t, Leftovers{Managers: 1, Streams: 1, Events: 1}, left)
	require.Equal(t, left, r.factory.Leftovers(r.engine))
	require.NoError(t, m.Close(false))
	require.NoError(t, r.factory.DestroyEvent(event))
	require.NoError(t, r.streams.DestroyStream(stream, false))
	left, err = r.factory.CloseDevice(r.engine, false)
	require.NoError(t, err)
	require.False(t, left.Any())
	_, _, err = r.factory.Stream(byDefault)
	requireError(t, err, device.CodeInvalidHandle, "destroyed")
}

func TestForcedCloseDeviceEndsAll(t *testing.T) {
	driver := devicetest.New(devicetest.Config{Devices: 2, Backed: true})
	f := NewFactory()
	b := openRig(t, driver, f, 1)
	a := openRig(t, driver, f, 0)
	src := b.manager(t, nil).mustAlloc(t, 64)
	b.write(t, src, counting(64))
	dst := a.manager(t, nil).mustAlloc(t, 64)
	stream, held := a.heldStream(t)
	require.NoError(t, f.CopyAsync(NewTransfer(src, dst, 64), stream))
	require.NoError(t, f.CopyAsync(NewTransfer(src, dst, 64), DefaultStream))
	_, err := a.streams.RecordEvent(stream)
	require.NoError(t, err)
	held.Release()
	left, err := f.CloseDevice(a.engine, true)
	require.NoError(t, err)
	require.Equal(t, Leftovers{Managers: 1, Streams: 1, Events: 1}, left)
	require.Zero(t, a.dev.OpenEvents(), "the block of the other device has released its event too")
	_, err = f.HandleInfo(dst)
	requireError(t, err, device.CodeInvalidHandle)
	info, err := f.HandleInfo(src)
	require.NoError(t, err)
	require.Zero(t, info.OperationsInFlight)
	require.NoError(t, f.Free(src))
}

func TestCloseDeviceThatFailsCanBeTriedAgain(t *testing.T) {
	r := cleanRig(t, devicetest.Config{})
	r.manager(t, nil).mustAlloc(t, 64)
	stream, err := r.streams.CreateStream()
	require.NoError(t, err)
	r.dev.FailNth(devicetest.StreamClose, 1, nil)
	_, err = r.factory.CloseDevice(r.engine, true)
	requireError(t, err, device.CodeDevice)
	require.Equal(t, Leftovers{Streams: 1}, r.factory.Leftovers(r.engine))
	require.NoError(t, r.streams.SynchronizeStream(stream, 0))
	_, err = r.streams.CreateStream()
	require.NoError(t, err)
}

func TestNothingIsMadeOnADeviceThatCloses(t *testing.T) {
	r := cleanRig(t, devicetest.Config{})
	d := r.factory.deviceOf(r.engine)
	stream, err := r.streams.CreateStream()
	require.NoError(t, err)
	d.closing = true
	_, err = r.streams.CreateStream()
	requireError(t, err, device.CodeInvalidHandle, "test:0")
	_, err = r.streams.DefaultStream()
	requireError(t, err, device.CodeInvalidHandle)
	_, err = r.streams.RecordEvent(stream)
	requireError(t, err, device.CodeInvalidHandle)
	_, err = r.factory.CreateMemoryManager(r.engine, smallConfig())
	requireError(t, err, device.CodeInvalidHandle)
	_, err = r.factory.CloseDevice(r.engine, true)
	requireError(t, err, device.CodeInvalidState)
	d.closing = false
}
