package pool

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/rangealloc"
)

// crowd is a pool with many live blocks, half of them in the caches.
type crowd struct {
	b     *bench
	p     *Pool
	c     *fakeCache
	s     device.Stream
	addrs []device.Addr
}

func newCrowd(t *testing.T, strategy string, blocks int) *crowd {
	t.Helper()
	w := &crowd{b: newBench(devicetest.Config{}, engine.Options{})}
	w.p, w.c, w.s = cached(t, w.b, func(c *Config) { c.Strategy = strategy })
	for i := range blocks {
		// The caches have no block when the pool has to grow.
		if addr := w.c.alloc(0, 1000, 0); i%2 == 0 && addr != 0 {
			w.addrs = append(w.addrs, addr)
		} else {
			if addr != 0 {
				require.NoError(t, w.c.free(0, addr, 0))
			}
			w.addrs = append(w.addrs, mustAlloc(t, w.p, 300+uint64(i%3)*700).Addr)
		}
	}
	return w
}

// walks are all operations that visit every block of a pool.
var walks = []struct {
	name string
	run  func(t *testing.T, w *crowd)
}{
	{"blocks", func(t *testing.T, w *crowd) {
		seen := 0
		w.p.EachBlock(func(Block) bool { seen++; return true })
		require.Equal(t, len(w.addrs), seen)
	}},
	{"tags", func(t *testing.T, w *crowd) {
		require.EqualValues(t, len(w.addrs), w.p.Tags()[0].Blocks)
	}},
	{"snapshot", func(t *testing.T, w *crowd) { w.p.Snapshot() }},
	{"owner", func(t *testing.T, w *crowd) {
		info, ok := w.p.OwnerOf(w.addrs[len(w.addrs)/2+1] + 7)
		require.True(t, ok)
		require.Equal(t, BlockLive, info.State)
	}},
	{"wrong free", func(t *testing.T, w *crowd) {
		require.ErrorIs(t, w.p.Free(w.addrs[len(w.addrs)/2+1]+7, nil), device.CodeInvalidAddress)
	}},
	{"reset", func(t *testing.T, w *crowd) {
		require.NoError(t, w.p.Reset(nil))
		require.Zero(t, w.p.Statistics().LiveBlocks.Current)
	}},
	{"destroy", func(t *testing.T, w *crowd) { require.NoError(t, w.p.Close(true)) }},
}

// TestTraversalsNeedBoundedMemory compares the memory that is allocated for n blocks and
// for 4n: less than 16 bytes for each further block, which slices discard and lists of
// pages need. A list of the blocks would take 40 to 200 bytes each.
func TestTraversalsNeedBoundedMemory(t *testing.T) {
	devicetest.SkipShortRace(t)
	const few = 4096
	for _, strategy := range []string{"best_fit", "size_class", "tlsf", "buddy"} {
		for _, walk := range walks {
			t.Run(strategy+"/"+walk.name, func(t *testing.T) {
				var bytes [2]uint64
				for i, blocks := range []int{few, 4 * few} {
					w := newCrowd(t, strategy, blocks)
					bytes[i] = allocatedBy(func() { walk.run(t, w) })
					if walk.name != "destroy" {
						require.NoError(t, w.p.Close(true))
					}
					require.NoError(t, w.s.Close())
				}
				more := int64(bytes[1]) - int64(bytes[0])
				require.Less(t, more, int64(3*few*16), "%d bytes, then %d", bytes[0], bytes[1])
			})
		}
	}
}

func allocatedBy(run func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// watchful is a strategy that counts its calls between two slices. Each slice holds the
// pool's lock once.
type watchful struct {
	rangealloc.Strategy
	sinceSlice, most int
	walked           bool
}

func (w *watchful) done() {
	w.sinceSlice++
	w.most = max(w.most, w.sinceSlice)
}

func (w *watchful) Scan(place uint64, budget int, visit func(rangealloc.Range)) uint64 {
	w.most, w.sinceSlice = max(w.most, budget), 0
	return w.Strategy.Scan(place, budget, visit)
}

func (w *watchful) Walk(visit func(rangealloc.Block) bool) {
	w.walked = true
	w.Strategy.Walk(visit)
}

func (w *watchful) Around(offset, behind uint64, budget int) (rangealloc.Block, bool) {
	w.most = max(w.most, budget)
	return w.Strategy.Around(offset, behind, budget)
}

func (w *watchful) Free(offset uint64) (uint64, error) {
	w.done()
	return w.Strategy.Free(offset)
}

// TestTraversalsHoldTheLockForASlice counts the blocks that are read, or freed, while the
// lock is held.
func TestTraversalsHoldTheLockForASlice(t *testing.T) {
	for _, walk := range walks {
		t.Run(walk.name, func(t *testing.T) {
			w := newCrowd(t, "best_fit", 20*sliceBlocks)
			var watched []*watchful
			for _, s := range w.p.heap.segments {
				// Batches would bypass the counting strategy.
				each := &watchful{Strategy: s.strategy}
				s.strategy, s.batcher, s.slotFreer = each, nil, nil
				watched = append(watched, each)
			}
			walk.run(t, w)
			slices := 0
			for _, each := range watched {
				require.False(t, each.walked)
				require.LessOrEqual(t, each.most, sliceBlocks)
				slices += each.most
			}
			require.Equal(t, walk.name != "tags" && walk.name != "snapshot", slices > 0)
			if walk.name != "destroy" {
				require.NoError(t, w.p.Close(true))
			}
			require.NoError(t, w.s.Close())
		})
	}
}

// TestTraversalsVisitEachBlockOnce allocates, frees, leases and adopts blocks between the
// slices of a traversal.
func TestTraversalsVisitEachBlockOnce(t *testing.T) {
	for _, strategy := range []string{"best_fit", "size_class", "tlsf", "buddy"} {
		t.Run(strategy, func(t *testing.T) {
			w := newCrowd(t, strategy, 10*sliceBlocks)
			met := map[device.Addr]int{}
			visits, passing := 0, []device.Addr{}
			w.p.EachBlock(func(b Block) bool {
				met[b.Addr]++
				switch visits++; visits % 5 {
				case 0:
					passing = append(passing, mustAlloc(t, w.p, 500).Addr)
				case 1:
					// The caches have no block when the pool has to grow.
					if addr := w.c.alloc(0, 1000, 0); addr != 0 {
						passing = append(passing, addr)
					}
				case 2:
					// The pool adopts the block.
					require.NoError(t, w.p.RecordStream(w.addrs[(visits*64)%len(w.addrs)], w.s))
				case 3:
					if n := len(passing); n > 0 {
						require.NoError(t, w.c.free(0, passing[0], 0))
						passing = passing[1:]
					}
				}
				return true
			})
			for i, addr := range w.addrs {
				require.Equal(t, 1, met[addr], fmt.Sprintf("block %d at %#x", i, uint64(addr)))
			}
			require.NoError(t, w.p.Close(true))
			require.NoError(t, w.s.Close())
			w.b.check(t, w.p)
		})
	}
}

// TestResetRecordsOneEventForAllSlices makes the blocks of many slices wait for work of
// two streams, and then for none.
func TestResetRecordsOneEventForAllSlices(t *testing.T) {
	w := newCrowd(t, "best_fit", 5*sliceBlocks)
	other := w.b.stream(t)
	w.p.Flush()
	require.NoError(t, w.p.RecordStream(w.addrs[1], other))
	require.NoError(t, w.p.RecordStream(w.addrs[len(w.addrs)-1], other))
	w.b.dev.Default().Hold()
	other.Hold()
	require.NoError(t, w.b.dev.Default().HostFunction(func() {}))
	require.NoError(t, other.HostFunction(func() {}))
	require.NoError(t, w.p.Reset(nil))
	require.LessOrEqual(t, w.b.dev.OpenEvents(), 2, "at most one event for each stream")
	stats := w.p.Statistics()
	require.Zero(t, stats.LiveBlocks.Current)
	require.NotZero(t, stats.Active.Current, "the blocks are in flight")
	w.b.dev.Default().Release()
	w.p.CompleteFrees()
	require.Equal(t, 2, w.p.heap.inFlight.Count(), "these blocks also wait for the other stream")
	other.Release()
	w.p.CompleteFrees()
	require.Zero(t, w.p.Statistics().Active.Current)
	require.Zero(t, w.b.dev.OpenEvents())
	require.NoError(t, other.Close())
	require.NoError(t, w.s.Close())
	quiet(t, w.b, w.p)
}
