package manager

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool"
)

const kib = 1024

// rig is a test device with a factory. At the end of the test everything is closed, and
// nothing may be left on the device.
type rig struct {
	dev     *devicetest.Device
	engine  *engine.Engine
	factory *Factory
	streams *StreamManager
	held    []*devicetest.Stream
}

func newRig(t require.TestingT, c devicetest.Config) *rig {
	return rigOn(devicetest.Open(c), NewFactory())
}

func rigOn(dev *devicetest.Device, f *Factory) *rig {
	e := engine.New(dev, engine.Options{})
	return &rig{dev: dev, engine: e, factory: f, streams: f.CreateStreamManager(e)}
}

// cleanRig is newRig with finish at the end of the test.
func cleanRig(t *testing.T, c devicetest.Config) *rig {
	r := newRig(t, c)
	t.Cleanup(func() { r.finish(t) })
	return r
}

// finish releases all held work, closes everything and checks that nothing is left.
func (r *rig) finish(t require.TestingT) {
	r.dev.ClearFaults()
	r.dev.Default().Release()
	for _, s := range r.held {
		s.Release()
	}
	_, err := r.factory.CloseDevice(r.engine, true)
	require.NoError(t, err)
	require.NoError(t, r.engine.Close())
	require.Zero(t, r.dev.HeldBytes())
	require.Zero(t, r.dev.OpenStreams())
	require.Zero(t, r.dev.OpenEvents())
	require.NotContains(t, r.factory.devices, r.engine)
}

// smallPool is a pool of a few segments, or of pages as large as those.
func smallPool() pool.Config {
	return pool.Config{
		InitialSizeBytes: 64 * kib, GrowthIncrementBytes: 64 * kib,
		AlignmentBytes: 256, AutoExpansion: true, Stats: true, ReleaseThresholdBytes: pool.NeverRelease,
		Paging: paging, PhysicalPageBytes: 64 * kib,
	}
}

// paging is the paging of the small pools.
var paging = pool.PagingAuto

// overBoth runs a test with paged and with segmented pools. Idle memory of paged pools
// stays until it is reclaimed.
func overBoth(t *testing.T, test func(t *testing.T, small pool.Config)) {
	defer func(was pool.Paging) { paging = was }(paging)
	for name, kind := range map[string]pool.Paging{"pages": pool.PagingOn, "segments": pool.PagingOff} {
		t.Run(name, func(t *testing.T) {
			paging = kind
			small := smallPool()
			small.ReadyPages = pool.KeepAllPages
			test(t, small)
		})
	}
}

// giveBackCall returns the first driver call that releases memory of a small pool.
func giveBackCall() devicetest.Call {
	if paging == pool.PagingOff {
		return devicetest.Free
	}
	return devicetest.Unmap
}

// pieces returns how many pieces of memory small pools hold from the device.
func (r *rig) pieces() int {
	if paging == pool.PagingOff {
		return r.dev.Segments()
	}
	return r.dev.Pages()
}

func smallConfig() Config {
	c := DefaultConfig()
	c.PoolConfigs = map[MemoryType]pool.Config{General: smallPool()}
	return c
}

func (r *rig) manager(t require.TestingT, change func(*Config)) *Manager {
	c := smallConfig()
	if change != nil {
		change(&c)
	}
	m, err := r.factory.CreateMemoryManager(r.engine, c)
	require.NoError(t, err)
	return m
}

func (m *Manager) mustAlloc(t require.TestingT, size uint64) MemoryHandle {
	h, err := m.Alloc(size)
	require.NoError(t, err)
	return h
}

// heldStream creates a stream that holds its work until the test releases it.
func (r *rig) heldStream(t require.TestingT) (StreamHandle, *devicetest.Stream) {
	h, err := r.streams.CreateStream()
	require.NoError(t, err)
	dev, _, err := r.factory.Stream(h)
	require.NoError(t, err)
	held := dev.(*devicetest.Stream)
	held.Hold()
	r.held = append(r.held, held)
	return h, held
}

// bytes returns the contents of a block.
func (r *rig) bytes(t require.TestingT, h MemoryHandle) []byte {
	info, err := r.factory.HandleInfo(h)
	require.NoError(t, err)
	return r.dev.Bytes(info.Addr, info.SizeBytes)
}

func (r *rig) write(t require.TestingT, h MemoryHandle, content []byte) {
	require.NoError(t, r.factory.Write(h, 0, r.dev.HostBuffer(content), uint64(len(content))))
}

// counting returns n bytes that all differ from their neighbours.
func counting(n int) []byte {
	bytes := make([]byte, n)
	for i := range bytes {
		bytes[i] = byte(i*7 + i/256 + 1)
	}
	return bytes
}

// requireError checks the code and words in the message of an error.
func requireError(t *testing.T, err error, code device.Code, words ...string) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, code, device.CodeOf(err), "%v", err)
	for _, word := range words {
		require.ErrorContains(t, err, word)
	}
}
