package pool

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

func TestMinHeldBytesAreKept(t *testing.T) {
	b := newBench(devicetest.Config{TotalBytes: 4 * mib}, engine.Options{})
	p := b.pool(t, func(c *Config) { c.MinHeldBytes = 2 * mib })
	q := b.pool(t, func(c *Config) { c.Name = "q" })
	blocks := []Block{mustAlloc(t, p, mib), mustAlloc(t, p, mib), mustAlloc(t, p, mib)}
	for _, block := range blocks {
		require.NoError(t, p.Free(block.Addr, nil))
	}
	released, err := p.Trim(0)
	require.NoError(t, err)
	require.Equal(t, mib, released)
	_, err = q.Alloc(Request{SizeBytes: 3 * mib})
	require.ErrorIs(t, err, device.CodeOutOfMemory)
	require.Equal(t, 2*mib, p.Statistics().Reserved.Current)
	require.NoError(t, p.SetReleaseThreshold(0))
	require.Equal(t, 2*mib, p.Statistics().Reserved.Current)
	require.NoError(t, p.SetMinHeld(mib))
	mustAlloc(t, q, 3*mib)
	require.NoError(t, p.SetLimit(mib))
	require.ErrorIs(t, p.SetMinHeld(2*mib), device.CodeInvalidArgument)
	require.EqualValues(t, mib, p.Config().MinHeldBytes)
	_, err = New(b.engine, Config{InitialSizeBytes: mib, MaxSizeBytes: mib, MinHeldBytes: 2 * mib})
	require.ErrorIs(t, err, device.CodeInvalidConfig)
	b.check(t, p, q)
	b.closeAll(t, p, q)
	require.ErrorIs(t, p.SetMinHeld(0), device.CodeInvalidState)
	require.ErrorIs(t, p.SetReleaseThreshold(0), device.CodeInvalidState)
}

func TestFreeReleasesSegmentsAboveTheThreshold(t *testing.T) {
	onSegments(t, "a small block takes a whole one")
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, func(c *Config) { c.ReleaseThresholdBytes = 2 * mib })
	s := newStream(t, b)
	var blocks []Block
	for range 4 {
		blocks = append(blocks, mustAlloc(t, p, mib))
	}
	require.NoError(t, p.Free(blocks[0].Addr, nil))
	require.Equal(t, 3*mib, b.dev.HeldBytes(), "the free left a segment empty above the threshold")
	busy(t, s)
	require.NoError(t, p.Free(blocks[1].Addr, s))
	require.Equal(t, 3*mib, b.dev.HeldBytes(), "the release does not wait for queued work")
	s.Release()
	small := mustAlloc(t, p, 256)
	require.Equal(t, 3*mib, b.dev.HeldBytes(), "the segment is in use again")
	require.NoError(t, p.Free(small.Addr, nil))
	require.Equal(t, 2*mib, b.dev.HeldBytes())
	require.NoError(t, p.Free(blocks[2].Addr, nil))
	require.Equal(t, 2*mib, b.dev.HeldBytes(), "not above the threshold")

	b.dev.FailNth(devicetest.Free, 1, nil)
	require.NoError(t, p.SetReleaseThreshold(0))
	require.Equal(t, 2*mib, b.dev.HeldBytes(), "a segment whose release failed stays held")
	b.check(t, p)
	require.NoError(t, p.Free(blocks[3].Addr, nil))
	require.Zero(t, b.dev.HeldBytes(), "the segment is released with the next one")
	require.NoError(t, s.Close())
	quiet(t, b, p)
}

// A strategy that needs more than the request gets a segment that is large enough; if no
// segment can be, the allocation fails.
func TestSegmentIsLargeEnoughForTheStrategy(t *testing.T) {
	b := newBench(devicetest.Config{TotalBytes: 16 * mib}, engine.Options{})
	p := b.pool(t, func(c *Config) { c.Strategy, c.InitialSizeBytes, c.GrowthIncrementBytes = "buddy", 4096, 4096 })
	mustAlloc(t, p, 3*mib)
	held := b.dev.HeldBytes()
	_, err := p.Alloc(Request{SizeBytes: 9 * mib})
	require.ErrorIs(t, err, device.CodeOutOfMemory)
	require.Equal(t, held, b.dev.HeldBytes())
	quiet(t, b, p)
}
