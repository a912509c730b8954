package pages

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The rule alone: when a release was a mistake, and when not.
func TestPagesStayLongerAfterMistakes(t *testing.T) {
	const gap = 40 * time.Millisecond
	mistake := func(k *Keeper, at, gap time.Duration) {
		k.GaveBack(100, at)
		k.Created(49, 0, at+gap)
		require.EqualValues(t, 49, k.rhythm.again)
		k.Created(1, 0, at+gap)
		require.Zero(t, k.rhythm.gone)
	}
	k := Keeper{}
	at := time.Duration(0)
	next := func(gap time.Duration) {
		at += time.Second
		mistake(&k, at, gap)
	}
	for range Mistakes - 1 {
		next(gap)
		require.Equal(t, ShortWindow, k.Window())
	}
	next(gap + gap/4)
	require.Equal(t, (gap+gap/4+2*ShortWindow)*5/4, k.Window())
	next(WatchTime)
	require.Equal(t, 1, k.rhythm.mistakes, "another gap")
	require.Greater(t, k.Window(), gap, "the page was requested again right after its release")
	k.GaveBack(10, at)
	k.Created(1000, 0, at+WatchTime+1)
	require.Equal(t, rhythm{}, k.rhythm, "the page was not requested again")
	k.Created(1000, 0, at)
	require.Equal(t, rhythm{}, k.rhythm, "no page had been released")
	for range 2 * Mistakes {
		next(WatchTime)
	}
	require.Equal(t, LongWindow, k.Window())
}

// Pages that an allocation waits for longer than a hundredth of the time stay longer, until
// they are cheap again.
func TestCostlyPagesStayLonger(t *testing.T) {
	const each = 50 * time.Microsecond
	w := waits{}
	at := time.Duration(0)
	window := func() time.Duration { return max(ShortWindow, w.window) }
	// Each step creates again what was released, and then lets the pool work for a while.
	step := func(between time.Duration) {
		w.gaveBack(1, at)
		w.created(1, each, window(), at)
		at += between
	}
	for range 1000 {
		step(100 * each)
	}
	require.Equal(t, ShortWindow, window(), "a hundredth of the time is allowed")
	for range 42 {
		step(each)
	}
	require.Equal(t, 2*ShortWindow, window(), "half of the time is not")
	for range 1000 {
		step(each)
	}
	require.Equal(t, CostlyWindow, window())
	at = w.changedAt + QuietWindows*CostlyWindow
	w.gaveBack(1, at)
	require.Equal(t, CostlyWindow, window())
	w.gaveBack(1, at+1)
	require.Equal(t, CostlyWindow/2, window(), "eight windows passed without it")
	for range 12 {
		at += QuietWindows*CostlyWindow + 1
		w.gaveBack(1, at)
	}
	require.Equal(t, ShortWindow, window())
}

// The first pages of a growing pool were not released before, so their time does not count.
func TestGrowthIsNoMistake(t *testing.T) {
	k := Keeper{}
	for i := range time.Duration(100) {
		k.Created(1000, time.Second, i*time.Second)
	}
	require.Equal(t, ShortWindow, k.Window())
	k.GaveBack(1, 100*time.Second)
	k.Created(1000, time.Second, 100*time.Second)
	require.Equal(t, ShortWindow, k.Window(), "only a thousandth of the pages had been released")
}
