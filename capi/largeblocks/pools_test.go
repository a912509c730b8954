package largeblocks

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/lending"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/track"
	"ferrum_mem/drivers/host"
)

const (
	mib = 1 << 20
	// theHandle is the handle by which C knows the lending pool.
	theHandle = 7<<32 | 17
)

// openHost opens a device of the host with so many bytes.
func openHost(t testing.TB, bytes uint64) device.Device {
	driver, err := host.New(host.Config{Devices: 1, MemoryBytes: bytes, MemoryForced: true})
	require.NoError(t, err)
	dev, err := driver.Open(0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	return dev
}

// openPool creates a pool, which lends if there is a place.
func openPool(t require.TestingT, e *engine.Engine, place *lending.State, change func(*pool.Config)) *pool.Pool {
	c := pool.DefaultConfig()
	if change != nil {
		change(&c)
	}
	p, err := pool.New(e, c)
	require.NoError(t, err)
	if place != nil {
		pool.LendTo(p, place, theHandle)
	}
	return p
}

// pair is two pools that get the same requests: one in Go, and one that lends.
type pair struct {
	t            require.TestingT
	stream       device.Stream
	plain, lends *pool.Pool
	place        *lending.State
	// The starts are the addresses of offset 0, known from the first block on.
	plainStart, lendsStart device.Addr
	// calls counts what C has done.
	calls int
}

type block struct {
	offset, size, requested uint64
}

func (w *pair) alloc(size, alignment uint64, tag uint32) block {
	r := pool.Request{SizeBytes: size, AlignmentBytes: alignment, TagNumber: tag}
	want, err := w.plain.Alloc(r)
	require.NoError(w.t, err)
	got, done := alloc(theHandle, size, alignment, tag)
	if done {
		w.calls++
	} else {
		addr, err := w.lends.AllocAddr(&r)
		require.NoError(w.t, err)
		got = uint64(addr)
	}
	if w.plainStart == 0 {
		w.plainStart, w.lendsStart = want.Addr, device.Addr(got)
	}
	require.Equal(w.t, want.Addr-w.plainStart, device.Addr(got)-w.lendsStart, "%d bytes, C: %v", size, done)
	return block{offset: uint64(want.Addr - w.plainStart), size: want.SizeBytes, requested: size}
}

func (w *pair) free(b block, say bool) {
	requested := uint64(0)
	if say {
		requested = b.requested
	}
	plain, lends := w.plainStart+device.Addr(b.offset), w.lendsStart+device.Addr(b.offset)
	if size, done := usableSize(theHandle, uint64(lends)); done {
		require.Equal(w.t, b.size, size)
	}
	require.False(w.t, free(theHandle, uint64(lends), b.requested+1), "C frees a block of another size")
	require.False(w.t, free(theHandle, uint64(lends)+1, 0), "C must not free an address inside a block")
	if b.size > 128<<10 {
		require.False(w.t, free(theHandle, uint64(lends)+128<<10, 0), "C must not free an address inside a block")
	}
	if free(theHandle, uint64(lends), requested) {
		w.calls++
		require.False(w.t, free(theHandle, uint64(lends), 0), "C frees a block twice")
		require.ErrorIs(w.t, w.lends.Free(lends, nil), device.CodeDoubleFree)
	} else {
		require.NoError(w.t, w.lends.Free(lends, nil))
	}
	require.NoError(w.t, w.plain.Free(plain, nil))
}

// same compares the counters and every block of the two.
func (w *pair) same(live []block) {
	want, got := w.plain.Statistics(), w.lends.Statistics()
	require.NoError(w.t, got.Check())
	require.Equal(w.t, want, got)
	require.Equal(w.t, track.SumTags(w.plain.Tags()), track.SumTags(w.lends.Tags()))
	require.Equal(w.t, w.plain.Engine().Totals().Used(), w.lends.Engine().Totals().Used())
	plain, lends := w.plain.Snapshot(), w.lends.Snapshot()
	require.Equal(w.t, plain.HighWaterBytes, lends.HighWaterBytes)
	require.Len(w.t, lends.Segments, len(plain.Segments))
	for i, want := range plain.Segments {
		got := lends.Segments[i]
		got.Address = want.Address
		require.Equal(w.t, want, got)
	}
	for _, b := range live {
		want, there := w.plain.Lookup(w.plainStart + device.Addr(b.offset))
		require.True(w.t, there)
		got, there := w.lends.Lookup(w.lendsStart + device.Addr(b.offset))
		require.True(w.t, there, "the block of %d bytes at %d", b.size, b.offset)
		got.Addr = want.Addr
		require.Equal(w.t, want, got)
	}
}

// For any requests, a pool that lends behaves like one that does not: the places of
// blocks, the counters with their peaks, the tags, and the errors.
func TestLendingPoolEqualsOneThatDoesNotLend(t *testing.T) {
	skipWithoutPages(t)
	t.Run("host", func(t *testing.T) { twoPools(t, openHost(t, 1<<40), openHost(t, 1<<40)) })
	// Here C cannot see whether work is queued, so Go serves all frees.
	t.Run("large pages", func(t *testing.T) {
		open := func() device.Device {
			return devicetest.Open(devicetest.Config{
				TotalBytes: 1 << 40, PageMinimumBytes: 2 * mib, PageRecommendedBytes: 2 * mib, PageLargeBytes: 8 * mib,
			})
		}
		twoPools(t, open(), open())
	})
}

// twoPools sends the same requests to a pool on each of two devices; the second one
// lends.
func twoPools(t *testing.T, first, second device.Device) {
	calls := 0
	rapid.Check(t, func(t *rapid.T) {
		w := &pair{t: t, place: Places{}.Of(theHandle), stream: second.DefaultStream()}
		pages := rapid.SampledFrom([]int{0, pool.KeepAllPages}).Draw(t, "ready pages")
		granule := rapid.SampledFrom([]uint64{0, 128 << 10}).Draw(t, "pool's alignment")
		ready := func(c *pool.Config) { c.ReadyPages, c.AlignmentBytes = pages, granule }
		w.plain = openPool(t, engine.New(first, engine.Options{}), nil, ready)
		w.lends = openPool(t, engine.New(second, engine.Options{}), w.place, ready)
		for _, p := range []*pool.Pool{w.plain, w.lends} {
			defer func() {
				require.NoError(t, p.Close(true))
			}()
			p.PauseReturn()
		}
		for _, tag := range []string{"a", "of two"} {
			for _, p := range []*pool.Pool{w.plain, w.lends} {
				_, err := p.Tag(tag)
				require.NoError(t, err)
			}
		}
		var live []block
		size := rapid.OneOf(rapid.Uint64Range(1, 3*mib), rapid.Uint64Range(mib, 50*mib))
		for range rapid.SampledFrom([]int{10, 60, 300}).Draw(t, "steps") {
			switch n := rapid.IntRange(0, 39).Draw(t, "call"); {
			case n < 19 || len(live) == 0:
				live = append(live, w.alloc(size.Draw(t, "size"), rapid.SampledFrom([]uint64{0, 0, 64, 512, 4096}).Draw(t, "alignment"),
					rapid.Uint32Range(0, 2).Draw(t, "tag")))
			case n < 37:
				at := rapid.IntRange(0, len(live)-1).Draw(t, "block")
				w.free(live[at], rapid.Bool().Draw(t, "say the size"))
				live = slices.Delete(live, at, at+1)
			case n == 37:
				w.same(live)
			case n == 38:
				for _, p := range []*pool.Pool{w.plain, w.lends} {
					_, err := p.ReturnIdle()
					require.NoError(t, err)
				}
			default:
				for _, p := range []*pool.Pool{w.plain, w.lends} {
					_, err := p.Trim(0)
					require.NoError(t, err)
				}
			}
		}
		w.same(live)
		calls += w.calls
	})
	if testing.Short() { // rapid runs a fifth of the programs then, which may be too few
		return
	}
	require.Greater(t, calls, 30)
}

// Threads allocate and free in C and in Go at the same time, while others read the
// counters: no two threads get the same block, and at the end the counters are 0.
func TestThreadsInCAndGo(t *testing.T) {
	skipWithoutPages(t)
	p := openPool(t, engine.New(openHost(t, 1<<36), engine.Options{}), Places{}.Of(theHandle), nil)
	defer func() { require.NoError(t, p.Close(false)) }()
	var threads sync.WaitGroup
	var mu sync.Mutex
	owned, calls := map[uint64]uint64{}, 0
	leave := func(at uint64) {
		mu.Lock()
		defer mu.Unlock()
		delete(owned, at)
	}
	claim := func(at, size uint64) {
		mu.Lock()
		defer mu.Unlock()
		for other, length := range owned {
			if at < other+length && other < at+size {
				t.Errorf("[%#x,+%d) overlaps [%#x,+%d)", at, size, other, length)
			}
		}
		owned[at] = size
	}
	for thread := range uint64(4) {
		threads.Go(func() {
			done, seed := 0, thread+1
			next := func(n uint64) uint64 {
				seed = seed*6364136223846793005 + 1442695040888963407
				return (seed >> 33) % n
			}
			var mine []uint64
			for range 2000 {
				if len(mine) < 4 {
					size := mib + 1 + next(4*mib)
					addr, ok := alloc(theHandle, size, 0, 0)
					if !ok {
						block, err := p.Alloc(pool.Request{SizeBytes: size})
						if err != nil {
							t.Error(err)
							return
						}
						addr = uint64(block.Addr)
					} else {
						done++
					}
					claim(addr, size)
					mine = append(mine, addr)
					continue
				}
				at := next(4)
				addr := mine[at]
				mine = slices.Delete(mine, int(at), int(at)+1)
				leave(addr)
				if free(theHandle, addr, 0) {
					done++
				} else if err := p.Free(device.Addr(addr), nil); err != nil {
					t.Error(err)
				}
			}
			for _, addr := range mine {
				leave(addr)
				if err := p.Free(device.Addr(addr), nil); err != nil {
					t.Error(err)
				}
			}
			mu.Lock()
			calls += done
			mu.Unlock()
		})
	}
	stop := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Microsecond):
				if err := p.Statistics().Check(); err != nil {
					t.Error(err)
				}
			}
		}
	})
	threads.Wait()
	close(stop)
	reader.Wait()
	require.Greater(t, calls, 1000, "C did its part")
	require.Zero(t, p.Statistics().LiveBlocks.Current)
}
