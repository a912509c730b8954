package manager

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

func repeated(b byte, n int) []byte { return bytes.Repeat([]byte{b}, n) }

func debugManager(t require.TestingT, r *rig) *Manager {
	return r.manager(t, func(c *Config) { c.EnableDebug = true })
}

func TestDebugMarksNewAndFreedBlocks(t *testing.T) {
	r := cleanRig(t, devicetest.Config{Backed: true})
	m := debugManager(t, r)
	keep := m.mustAlloc(t, 100)
	h := m.mustAlloc(t, 300)
	require.Equal(t, repeated(NewBlockPattern, 300), r.bytes(t, h))
	info, err := r.factory.HandleInfo(h)
	require.NoError(t, err)
	r.write(t, h, counting(300))

	stream, held := r.heldStream(t)
	require.NoError(t, r.factory.FillAsync(fillOf(h, 0, 300, 1, 1), stream))
	require.NoError(t, r.factory.Free(h))
	require.Equal(t, counting(300), r.dev.Bytes(info.Addr, 300), "the memory is filled after the work in flight")
	held.Release()
	require.Equal(t, repeated(FreedBlockPattern, 512), r.dev.Bytes(info.Addr, 512))
	again := m.mustAlloc(t, 300)
	require.Equal(t, repeated(NewBlockPattern, 300), r.bytes(t, again))
	require.Equal(t, repeated(NewBlockPattern, 100), r.bytes(t, keep))
}

func TestDebugWaitsForEventsOfAnotherBackend(t *testing.T) {
	f := NewFactory()
	a := openRig(t, devicetest.New(devicetest.Config{Backed: true}), f, 0)
	b := openRig(t, devicetest.New(devicetest.Config{Backend: "other", Backed: true}), f, 0)
	f.staging.take = sharedHostBuffer(a.dev, b.dev)
	src := debugManager(t, a).mustAlloc(t, 64)
	dst := b.manager(t, nil).mustAlloc(t, 64)
	info, err := f.HandleInfo(src)
	require.NoError(t, err)
	stream, held := b.heldStream(t)
	require.NoError(t, f.CopyAsync(NewTransfer(src, dst, 64), stream))
	// A host function in the freed block's device waits for the other device. On
	// a test device it runs inside the call.
	waits := b.dev.Calls(devicetest.EventSynchronize)
	done := make(chan error, 1)
	go func() { done <- f.Free(src) }()
	for b.dev.Calls(devicetest.EventSynchronize) == waits {
		requireNot(t, done)
	}
	require.Equal(t, repeated(NewBlockPattern, 64), a.dev.Bytes(info.Addr, 64))
	held.Release()
	require.NoError(t, <-done)
	require.Equal(t, repeated(NewBlockPattern, 64), b.bytes(t, dst))
	require.Equal(t, repeated(FreedBlockPattern, 64), a.dev.Bytes(info.Addr, 64))
}

func TestDebugFillThatFailsLosesNothing(t *testing.T) {
	r := cleanRig(t, devicetest.Config{Backed: true})
	m := debugManager(t, r)
	h := m.mustAlloc(t, 64)
	before := m.Statistics()
	r.dev.FailNth(devicetest.Fill, 1, nil)
	requireError(t, r.factory.Free(h), device.CodeDevice)
	require.Equal(t, before, m.Statistics())
	r.dev.FailNth(devicetest.Fill, 1, nil)
	_, err := m.Alloc(64)
	requireError(t, err, device.CodeDevice)
	require.Equal(t, before.LiveBlocks.Current, m.Statistics().LiveBlocks.Current)
	require.Equal(t, before.Active.Current, m.Statistics().Active.Current)
	// Without an event for the fill of a freed block, the free waits for the fill.
	r.dev.FailNth(devicetest.RecordEvent, 1, nil)
	require.NoError(t, r.factory.Free(h))
	require.Zero(t, m.Statistics().Active.Current)
}
