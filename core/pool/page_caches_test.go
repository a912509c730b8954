package pool

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/pages"
)

// cachedTimed returns a pool with a clock of the test, whose caches hold idle blocks in
// 40 pages.
func cachedTimed(t *testing.T) (*timedPool, *fakeCache) {
	w := newTimed(t)
	cache := newFakeCache(w.pool, func(uint64) device.Stream { return nil })
	w.free(t, w.alloc(t, 40, page))
	for thread := range 40 {
		// The cache of a thread leases as many blocks as fit in a page.
		addr := cache.alloc(thread, page/fakeRefill, 0)
		require.NotZero(t, addr)
		require.NoError(t, cache.free(thread, addr, 0))
	}
	return w, cache
}

// When the caches are no longer used, their blocks and pages are released.
func TestUnusedCachesKeepNoPages(t *testing.T) {
	w, cache := cachedTimed(t)
	w.pass(t, cacheWindow-1)
	require.Equal(t, 40*page, w.dev.HeldBytes(), "the caches may be in use")
	w.pass(t, 2*cacheWindow)
	require.Zero(t, cache.Counts().IdleBytes)
	w.pass(t, 2*pages.LongWindow)
	require.Zero(t, w.dev.HeldBytes())
	w.pass(t, time.Second)
	_, again, err := w.pool.Tick()
	require.NoError(t, err)
	require.False(t, again, "no page is left to check")
	quiet(t, w.bench, w.pool)
}

// Caches in use keep their blocks. They are checked again, but no more when they are
// unused and empty.
func TestCachesInUseKeepTheirBlocks(t *testing.T) {
	w, cache := cachedTimed(t)
	for range 20 {
		for range cacheCalls {
			require.NoError(t, cache.free(0, cache.alloc(0, page/fakeRefill, 0), 0))
		}
		w.pass(t, cacheWindow)
		require.NotZero(t, cache.Counts().IdleBytes)
	}
	w.pass(t, 3*cacheWindow)
	require.Zero(t, cache.Counts().IdleBytes)
	w.pass(t, 3*cacheWindow)
	_, again, err := w.pool.Tick()
	require.NoError(t, err)
	require.False(t, again)
	quiet(t, w.bench, w.pool)
}

// The worker checks the caches also when no page is idle, and ends.
func TestWorkerChecksCachesWithoutIdlePages(t *testing.T) {
	b, p := pagedPool(t, func(c *Config) { c.ReadyPages = -1 })
	cache := newFakeCache(p, func(uint64) device.Stream { return nil })
	live, room := mustAlloc(t, p, page), mustAlloc(t, p, page)
	require.NoError(t, p.Free(room.Addr, nil))
	require.NoError(t, cache.free(0, cache.alloc(0, page/fakeRefill, 0), 0))
	require.Equal(t, 2*page, b.dev.HeldBytes())
	p.ResumeReturn()
	for b.dev.HeldBytes() != page {
		runtime.Gosched()
	}
	p.PauseReturn()
	require.NoError(t, p.Free(live.Addr, nil))
	quiet(t, b, p)
}
