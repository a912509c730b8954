package pool

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pressure"
)

func ordered(c *Config) { c.StreamOrdered, c.ReleaseThresholdBytes = true, 0 }

// A pool with segments from the memory pool of the vendor driver is like any other: the
// counters and limits of the device include it.
func TestStreamOrderedSegments(t *testing.T) {
	b := newBench(devicetest.Config{Kinds: true}, engine.Options{})
	p := b.pool(t, ordered)
	block, err := p.Alloc(Request{SizeBytes: 64 * kib})
	require.NoError(t, err)
	require.Equal(t, 1, b.dev.Calls(devicetest.AllocOrdered))
	require.Zero(t, b.dev.Calls(devicetest.Alloc)+b.dev.Calls(devicetest.Create))
	require.Zero(t, p.HostAddr(block.Addr))
	require.EqualValues(t, 1*mib, b.engine.Statistics().Reserved.Current)
	require.NoError(t, p.audit())
	require.NoError(t, b.engine.SetLimit(1*mib))
	_, err = p.Alloc(Request{SizeBytes: 1 * mib})
	require.Equal(t, device.CodeOutOfMemory, device.CodeOf(err))
	require.NoError(t, p.Free(block.Addr, nil))
	require.Equal(t, 1, b.dev.Calls(devicetest.FreeOrdered), "the threshold is 0")
	require.Zero(t, b.dev.HeldBytes())
	require.NoError(t, p.Close(false))
	require.NoError(t, b.engine.Close())
}

func TestMissingSourcesAreUnsupported(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	for what, c := range map[string]Config{"stream-ordered pool": {StreamOrdered: true, AutoExpansion: true, GrowthIncrementBytes: mib}} {
		_, err := New(b.engine, c)
		require.Equal(t, device.CodeUnsupported, device.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, what)
	}
	_, err := NewManaged(b.engine, DefaultConfig(), nil)
	require.Equal(t, device.CodeUnsupported, device.CodeOf(err), "%v", err)
	require.NoError(t, b.engine.Close())

	b = newBench(devicetest.Config{Kinds: true, PinnedBytes: mib}, engine.Options{})
	c := DefaultConfig()
	c.StreamOrdered = true
	for _, open := range []func() (*Pool, error){
		func() (*Pool, error) { return NewPinned(b.engine, c, nil) },
		func() (*Pool, error) { return NewManaged(b.engine, c, nil) },
	} {
		_, err := open()
		require.Equal(t, device.CodeInvalidConfig, device.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, "stream ordered")
	}
	c.Paging = PagingOn
	_, err = New(b.engine, c)
	require.Equal(t, device.CodeInvalidConfig, device.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "paging")
	require.NoError(t, b.engine.Close())
}

// An unknown value of a setting is rejected for every kind of memory, also for memory
// without pages.
func TestUnknownPagingIsRejectedForEverySource(t *testing.T) {
	b := newBench(devicetest.Config{Kinds: true, PinnedBytes: mib}, engine.Options{})
	c := DefaultConfig()
	c.Paging = PagingOn + 1
	s := c
	s.StreamOrdered = true
	for name, open := range map[string]func() (*Pool, error){
		"device":  func() (*Pool, error) { return New(b.engine, c) },
		"pinned":  func() (*Pool, error) { return NewPinned(b.engine, c, nil) },
		"managed": func() (*Pool, error) { return NewManaged(b.engine, c, nil) },
		"ordered": func() (*Pool, error) { return New(b.engine, s) },
	} {
		_, err := open()
		require.Equal(t, device.CodeInvalidConfig, device.CodeOf(err), "%s: %v", name, err)
		require.ErrorContains(t, err, "paging is 3", name)
	}
	require.NoError(t, b.engine.Close())
}

// Whichever call fails, the memory pool of the vendor driver holds what it held.
func TestStreamOrderedSegmentsUnderFaults(t *testing.T) {
	for n := 1; ; n++ {
		b := newBench(devicetest.Config{Kinds: true}, engine.Options{})
		p := b.pool(t, ordered)
		b.dev.FailNth(devicetest.Any, n, nil)
		block, err := p.Alloc(Request{SizeBytes: 64 * kib})
		if err != nil {
			require.Zero(t, b.dev.HeldBytes())
			block, err = p.Alloc(Request{SizeBytes: 64 * kib})
			require.NoError(t, err)
		}
		if p.Free(block.Addr, nil) != nil {
			require.NoError(t, p.Free(block.Addr, nil))
		}
		left := b.dev.ClearFaults()
		require.NoError(t, p.audit())
		require.NoError(t, p.Close(false))
		require.Zero(t, b.dev.HeldBytes())
		require.NoError(t, b.engine.Close())
		if left > 0 {
			require.Greater(t, n, 2)
			return
		}
	}
}

// Page-locked and managed memory of a device that the host cannot address is not memory of
// the device. Neither its limit nor its use includes it.
func TestMemoryOutsideTheDeviceIsNoUseOfIt(t *testing.T) {
	b := newBench(devicetest.Config{Kinds: true, PinnedBytes: 8 * mib}, engine.Options{})
	require.NoError(t, b.engine.SetLimit(1*mib))
	for name, open := range map[string]func() (*Pool, error){
		"pinned":  func() (*Pool, error) { return NewPinned(b.engine, DefaultConfig(), nil) },
		"managed": func() (*Pool, error) { return NewManaged(b.engine, DefaultConfig(), nil) },
	} {
		p, err := open()
		require.NoError(t, err, name)
		block, err := p.Alloc(Request{SizeBytes: 4 * mib})
		require.NoError(t, err, "%s: the limit is of the device's own memory", name)
		require.GreaterOrEqual(t, p.Statistics().Active.Current, 4*mib, name)
		now, err := b.engine.MemoryInfo()
		require.NoError(t, err)
		recent, err := b.engine.RecentMemoryInfo(device.Forever)
		require.NoError(t, err)
		for _, info := range []engine.MemoryInfo{now, recent} {
			require.Equal(t, 1*mib, info.TotalBytes, name)
			require.Zero(t, info.UsedBytes, name)
			require.Zero(t, info.UtilizationPercent(), name)
			require.Equal(t, pressure.Low, info.Pressure, name)
		}
		require.Zero(t, b.engine.Totals().Used(), name)
		require.Zero(t, b.engine.Statistics().Active.Current, name)
		require.NoError(t, p.Free(block.Addr, nil))
		require.NoError(t, p.Close(false))
	}
	require.NoError(t, b.engine.Close())
}
