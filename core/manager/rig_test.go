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

// rig is a test device with a factory. At the test's end everything is closed,
// and the device must have lost nothing.
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

// cleanRig is newRig with finish at the test's end.
func cleanRig(t *testing.T, c devicetest.Config) *rig {
	r := newRig(t, c)
	t.Cleanup(func() { r.finish(t) })
	return r
}

// finish lets all work go, closes all and looks for what is left.
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

// paging is how the small pools take their memory.
var paging = pool.PagingAuto

// overBoth runs a test over pages and over segments that are taken whole. What is
// idle of the former stays until it is asked back.
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

// giveBackCall is the first call of the driver that takes memory of a small pool
// back.
func giveBackCall() devicetest.Call {
	if paging == pool.PagingOff {
		return devicetest.Free
	}
	return devicetest.Unmap
}

// pieces is how many pieces of memory small pools have of the device.
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

// heldStream makes a stream that keeps its work until the test lets it go.
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

// bytes is the content of a block.
func (r *rig) bytes(t require.TestingT, h MemoryHandle) []byte {
	info, err := r.factory.HandleInfo(h)
	require.NoError(t, err)
	return r.dev.Bytes(info.Addr, info.SizeBytes)
}

func (r *rig) write(t require.TestingT, h MemoryHandle, content []byte) {
	require.NoError(t, r.factory.Write(h, 0, r.dev.HostBuffer(content), uint64(len(content))))
}

// counting is n bytes that are all different from their neighbours.
func counting(n int) []byte {
	bytes := make([]byte, n)
	for i := range bytes {
		bytes[i] = byte(i*7 + i/256 + 1)
	}
	return bytes
}

// requireError asks for a code and for words in the message.
func requireError(t *testing.T, err error, code device.Code, words ...string) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, code, device.CodeOf(err), "%v", err)
	for _, word := range words {
		require.ErrorContains(t, err, word)
	}
}
