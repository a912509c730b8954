package pool

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// breather is a pool in a time of its own, in which the worker's steps are done
// when they are due.
type breather struct {
	*bench
	pool *Pool
	now  time.Duration
}

func newBreather(t *testing.T) *breather {
	w := &breather{}
	w.bench, w.pool = pagedPool(t, func(c *Config) { c.Clock = func() time.Duration { return w.now } })
	return w
}

// pass lets time pass.
func (w *breather) pass(t *testing.T, d time.Duration) {
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

func (w *breather) alloc(t *testing.T, n int, size uint64) (blocks []device.Addr) {
	for range n {
		blocks = append(blocks, mustAlloc(t, w.pool, size).Addr)
	}
	return blocks
}

func (w *breather) free(t *testing.T, blocks []device.Addr) {
	for _, addr := range blocks {
		require.NoError(t, w.pool.Free(addr, nil))
	}
}

// A pool that breathes regularly gives back and creates nothing after the first few
// breaths, whatever they are long, and no page for longer than its window once it
// does not any more.
func TestAPoolThatBreathesKeepsItsPages(t *testing.T) {
	for _, gap := range []time.Duration{0, 2, 5, 10, 20, 50, 100, 150, 190} {
		gap *= time.Millisecond
		w := newBreather(t)
		w.alloc(t, 10, page)
		breathe := func(n int) {
			for range n {
				blocks := w.alloc(t, 50, 2*page)
				w.pass(t, 7*time.Millisecond)
				w.free(t, blocks)
				w.pass(t, gap)
			}
		}
		breathe(keepMistakes + 1)
		before := w.dev.Calls(devicetest.Create) + w.dev.Calls(devicetest.Release)
		breathe(100)
		require.Equal(t, before, w.dev.Calls(devicetest.Create)+w.dev.Calls(devicetest.Release), "%v", gap)
		require.Equal(t, 110*page, w.dev.HeldBytes(), "%v", gap)
		w.pass(t, 2*keepLong)
		require.Equal(t, 10*page, w.dev.HeldBytes(), "%v", gap)
		w.pass(t, keepHorizon)
		require.NoError(t, w.pool.Free(mustAlloc(t, w.pool, 50*page).Addr, nil))
		w.pass(t, 2*keepShort)
		require.Equal(t, 10*page, w.dev.HeldBytes(), "%v: it was right, and the window is short", gap)
		quiet(t, w.bench, w.pool)
	}
}

// Load at random gets the short window: what is held is what blocks need, and what
// they needed in the last two windows.
func TestLoadAtRandomIsFollowedClosely(t *testing.T) {
	w := newBreather(t)
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
		w.pass(t, time.Duration(random.ExpFloat64()*float64(60*time.Millisecond))+2*keepShort)
		require.LessOrEqual(t, w.pool.paged.keeper.mistakes, keepMistakes)
		if w.pool.paged.keeper.window == keepShort {
			require.Equal(t, uint64(len(blocks))*page, w.dev.HeldBytes())
		}
	}
	quiet(t, w.bench, w.pool)
}

// What is freed and not taken again is given back after one window, or two, in one
// run of many steps; the ready pages stay.
func TestAWindowLater(t *testing.T) {
	w := newBreather(t)
	w.alloc(t, 128, page)
	w.free(t, w.alloc(t, 600, page))
	require.Equal(t, 728*page, w.dev.HeldBytes())
	w.pass(t, keepShort-1)
	require.Equal(t, 728*page, w.dev.HeldBytes())
	w.pass(t, keepShort+1)
	require.Equal(t, 130*page, w.dev.HeldBytes(), "one page ready for 64 in use")
	quiet(t, w.bench, w.pool)
}

// The rule alone: when to give back was a mistake, and when not.
func TestTheKeeper(t *testing.T) {
	const gap = 40 * time.Millisecond
	mistake := func(k *keeper, at, gap time.Duration) {
		k.gaveBack(100, at)
		k.created(49, at+gap)
		require.EqualValues(t, 49, k.again)
		k.created(1, at+gap)
		require.Zero(t, k.gone)
	}
	k := keeper{window: keepShort}
	at := time.Duration(0)
	next := func(gap time.Duration) {
		at += time.Second
		mistake(&k, at, gap)
	}
	for range keepMistakes - 1 {
		next(gap)
		require.Equal(t, keepShort, k.window)
	}
	next(gap + gap/4)
	require.Equal(t, (gap+gap/4+2*keepShort)*5/4, k.window)
	next(keepHorizon)
	require.Equal(t, 1, k.mistakes, "another gap")
	require.Greater(t, k.window, gap, "and yet a mistake")
	k.gaveBack(10, at)
	k.created(1000, at+keepHorizon+1)
	require.Equal(t, keeper{window: keepShort}, k, "it was right")
	k.created(1000, at)
	require.Equal(t, keeper{window: keepShort}, k, "nothing had gone")
	for range 2 * keepMistakes {
		next(keepHorizon)
	}
	require.Equal(t, keepLong, k.window)
}
