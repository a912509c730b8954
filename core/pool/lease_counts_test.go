package pool

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// A thread that frees a block of another thread may report that to the cache before the
// other thread reports the allocation. Counts that come with a lease are negative then.
func TestNegativeCountsDoNotChangeThePeaks(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p, c, s := cached(t, b, nil)
	mustAlloc(t, p, 256)
	kept := []device.Addr{c.alloc(0, 1000, 0), c.alloc(0, 1000, 0)}
	right := c.Counts()
	for _, spoil := range []func(*CacheCounts){
		func(c *CacheCounts) { c.LiveBlocks = math.MaxUint64 },
		func(c *CacheCounts) { c.RequestedBytes -= 3000 },
		func(c *CacheCounts) { c.LiveBytes -= 4096; c.IdleBytes += 4096 },
		func(c *CacheCounts) { c.IdleBytes -= 8192; c.LiveBytes += 8192 },
		func(c *CacheCounts) { c.IdleBytes += 1024 },
		func(c *CacheCounts) { c.LeftBytes = c.EnteredBytes + 1 },
	} {
		counts := right
		spoil(&counts)
		_, err := p.Lease(1024, nil, nil, &counts)
		require.NoError(t, err)
		stats := p.heap.counters.Statistics()
		require.NoError(t, stats.Check())
		require.LessOrEqual(t, stats.LiveBlocks.Peak, uint64(3))
		for _, peak := range []uint64{
			stats.Requested.Peak, stats.Allocated.Peak, stats.Active.Peak, stats.Cached.Peak,
		} {
			require.LessOrEqual(t, peak, uint64(mib))
		}
		require.Less(t, b.engine.Totals().Used(), uint64(mib))
	}
	for _, addr := range kept {
		require.NoError(t, c.free(0, addr, 0))
	}
	b.check(t, p)
	require.NoError(t, s.Close())
	quiet(t, b, p)
}

// goneMeanwhile is caches of which a thread returns a block while they are being closed.
type goneMeanwhile struct {
	*fakeCache
	meanwhile func()
}

// Pause is the last moment at which they do so by themselves.
func (c *goneMeanwhile) Pause(paused bool) {
	if paused {
		c.meanwhile()
	}
	c.fakeCache.Pause(paused)
}

func TestForcedCloseWhileAThreadReturnsABlock(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p, c, s := cached(t, b, nil)
	mustAlloc(t, p, 256)
	going := c.alloc(0, 1000, 0)
	c.alloc(0, 1000, 0)
	p.SetCache(&goneMeanwhile{c, func() {
		require.NoError(t, c.free(0, going, 0))
		c.mu.Lock()
		key := magazine{0, 1024, 0}
		require.Equal(t, []device.Addr{going}, c.idle[key])
		c.remove(key, 1)
		counts := c.counts
		c.mu.Unlock()
		require.NoError(t, p.ReturnLeased([]device.Addr{going}, nil, &counts))
	}}, c.streamOf)
	b.dev.FailNth(giveBackCall(), 1, nil)
	require.ErrorIs(t, p.Close(true), device.CodeDevice)
	require.EqualValues(t, 2, p.Statistics().LiveBlocks.Current, "the returned block is not live")
	b.check(t, p)
	require.NoError(t, s.Close())
	b.closeAll(t, p)
}

// takenMeanwhile is caches whose block another thread makes the pool adopt between two
// lookups.
type takenMeanwhile struct {
	*fakeCache
	meanwhile func()
}

func (c *takenMeanwhile) Block(addr device.Addr) (CachedBlock, bool) {
	c.meanwhile()
	return c.fakeCache.Block(addr)
}

func TestLookupFindsABlockThatIsBeingAdopted(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p, c, s := cached(t, b, nil)
	mustAlloc(t, p, 256)
	addr := c.alloc(0, 1000, 0)
	p.SetCache(&takenMeanwhile{c, func() { require.NoError(t, p.RecordStream(addr, s)) }}, c.streamOf)
	size, err := p.UsableSize(addr)
	require.NoError(t, err)
	require.EqualValues(t, 1024, size)
	other := c.alloc(0, 500, 0)
	p.SetCache(&takenMeanwhile{c, func() { require.NoError(t, p.RecordStream(other, s)) }}, c.streamOf)
	info, ok := p.OwnerOf(other + 9)
	require.True(t, ok)
	require.Equal(t, BlockLive, info.State)
	require.EqualValues(t, 500, info.RequestedBytes)
	require.NoError(t, p.FreeBatch([]device.Addr{addr, other}, nil))
	require.NoError(t, s.Close())
	quiet(t, b, p)
}
