package manager

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

func TestCopyAsyncRunsInItsStream(t *testing.T) {
	r := cleanRig(t, devicetest.Config{Backed: true})
	m := r.manager(t, nil)
	src, dst := m.mustAlloc(t, 64), m.mustAlloc(t, 64)
	content := counting(64)
	r.write(t, src, content)
	r.write(t, dst, make([]byte, 64))
	stream, held := r.heldStream(t)
	require.NoError(t, r.factory.CopyAsync(NewTransfer(src, dst, 64), stream))
	for _, h := range []MemoryHandle{src, dst} {
		info, err := r.factory.HandleInfo(h)
		require.NoError(t, err)
		require.EqualValues(t, 1, info.OperationsInFlight)
	}
	require.Zero(t, r.bytes(t, dst)[0])
	ready, err := r.factory.IsStreamReady(stream)
	require.NoError(t, err)
	require.False(t, ready)
	requireError(t, r.factory.SynchronizeStream(stream, 0), device.CodeTimeout)
	held.Release()
	require.NoError(t, r.factory.SynchronizeStream(stream, device.Forever))
	require.Equal(t, content, r.bytes(t, dst))
	info, err := r.factory.HandleInfo(dst)
	require.NoError(t, err)
	require.Zero(t, info.OperationsInFlight)
	// Without a stream the copy uses the default one, which can be waited for too.
	require.NoError(t, r.factory.CopyAsync(NewTransfer(dst, src, 32), DefaultStream))
	byDefault, err := r.streams.DefaultStream()
	require.NoError(t, err)
	require.NoError(t, r.factory.SynchronizeStream(byDefault, device.Forever))
}

func TestCopyAsyncWaitsForItsTurn(t *testing.T) {
	r := cleanRig(t, devicetest.Config{Backed: true})
	m := r.manager(t, func(c *Config) { c.MaxConcurrentTransfers = 2 })
	src, dst := m.mustAlloc(t, 64), m.mustAlloc(t, 64)
	first, heldFirst := r.heldStream(t)
	second, heldSecond := r.heldStream(t)
	require.NoError(t, r.factory.CopyAsync(NewTransfer(src, dst, 8), first))
	require.NoError(t, r.factory.CopyAsync(NewTransfer(src, dst, 8), second))
	waits := r.dev.Calls(devicetest.EventSynchronize)
	done := make(chan error, 1)
	third, err := r.streams.CreateStream()
	require.NoError(t, err)
	go func() { done <- r.factory.CopyAsync(NewTransfer(src, dst, 8), third) }()
	for r.dev.Calls(devicetest.EventSynchronize) == waits {
		requireNot(t, done)
	}
	require.Equal(t, 2, r.dev.Calls(devicetest.Copy))
	// A fill is not a transfer, and another manager has its own transfer slots.
	require.NoError(t, r.factory.FillAsync(fillOf(dst, 0, 8, 1, 1), third))
	other := r.manager(t, nil)
	theirs := other.mustAlloc(t, 64)
	require.NoError(t, r.factory.CopyAsync(NewTransfer(src, theirs, 8), third))
	requireNot(t, done)
	heldFirst.Release()
	require.NoError(t, <-done)
	require.NoError(t, r.factory.CopyAsync(NewTransfer(src, dst, 8), third), "the third copy is done, so a transfer slot is free")
	heldSecond.Release()
}

func TestCopyAsyncReturnsItsTurnWhenItFails(t *testing.T) {
	r := cleanRig(t, devicetest.Config{})
	m := r.manager(t, func(c *Config) { c.MaxConcurrentTransfers = 1 })
	h := m.mustAlloc(t, 64)
	for range 3 {
		r.dev.FailNth(devicetest.Copy, 1, nil)
		requireError(t, r.factory.CopyAsync(NewTransfer(h, h, 8), 0), device.CodeDevice)
	}
	require.NoError(t, r.factory.CopyAsync(NewTransfer(h, h, 8), 0))
}

func TestCopyAsyncOnAStreamOfAnotherDevice(t *testing.T) {
	driver := devicetest.New(devicetest.Config{Devices: 2, Backed: true})
	f := NewFactory()
	a, b := openRig(t, driver, f, 0), openRig(t, driver, f, 1)
	ours, theirs := a.manager(t, nil).mustAlloc(t, 64), b.manager(t, nil).mustAlloc(t, 64)
	stream, err := a.streams.CreateStream()
	require.NoError(t, err)
	requireError(t, f.CopyAsync(NewTransfer(ours, theirs, 8), stream), device.CodeInvalidArgument, "test:0", "test:1")
	requireError(t, f.FillAsync(fillOf(theirs, 0, 8, 1, 1), stream), device.CodeInvalidArgument, "test:0", "test:1")
	require.NoError(t, f.CopyAsync(NewTransfer(theirs, ours, 8), stream))
	requireError(t, f.CopyAsync(NewTransfer(ours, ours, 8), StreamHandle(ours)), device.CodeInvalidHandle, "stream", "memory")
}

func openRig(t *testing.T, driver *devicetest.Driver, f *Factory, index int) *rig {
	dev, err := driver.Open(index)
	require.NoError(t, err)
	r := rigOn(dev.(*devicetest.Device), f)
	t.Cleanup(func() { r.finish(t) })
	return r
}

func TestFreedMemoryIsNotReusedWhileACopyIsInFlight(t *testing.T) {
	r := cleanRig(t, devicetest.Config{TotalBytes: 64 * kib, Backed: true})
	m := r.manager(t, nil)
	src, dst := m.mustAlloc(t, 32*kib), m.mustAlloc(t, 32*kib)
	infoOf := func(h MemoryHandle) HandleInfo {
		info, err := r.factory.HandleInfo(h)
		require.NoError(t, err)
		return info
	}
	content := counting(32 * kib)
	r.write(t, src, content)
	to := infoOf(dst)
	stream, held := r.heldStream(t)
	require.NoError(t, r.factory.CopyAsync(NewTransfer(src, dst, 32*kib), stream))
	require.NoError(t, r.factory.Free(src))
	require.NoError(t, r.factory.Free(dst))
	requireError(t, r.factory.Free(dst), device.CodeInvalidHandle)
	stats := m.Statistics()
	require.Zero(t, stats.LiveBlocks.Current)
	require.EqualValues(t, 64*kib, stats.Active.Current, "the memory is still in use")
	_, err := m.Defragment()
	require.NoError(t, err)
	require.EqualValues(t, 64*kib, r.dev.HeldBytes())
	require.Equal(t, 4, held.Queued(), "the copy, its event and one for each free, and nothing was waited for")
	held.Release()
	require.Equal(t, content, r.dev.Bytes(to.Addr, 32*kib), "the copy was not disturbed")
	m.mustAlloc(t, 64*kib)
}

func TestFreeThatFailsHalfWayChangesNothing(t *testing.T) {
	r := cleanRig(t, devicetest.Config{Backed: true})
	m := r.manager(t, nil)
	h := m.mustAlloc(t, 64)
	one, heldOne := r.heldStream(t)
	two, heldTwo := r.heldStream(t)
	require.NoError(t, r.factory.FillAsync(fillOf(h, 0, 64, 1, 1), one))
	require.NoError(t, r.factory.FillAsync(fillOf(h, 0, 64, 2, 1), two))
	before := m.Statistics()
	events := r.dev.OpenEvents()
	r.dev.FailNth(devicetest.RecordEvent, 2, nil)
	requireError(t, r.factory.Free(h), device.CodeDevice)
	require.Equal(t, before, m.Statistics())
	require.Equal(t, events, r.dev.OpenEvents())
	info, err := r.factory.HandleInfo(h)
	require.NoError(t, err)
	require.EqualValues(t, 2, info.OperationsInFlight)
	heldOne.Release()
	heldTwo.Release()
	require.NoError(t, r.factory.Free(h))
}

func TestWorkWhoseEndCannotBeMarkedIsKnownByItsStream(t *testing.T) {
	r := cleanRig(t, devicetest.Config{Backed: true})
	m := r.manager(t, func(c *Config) { c.MaxConcurrentTransfers = 1 })
	h := m.mustAlloc(t, 64)
	stream, held := r.heldStream(t)
	r.dev.FailNth(devicetest.RecordEvent, 1, nil)
	require.NoError(t, r.factory.CopyAsync(NewTransfer(h, h, 8), stream), "the copy is queued")
	info, err := r.factory.HandleInfo(h)
	require.NoError(t, err)
	require.EqualValues(t, 1, info.OperationsInFlight)
	waits := r.dev.Calls(devicetest.StreamSynchronize)
	done := make(chan error, 1)
	go func() { done <- r.factory.CopyAsync(NewTransfer(h, h, 8), stream) }()
	for r.dev.Calls(devicetest.StreamSynchronize) == waits {
		requireNot(t, done)
	}
	requireNot(t, done)
	held.Release()
	require.NoError(t, <-done)
}
