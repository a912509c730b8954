package pool

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// cached returns a pool with fake caches. Their streams are the default one and one more.
func cached(t require.TestingT, b *bench, change func(*Config)) (*Pool, *fakeCache, *devicetest.Stream) {
	p, s := b.pool(t, change), newStream(t, b)
	c := newFakeCache(p, func(id uint64) device.Stream {
		if id == 1 {
			return s
		}
		return b.dev.DefaultStream()
	})
	return p, c, s
}

func TestLeasedBlockCountsAsCachedUntilItIsLive(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p, c, s := cached(t, b, nil)
	n, err := p.Lease(1024, nil, make([]device.Addr, 4), nil)
	require.NoError(t, err)
	require.Zero(t, n, "a lease never grows the pool")
	mustAlloc(t, p, 256)
	tag, err := p.Tag("kv")
	require.NoError(t, err)
	addr := c.allocTagged(0, 1000, 0, tag)
	require.NotZero(t, addr)
	stats := p.Statistics()
	require.NoError(t, stats.Check())
	require.EqualValues(t, 1256, stats.Requested.Current)
	require.EqualValues(t, 1280, stats.Active.Current)
	require.EqualValues(t, 3*1024, stats.ThreadCachedBytes)
	require.EqualValues(t, kind(mib, testPageBytes)-1280, stats.Cached.Current)
	require.EqualValues(t, 2, stats.LiveBlocks.Current)
	require.EqualValues(t, 2, stats.Allocations)
	uses := p.Tags()
	require.Equal(t, "kv", uses[0].Tag)
	require.EqualValues(t, 1000, uses[0].RequestedBytes)

	block, ok := p.Lookup(addr)
	require.True(t, ok)
	require.Equal(t, Block{Addr: addr, SizeBytes: 1024, RequestedBytes: 1000, Tag: "kv"}, block)
	size, err := p.UsableSize(addr)
	require.NoError(t, err)
	require.EqualValues(t, 1024, size)
	info, ok := p.OwnerOf(addr + 5)
	require.True(t, ok)
	require.Equal(t, BlockInfo{Addr: addr, SizeBytes: 1024, RequestedBytes: 1000, Tag: "kv", State: BlockLive}, info)
	seen := 0
	p.EachBlock(func(Block) bool { seen++; return true })
	require.Equal(t, 2, seen)
	require.ErrorIs(t, p.Close(false), device.CodeBusy)
	b.check(t, p)

	require.NoError(t, c.free(0, addr, 0))
	info, _ = p.OwnerOf(addr)
	require.Equal(t, BlockCached, info.State)
	require.ErrorIs(t, p.Free(addr, nil), device.CodeDoubleFree)
	require.ErrorContains(t, p.Free(addr, nil), "thread cache")
	_, ok = p.Lookup(addr)
	require.False(t, ok)
	require.NoError(t, s.Close())
	quiet(t, b, p)
}

// The pool itself can free, check and record blocks that the caches have allocated.
func TestPoolAdoptsLiveBlocksOfTheCaches(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p, c, s := cached(t, b, nil)
	mustAlloc(t, p, 256)
	one, two, three := c.alloc(0, 1000, 0), c.alloc(0, 1000, 0), c.alloc(0, 500, 0)
	require.ErrorIs(t, p.FreeSized(one, 999, nil), device.CodeInvalidSize)
	require.NoError(t, p.FreeSized(one, 1000, nil))
	require.NoError(t, p.RecordStream(two, s))
	busy(t, s)
	require.NoError(t, c.free(1, two, 0))
	stats := p.Statistics()
	require.EqualValues(t, 256+1024+1024, stats.Active.Current, "in flight behind the stream that was named")
	require.EqualValues(t, 2, stats.LiveBlocks.Current)
	require.ErrorIs(t, p.FreeBatch([]device.Addr{three, three}, nil), device.CodeDoubleFree)
	require.NoError(t, p.FreeBatch([]device.Addr{three}, nil))
	s.Release()
	p.CompleteFrees()
	require.EqualValues(t, 256, p.Statistics().Active.Current)
	b.check(t, p)
	require.NoError(t, s.Close())
	quiet(t, b, p)
}

func TestReturnLeasedSucceedsOrFailsAsAWhole(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p, _, s := cached(t, b, nil)
	own := mustAlloc(t, p, 256)
	addrs := make([]device.Addr, 8)
	n, err := p.Lease(512, s, addrs, nil)
	require.NoError(t, err)
	require.Equal(t, 8, n)
	for _, wrong := range [][]device.Addr{
		{addrs[0], own.Addr}, {addrs[0], addrs[1], addrs[0]}, {addrs[0] + 256}, {1},
	} {
		require.ErrorIs(t, p.ReturnLeased(wrong, s, nil), device.CodeInvalidAddress)
		require.EqualValues(t, 8*512, p.leases.leased-p.leases.returned)
	}
	busy(t, s)
	b.dev.FailNth(devicetest.RecordEvent, 1, nil)
	require.ErrorIs(t, p.ReturnLeased(addrs, s, nil), device.CodeDevice)
	require.NoError(t, p.ReturnLeased(addrs[:4], s, nil))
	require.NoError(t, p.ReturnLeased(addrs[4:], nil, nil))
	require.EqualValues(t, 256+4*512, p.heap.counters.Statistics().Active.Current)
	again := make([]device.Addr, 2)
	n, err = p.Lease(512, s, again, nil)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Subset(t, addrs[:4], again, "a stream reuses at once the blocks freed on it")
	require.NoError(t, p.ReturnLeased(again, nil, nil))
	_, err = p.Lease(300, nil, again, nil)
	require.ErrorIs(t, err, device.CodeInvalidSize)
	s.Release()
	require.NoError(t, s.Close())
	quiet(t, b, p)
}

// Before memory runs out, the caches of the pool are emptied, and then those of its
// siblings. A trim empties them too.
func TestCachesAreEmptiedBeforeMemoryRunsOut(t *testing.T) {
	b := newBench(devicetest.Config{TotalBytes: 2 * mib}, engine.Options{})
	p, c, s := cached(t, b, nil)
	q, d, r := cached(t, b, func(c *Config) { c.Name = "q" })
	fill := func(p *Pool, c *fakeCache, stream uint64) {
		keep := mustAlloc(t, p, mib-20*kib)
		addr := c.alloc(0, 10*kib, stream)
		require.NotZero(t, addr)
		require.NoError(t, c.free(0, addr, stream))
		require.NoError(t, p.Free(keep.Addr, nil))
	}
	fill(p, c, 0)
	fill(q, d, 1)
	require.Equal(t, 2*mib, b.dev.HeldBytes())
	first := mustAlloc(t, p, mib)
	require.Zero(t, c.Counts().IdleBytes)
	require.NotZero(t, d.Counts().IdleBytes)
	second := mustAlloc(t, p, mib)
	require.Zero(t, d.Counts().IdleBytes)
	require.Zero(t, q.Statistics().Reserved.Current)
	require.NoError(t, p.Free(first.Addr, nil))
	require.NoError(t, p.Free(second.Addr, nil))
	fill(p, c, 0)
	released, err := p.Trim(0)
	require.NoError(t, err)
	require.Equal(t, 2*mib, released)
	b.check(t, p, q)
	require.NoError(t, s.Close())
	require.NoError(t, r.Close())
	b.closeAll(t, p, q)
}

// Blocks that were taken out of the caches and whose event cannot be recorded are kept,
// count as cached, and are returned later.
func TestCachedBlocksWithoutAnEventAreReturnedLater(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p, c, s := cached(t, b, nil)
	mustAlloc(t, p, 256)
	addr := c.alloc(0, 1000, 1)
	busy(t, s)
	require.NoError(t, c.free(0, addr, 1))
	b.dev.FailNth(devicetest.RecordEvent, 1, nil)
	require.False(t, p.Flush())
	require.EqualValues(t, fakeRefill*1024, p.leases.leased-p.leases.returned)
	stats := p.Statistics()
	require.NoError(t, stats.Check())
	require.EqualValues(t, 256, stats.Active.Current)
	require.True(t, p.Flush())
	require.EqualValues(t, 256+fakeRefill*1024, p.Statistics().Active.Current)
	s.Release()
	b.check(t, p)
	require.NoError(t, s.Close())
	quiet(t, b, p)
}

// While very many blocks cannot be returned to the pool, no more are taken out of the
// caches: the list of such blocks is bounded.
func TestStrayBlocksAreBounded(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p, c, s := cached(t, b, nil)
	mustAlloc(t, p, 256)
	require.NoError(t, c.free(0, c.alloc(0, 1000, 0), 0))
	idle := c.Counts().IdleBytes
	require.NotZero(t, idle)
	for i := range maxStrays {
		p.leases.strays = append(p.leases.strays, CachedBlock{Addr: device.Addr(i + 1)}) // not leased
	}
	require.False(t, p.Flush())
	require.Len(t, p.leases.strays, maxStrays)
	require.Equal(t, idle, c.Counts().IdleBytes, "the idle blocks stay in the caches")
	p.leases.strays = nil
	require.True(t, p.Flush())
	require.Zero(t, c.Counts().IdleBytes)
	require.NoError(t, s.Close())
	quiet(t, b, p)
}

func TestForcedCloseEndsTheCaches(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p, c, s := cached(t, b, nil)
	mustAlloc(t, p, 256)
	addr := c.alloc(0, 1000, 0)
	c.alloc(0, 1000, 1)
	require.NoError(t, c.free(0, addr, 0))
	b.dev.FailNth(giveBackCall(), 1, nil)
	require.ErrorIs(t, p.Close(true), device.CodeDevice)
	require.True(t, c.gone)
	require.EqualValues(t, 2, p.Statistics().LiveBlocks.Current, "live blocks of the caches belong to the pool now")
	require.Zero(t, c.alloc(0, 1000, 0), "the pool still allocates")
	b.check(t, p)
	require.NoError(t, s.Close())
	b.closeAll(t, p)
	_, err := p.Lease(1024, nil, make([]device.Addr, 1), nil)
	require.ErrorIs(t, err, device.CodeInvalidState)
	require.ErrorIs(t, p.ReturnLeased([]device.Addr{addr}, nil, nil), device.CodeInvalidState)
}

// tally counts what the threads of a test have begun and ended. The true value at a
// moment is between what had ended before it and what had begun after it.
type tally struct {
	allocBegun, allocDone, freeBegun, freeDone atomic.Int64
}

type moment struct{ allocBegun, allocDone, freeBegun, freeDone int64 }

func (a *tally) read() moment {
	return moment{a.allocBegun.Load(), a.allocDone.Load(), a.freeBegun.Load(), a.freeDone.Load()}
}

// The counters are compared with counts of the test: they are equal when all threads
// rest, and within the possible values otherwise.
func TestCountersFromManyThreadsAgainstTestCounts(t *testing.T) {
	b := newBench(devicetest.Config{TotalBytes: 256 * mib}, engine.Options{})
	p, c, s := cached(t, b, func(c *Config) { c.InitialSizeBytes = 4 * mib })
	mustAlloc(t, p, 256)
	var bytes, blocks tally
	base := p.Statistics()
	for round := range 3 {
		var wait sync.WaitGroup
		var resting atomic.Int32
		left := make([][]shadowCounted, 6)
		for thread := range left {
			wait.Go(func() {
				defer resting.Add(1)
				left[thread] = churn(t, p, c, s, thread, uint64(round), &bytes, &blocks)
			})
		}
		for resting.Load() < int32(len(left)) {
			before, countBefore := bytes.read(), blocks.read()
			stats := p.Statistics()
			after, countAfter := bytes.read(), blocks.read()
			require.NoError(t, stats.Check())
			between(t, before, after, stats.Requested.Current-base.Requested.Current)
			between(t, countBefore, countAfter, stats.LiveBlocks.Current-base.LiveBlocks.Current)
		}
		wait.Wait()
		stats := p.Statistics()
		rest := bytes.read()
		require.EqualValues(t, rest.allocDone-rest.freeDone, stats.Requested.Current-base.Requested.Current)
		rest = blocks.read()
		require.EqualValues(t, rest.allocDone-rest.freeDone, stats.LiveBlocks.Current-base.LiveBlocks.Current)
		require.EqualValues(t, rest.allocDone, stats.Allocations-base.Allocations)
		require.EqualValues(t, rest.freeDone, stats.Frees-base.Frees)
		b.check(t, p)
		for _, mine := range left {
			for _, block := range mine {
				block.free(t, p, c, 0, &bytes, &blocks)
			}
		}
		require.Equal(t, base.LiveBlocks.Current, p.Statistics().LiveBlocks.Current)
	}
	require.NoError(t, s.Close())
	quiet(t, b, p)
}

func between(t *testing.T, before, after moment, got uint64) {
	t.Helper()
	require.GreaterOrEqual(t, int64(got), before.allocDone-after.freeBegun)
	require.LessOrEqual(t, int64(got), after.allocBegun-before.freeDone)
}

type shadowCounted struct {
	addr device.Addr
	size int64
}

func (s shadowCounted) free(t *testing.T, p *Pool, c *fakeCache, thread int, bytes, blocks *tally) {
	bytes.freeBegun.Add(s.size)
	blocks.freeBegun.Add(1)
	require.NoError(t, c.free(thread, s.addr, uint64(thread%2)))
	bytes.freeDone.Add(s.size)
	blocks.freeDone.Add(1)
}

// churn allocates and frees in the caches and in the pool, makes the pool adopt blocks,
// and trims.
func churn(t *testing.T, p *Pool, c *fakeCache, s device.Stream, thread int, round uint64, bytes, blocks *tally) []shadowCounted {
	r := rand.New(rand.NewPCG(uint64(thread), round))
	var mine []shadowCounted
	for range 400 {
		switch {
		case len(mine) > 20 || len(mine) > 0 && r.IntN(2) == 0:
			at := r.IntN(len(mine))
			mine[at].free(t, p, c, thread, bytes, blocks)
			mine = append(mine[:at], mine[at+1:]...)
		case len(mine) > 0 && r.IntN(12) == 0:
			require.NoError(t, p.RecordStream(mine[r.IntN(len(mine))].addr, s))
		case r.IntN(40) == 0:
			_, err := p.Trim(0)
			require.NoError(t, err)
		default:
			size := int64(1 + r.IntN(96<<10))
			bytes.allocBegun.Add(size)
			blocks.allocBegun.Add(1)
			addr := c.alloc(thread, uint64(size), uint64(thread%2))
			if addr == 0 {
				addr = mustAlloc(t, p, uint64(size)).Addr
			}
			bytes.allocDone.Add(size)
			blocks.allocDone.Add(1)
			mine = append(mine, shadowCounted{addr, size})
		}
	}
	return mine
}
