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
		k.Created(49, at+gap)
		require.EqualValues(t, 49, k.again)
		k.Created(1, at+gap)
		require.Zero(t, k.gone)
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
	require.Equal(t, 1, k.mistakes, "another gap")
	require.Greater(t, k.Window(), gap, "and yet a mistake")
	k.GaveBack(10, at)
	k.Created(1000, at+WatchTime+1)
	require.Equal(t, Keeper{}, k, "it was right")
	k.Created(1000, at)
	require.Equal(t, Keeper{}, k, "nothing had gone")
	for range 2 * Mistakes {
		next(WatchTime)
	}
	require.Equal(t, LongWindow, k.Window())
}
