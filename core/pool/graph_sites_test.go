package pool

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// A private pool of a graph records call sites, and nothing else of the debug mode.
func TestDebugRecordsCallSitesInACapture(t *testing.T) {
	b := newDebugBench(devicetest.Config{Capture: true})
	g := &graphBench{bench: b.bench, pool: b.pool(t, withDebug(DebugAll))}
	g.first, g.second = b.stream(t), b.stream(t)
	captured, number := g.begin(t, g.first, 0)
	b.site = 5
	a := g.alloc(t, 4*kib, g.first)
	require.EqualValues(t, 4*kib, a.SizeBytes, "no zones")
	require.Equal(t, []string{"site 5"}, g.pool.CallSite(a.Addr))
	b.site = 6
	g.free(t, a, g.first)
	err := g.pool.Free(a.Addr, g.first)
	require.ErrorIs(t, err, device.CodeDoubleFree)
	require.ErrorContains(t, err, "allocated at\n    site 5\n  freed at\n    site 6")
	b.site = 7
	again := g.alloc(t, 4*kib, g.first)
	require.Equal(t, a.Addr, again.Addr, "a capture needs no more memory than without call sites")
	require.Equal(t, []string{"site 7"}, g.pool.CallSite(again.Addr))
	b.site = 8
	outside := g.alloc(t, 4*kib, g.second)
	require.Equal(t, []string{"site 8"}, g.pool.CallSite(outside.Addr))

	// A wrong free in another pool names the place of the block in the private pool.
	other := b.pool(t, withDebug(DebugCallSites))
	require.ErrorContains(t, other.Free(again.Addr, nil), "allocated at\n    site 7")
	require.NoError(t, other.Close(false))

	require.True(t, captured.End())
	require.NoError(t, g.pool.CaptureEnd(number))
	g.free(t, again, g.first)
	g.free(t, outside, g.second)
	require.NoError(t, g.pool.CaptureRelease(number, g.first))
	g.end(t)
	require.Zero(t, b.watched)
}

// Call sites alone do not use the memory of freed blocks, so a stream reuses its own.
func TestCallSitesAloneLetAStreamReuseItsBlocks(t *testing.T) {
	for _, flags := range []DebugFlags{DebugCallSites, DebugCallSites | DebugPoison} {
		b := newDebugBench(devicetest.Config{})
		p := b.pool(t, withDebug(flags))
		stream := b.stream(t)
		stream.Hold()
		first, err := p.Alloc(Request{SizeBytes: 4 * kib, Stream: stream})
		require.NoError(t, err)
		require.NoError(t, stream.HostFunction(func() {}))
		b.site = 2
		require.NoError(t, p.Free(first.Addr, stream))
		b.site = 3
		second, err := p.Alloc(Request{SizeBytes: 4 * kib, Stream: stream})
		require.NoError(t, err)
		require.Equal(t, flags == DebugCallSites, first.Addr == second.Addr, flags)
		require.Equal(t, []string{"site 3"}, p.CallSite(second.Addr))
		b.site = 4
		require.NoError(t, p.Free(second.Addr, stream))
		stream.Release()
		p.CompleteFrees()
		err = p.Free(second.Addr, nil)
		require.ErrorIs(t, err, device.CodeDoubleFree)
		require.ErrorContains(t, err, "allocated at\n    site 3\n  and freed at\n    site 4")
		require.NoError(t, stream.Close())
		quiet(t, b.bench, p)
		require.Zero(t, b.watched)
	}
}
