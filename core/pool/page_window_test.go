package pool

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/pool/pages"
)

// timedPool is a pool with a clock of the test. The worker's steps are done when they are
// due.
type timedPool struct {
	*bench
	pool *Pool
	now  time.Duration
}

func newTimed(t *testing.T) *timedPool {
	w := &timedPool{}
	w.bench, w.pool = pagedPool(t, func(c *Config) { c.Clock = func() time.Duration { return w.now } })
	return w
}

// pass advances the clock.
func (w *timedPool) pass(t *testing.T, d time.Duration) {
	until := w.now + d
	for {
		due, again, err := w.pool.Tick()
		require.NoError(t, err)
		if !again || due > until {
			break
		}
		w.now = max(due, w.now)
	}
	w.now = until
}

func (w *timedPool) alloc(t *testing.T, n int, size uint64) (blocks []device.Addr) {
	for range n {
		blocks = append(blocks, mustAlloc(t, w.pool, size).Addr)
	}
	return blocks
}

func (w *timedPool) free(t *testing.T, blocks []device.Addr) {
	for _, addr := range blocks {
		require.NoError(t, w.pool.Free(addr, nil))
	}
}

// Under periodic load, a pool releases and creates nothing after the first few periods,
// whatever their length. After the load, no page stays for longer than the window.
func TestPeriodicLoadKeepsItsPages(t *testing.T) {
	for _, gap := range []time.Duration{0, 2, 5, 10, 20, 50, 100, 150, 190} {
		gap *= time.Millisecond
		w := newTimed(t)
		w.alloc(t, 10, page)
		period := func(n int) {
			for range n {
				blocks := w.alloc(t, 50, 2*page)
				w.pass(t, 7*time.Millisecond)
				w.free(t, blocks)
				w.pass(t, gap)
			}
		}
		period(pages.Mistakes + 1)
		before := w.dev.Calls(devicetest.Create) + w.dev.Calls(devicetest.Release)
		period(100)
		require.Equal(t, before, w.dev.Calls(devicetest.Create)+w.dev.Calls(devicetest.Release), "%v", gap)
		require.Equal(t, 110*page, w.dev.HeldBytes(), "%v", gap)
		w.pass(t, 2*pages.LongWindow)
		require.Equal(t, 10*page, w.dev.HeldBytes(), "%v", gap)
		w.pass(t, pages.WatchTime)
		require.NoError(t, w.pool.Free(mustAlloc(t, w.pool, 50*page).Addr, nil))
		w.pass(t, 2*pages.ShortWindow)
		require.Equal(t, 10*page, w.dev.HeldBytes(), "%v: it was right, and the window is short", gap)
		quiet(t, w.bench, w.pool)
	}
}

// Random load gets the short window: the pool holds what blocks need, and what they
// needed in the last two windows.
func TestRandomLoadGetsTheShortWindow(t *testing.T) {
	w := newTimed(t)
	random := rand.New(rand.NewPCG(1, 2))
	var blocks []device.Addr
	for range 200 {
		if random.IntN(2) == 0 && len(blocks) < 80 {
			blocks = append(blocks, w.alloc(t, 8, page)...)
		} else {
			n := random.IntN(len(blocks) + 1)
			w.free(t, blocks[n:])
			blocks = blocks[:n]
		}
		w.pass(t, time.Duration(random.ExpFloat64()*float64(60*time.Millisecond))+2*pages.ShortWindow)
		require.LessOrEqual(t, w.pool.heap.paged.keeper.Window(), pages.LongWindow)
		if w.pool.heap.paged.keeper.Window() == pages.ShortWindow {
			require.Equal(t, uint64(len(blocks))*page, w.dev.HeldBytes())
		}
	}
	quiet(t, w.bench, w.pool)
}

// Pages that are freed and not reused are released after one or two windows, in one run
// of many steps. The ready pages stay.
func TestIdlePagesAreReleasedAfterAWindow(t *testing.T) {
	w := newTimed(t)
	w.alloc(t, 128, page)
	w.free(t, w.alloc(t, 600, page))
	require.Equal(t, 728*page, w.dev.HeldBytes())
	w.pass(t, pages.ShortWindow-1)
	require.Equal(t, 728*page, w.dev.HeldBytes())
	w.pass(t, pages.ShortWindow+1)
	require.Equal(t, 130*page, w.dev.HeldBytes(), "one ready page for 64 pages in use")
	quiet(t, w.bench, w.pool)
}
