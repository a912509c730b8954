package library_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
	"ferrum_mem/core/memcheck"
	"ferrum_mem/core/pool"
)

// watchedCaches records its calls; the caches that it creates hold nothing.
type watchedCaches struct {
	mu        sync.Mutex
	opened    map[uint64]pool.Config
	forgotten []uint64
	dropped   int
}

func (w *watchedCaches) Open(handle uint64, c pool.Config) pool.Cache {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.opened[handle] = c
	return &emptyCache{owner: w}
}

func (w *watchedCaches) ForgetStream(stream uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgotten = append(w.forgotten, stream)
}

type emptyCache struct {
	owner *watchedCaches
	// counts are the counts that the test reports for the caches.
	counts pool.CacheCounts
}

func (c *emptyCache) Counts() pool.CacheCounts                            { return c.counts }
func (c *emptyCache) Take([]pool.CachedBlock) int                         { return 0 }
func (c *emptyCache) Block(device.Addr) (pool.CachedBlock, bool)          { return pool.CachedBlock{}, false }
func (c *emptyCache) Find(blocks []pool.CachedBlock)                      { clear(blocks) }
func (c *emptyCache) Next(uint64, []pool.CachedBlock) (_ int, _ uint64)   { return 0, 0 }
func (c *emptyCache) AdoptNext(uint64, []pool.CachedBlock) (int, uint64)  { return 0, 0 }
func (c *emptyCache) Adopt(addr device.Addr) (b pool.CachedBlock, _ bool) { return b, false }
func (c *emptyCache) Drop() (free func()) {
	c.owner.dropped++
	return func() {}
}

func startCachedBench(t *testing.T) (*bench, *watchedCaches) {
	caches := &watchedCaches{opened: map[uint64]pool.Config{}}
	return startBench(t, func(o *library.Options) { o.ThreadCaches = caches }), caches
}

func TestPoolsHaveThreadCachesUnlessEveryCallIsForTheCore(t *testing.T) {
	b, caches := startCachedBench(t)
	d := b.open("test:0")
	without := []func(*pool.Config){
		func(c *pool.Config) { c.ThreadCacheBytes = 0 },
		func(c *pool.Config) { c.Tracking = true },
		func(c *pool.Config) { c.Debug = memcheck.Quarantine },
		func(c *pool.Config) { c.Strategy = "arena" },
		func(c *pool.Config) { c.Strategy, c.FixedBlockBytes = "fixed", 4096 },
	}
	for i, change := range without {
		c := smallPool()
		change(c)
		handle, err := b.PoolCreate(d, c)
		require.NoError(t, err)
		require.NotContains(t, caches.opened, handle, "settings %d", i)
		require.NoError(t, at(b.Pool, handle).Destroy(false))
	}
	handle := b.pool(d)
	require.Contains(t, caches.opened, handle)
	require.EqualValues(t, 256, caches.opened[handle].AlignmentBytes)
	require.NoError(t, at(b.Pool, handle).Destroy(false))
	require.Equal(t, 1, caches.dropped)
}

func TestCachesLeaseForAStreamAndGiveBack(t *testing.T) {
	b, _ := startCachedBench(t)
	d, other := b.open("test:0"), b.open("test:1")
	p := b.pool(d)
	first, err := b.PoolAlloc(p, 100, 0)
	require.NoError(t, err)
	stream, err := b.StreamCreate(d)
	require.NoError(t, err)
	foreign, err := b.StreamCreate(other)
	require.NoError(t, err)

	own, err := b.StreamDefault(d)
	require.NoError(t, err)
	found, err := b.CacheStream(p, 0)
	require.NoError(t, err)
	require.Equal(t, own, found)
	found, err = b.CacheStream(p, stream)
	require.NoError(t, err)
	require.Equal(t, stream, found)
	_, err = b.CacheStream(p, foreign)
	requireCode(t, device.CodeInvalidArgument, err)
	_, err = b.CacheStream(stream, 0)
	requireCode(t, device.CodeInvalidHandle, err)

	var blocks [8]device.Addr
	_, err = b.CacheLease(p, 4096, foreign, blocks[:], nil)
	requireCode(t, device.CodeInvalidArgument, err)
	n, err := b.CacheLease(p, 4096, stream, blocks[:], nil)
	require.NoError(t, err)
	require.Equal(t, len(blocks), n)
	require.NoError(t, b.CacheGiveBack(p, stream, blocks[:4], nil))
	requireCode(t, device.CodeInvalidAddress, b.CacheGiveBack(p, stream, blocks[:4], nil))
	// A destroyed stream has no work left.
	require.NoError(t, b.StreamDestroy(stream, false))
	require.NoError(t, b.CacheGiveBack(p, stream, blocks[4:], nil))
	requireCode(t, device.CodeInvalidHandle, b.CacheGiveBack(stream, 0, blocks[:1], nil))
	require.NoError(t, b.PoolFree(p, first, 0))
}

func TestCachesForgetAStreamOnceItIsGone(t *testing.T) {
	b, caches := startCachedBench(t)
	d := b.open("test:0")
	stream, err := b.StreamCreate(d)
	require.NoError(t, err)
	own, err := b.StreamDefault(d)
	require.NoError(t, err)
	require.Error(t, b.StreamDestroy(own, true))
	require.Empty(t, caches.forgotten)
	require.NoError(t, b.StreamDestroy(stream, false))
	require.Equal(t, []uint64{stream}, caches.forgotten)
}
