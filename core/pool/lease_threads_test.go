package pool

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// Pools with caches that run out of memory all the time and empty each other's caches,
// with readings, trims and adoptions in between: there is no deadlock, no memory is
// allocated twice, and the counters are right at the end.
func TestManyThreadsOnCachedPoolsWithoutMemory(t *testing.T) {
	b := newBench(devicetest.Config{TotalBytes: 3 * mib}, engine.Options{})
	type front struct {
		pool   *Pool
		caches *fakeCache
		stream *devicetest.Stream
	}
	var fronts []front
	var pools []*Pool
	for _, name := range []string{"a", "b"} {
		p, c, s := cached(t, b, func(c *Config) {
			c.Name, c.InitialSizeBytes, c.GrowthIncrementBytes = name, 256*kib, 256*kib
			c.ReleaseThresholdBytes = mib
		})
		fronts, pools = append(fronts, front{p, c, s}), append(pools, p)
	}
	var owners sync.Map
	var wait sync.WaitGroup
	for thread := range 6 {
		wait.Go(func() {
			r := rand.New(rand.NewPCG(uint64(thread), 5))
			type owned struct {
				front
				addr device.Addr
			}
			var mine []owned
			leave := func(at int) {
				last := mine[at]
				mine = append(mine[:at], mine[at+1:]...)
				owners.Delete(last.addr)
				require.NoError(t, last.caches.free(thread, last.addr, r.Uint64N(2)))
			}
			for range 500 {
				f := fronts[r.IntN(2)]
				switch {
				case len(mine) > 10 || len(mine) > 0 && r.IntN(2) == 0:
					leave(r.IntN(len(mine)))
				case len(mine) > 0 && r.IntN(15) == 0:
					last := mine[r.IntN(len(mine))]
					require.NoError(t, last.pool.RecordStream(last.addr, last.stream))
				default:
					size := 1 + r.Uint64N(120*kib)
					addr := f.caches.alloc(thread, size, r.Uint64N(2))
					if addr == 0 {
						block, err := f.pool.Alloc(Request{SizeBytes: size})
						if err != nil {
							require.ErrorIs(t, err, device.CodeOutOfMemory)
							continue
						}
						addr = block.Addr
					}
					_, twice := owners.LoadOrStore(addr, thread)
					require.False(t, twice, "address %#x was handed out twice", uint64(addr))
					mine = append(mine, owned{f, addr})
				}
			}
			for len(mine) > 0 {
				leave(0)
			}
		})
	}
	wait.Go(func() {
		for i := range 150 {
			p := pools[i%2]
			require.NoError(t, p.Statistics().Check())
			require.NoError(t, b.engine.Statistics().Check())
			p.Tags()
			p.EachBlock(func(Block) bool { return true })
			_, err := p.Trim(uint64(i) * 8 * kib)
			require.NoError(t, err)
		}
	})
	wait.Wait()
	b.check(t, pools...)
	require.Zero(t, b.engine.Statistics().LiveBlocks.Current)
	for _, f := range fronts {
		require.NoError(t, f.stream.Close())
		require.NoError(t, f.pool.Close(false))
	}
	require.Zero(t, b.dev.HeldBytes())
	require.Zero(t, b.dev.OpenEvents())
}

// Threads that continue during a forced close get errors, and no memory is left.
func TestForcedCloseWhileThreadsContinue(t *testing.T) {
	for round := range 20 {
		b := newBench(devicetest.Config{}, engine.Options{})
		p, c, s := cached(t, b, nil)
		mustAlloc(t, p, 256)
		var wait, started sync.WaitGroup
		for thread := range 4 {
			started.Add(1)
			wait.Go(func() {
				r := rand.New(rand.NewPCG(uint64(thread), uint64(round)))
				started.Done()
				for range 300 {
					addr := c.alloc(thread, 1+r.Uint64N(8000), r.Uint64N(2))
					if addr == 0 {
						block, err := p.Alloc(Request{SizeBytes: 100})
						if err != nil {
							require.ErrorIs(t, err, device.CodeInvalidState)
							return
						}
						addr = block.Addr
					}
					if err := c.free(thread, addr, r.Uint64N(2)); err != nil {
						return
					}
				}
			})
		}
		started.Wait()
		require.NoError(t, p.Close(true))
		wait.Wait()
		require.Zero(t, b.dev.HeldBytes())
		require.NoError(t, s.Close())
		b.closeAll(t)
	}
}
