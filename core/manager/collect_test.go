package manager

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device/devicetest"
)

func TestCollectionRunsAtTheThreshold(t *testing.T) {
	r := cleanRig(t, devicetest.Config{TotalBytes: 1 << 20})
	m := r.manager(t, func(c *Config) { c.GCThreshold = 0.5 })
	cached := m.mustAlloc(t, 64*kib)
	m.mustAlloc(t, 256*kib)
	require.NoError(t, r.factory.Free(cached))
	require.EqualValues(t, 64*kib, m.Statistics().Cached.Current)
	// 448 KiB of 1 MiB are in use afterwards: below the threshold.
	m.mustAlloc(t, 192*kib)
	require.Zero(t, m.collector.runs.Load())
	require.EqualValues(t, 64*kib, m.Statistics().Cached.Current)
	// 512 KiB: just at it. The block needs a segment of its own.
	m.mustAlloc(t, 64*kib+1)
	require.EqualValues(t, 1, m.collector.runs.Load())
	require.Zero(t, m.Statistics().Cached.Current/(64*kib))
	require.Equal(t, 3, r.dev.Segments())
}

// The threshold itself starts a collection, and a granule less does not.
func TestCollectionRunsExactlyAtTheThreshold(t *testing.T) {
	for last, runs := range map[uint64]uint64{64 * kib: 1, 64*kib - 256: 0} {
		r := cleanRig(t, devicetest.Config{TotalBytes: 1 << 20})
		m := r.manager(t, func(c *Config) { c.GCThreshold = 0.5 })
		require.NoError(t, r.factory.Free(m.mustAlloc(t, 64*kib)))
		m.mustAlloc(t, 256*kib)
		m.mustAlloc(t, 192*kib)
		m.mustAlloc(t, last)
		require.EqualValues(t, 448*kib+last, m.owner.engine.Totals().Used())
		require.EqualValues(t, runs, m.collector.runs.Load(), "%d bytes", last)
	}
}

// The threshold is a share of the present limit.
func TestCollectionGoesByTheLimit(t *testing.T) {
	r := cleanRig(t, devicetest.Config{TotalBytes: 64 << 20})
	m := r.manager(t, func(c *Config) { c.GCThreshold = 0.5 })
	for range 2 {
		cached := m.mustAlloc(t, 64*kib)
		m.mustAlloc(t, 256*kib)
		require.NoError(t, r.factory.Free(cached))
	}
	m.mustAlloc(t, 65*kib)
	require.Zero(t, m.collector.runs.Load(), "1 % of the device is in use")
	require.NoError(t, r.engine.SetLimit(1<<20))
	m.mustAlloc(t, 65*kib)
	require.EqualValues(t, 1, m.collector.runs.Load(), "more than half of the limit is in use")
	require.NoError(t, r.engine.SetLimit(0))
	for range 9 {
		require.NoError(t, r.factory.Free(m.mustAlloc(t, 65*kib)))
	}
	require.EqualValues(t, 1, m.collector.runs.Load())
}

func TestCollectionBacksOffWhenNothingCanBeReleased(t *testing.T) {
	r := cleanRig(t, devicetest.Config{TotalBytes: 1 << 20})
	m := r.manager(t, func(c *Config) { c.GCThreshold = 0.1 })
	m.mustAlloc(t, 512*kib)
	for range 50 {
		m.mustAlloc(t, 256)
	}
	require.Zero(t, m.collector.runs.Load(), "without a free no collection runs")
	small := m.mustAlloc(t, 256)
	for range 100 {
		require.NoError(t, r.factory.Free(small))
		small = m.mustAlloc(t, 256)
	}
	require.EqualValues(t, 6, m.collector.runs.Load(), "after 1, 3, 7, 15, 31 and 63 frees")
	// After a collection that released memory, each free counts again.
	m.collector.next.Store(0)
	large := m.mustAlloc(t, 128*kib)
	runs := m.collector.runs.Load()
	require.NoError(t, r.factory.Free(large))
	m.collector.next.Store(0)
	m.mustAlloc(t, 256)
	require.Equal(t, runs+1, m.collector.runs.Load())
	require.EqualValues(t, 1, m.collector.backoff)
}

func TestNoCollectionUnlessEnabled(t *testing.T) {
	r := cleanRig(t, devicetest.Config{TotalBytes: 1 << 20})
	m := r.manager(t, func(c *Config) {
		c.EnableAutoGC = false
		c.GCThreshold = 0.01
	})
	cached := m.mustAlloc(t, 128*kib)
	require.NoError(t, r.factory.Free(cached))
	m.mustAlloc(t, 256*kib)
	require.EqualValues(t, 128*kib, m.Statistics().Cached.Current)
}

func TestCollectionLeavesPreAllocatedMemory(t *testing.T) {
	r := cleanRig(t, devicetest.Config{TotalBytes: 1 << 20})
	m := r.manager(t, func(c *Config) {
		c.GCThreshold = 0.1
		taken := smallPool()
		taken.PreAlloc = true
		c.PoolConfigs[Cache] = taken
	})
	require.EqualValues(t, 64*kib, r.dev.HeldBytes(), "other pools hold no memory before their first allocation")
	h := m.mustAlloc(t, 256*kib)
	require.NoError(t, r.factory.Free(h))
	m.mustAlloc(t, 200*kib)
	m.mustAlloc(t, 100*kib)
	require.Positive(t, m.collector.runs.Load())
	require.EqualValues(t, 64*kib, m.Pools()[1].Statistics().Reserved.Current)
}
