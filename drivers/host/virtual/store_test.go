package virtual

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

// Places are compared with a plain list of flags. Each place is allocated once, the places
// of one call are the lowest run that is long enough, and the number of a released page
// never names an existing page.
func TestPlacesEqualAPlainList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := &Memory{}
		s := &store{pageBytes: 1, backing: device.BackingPrivate, fd: -1, limit: uint64(rapid.IntRange(1, 40).Draw(t, "limit"))}
		v.stores = []*store{s}
		taken := make([]bool, s.limit)
		var pages, gone []device.Page
		place := func(page device.Page) uint64 {
			_, index, ok := v.find(page)
			require.True(t, ok)
			return index
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "give") {
				n := rapid.IntRange(1, 8).Draw(t, "count")
				made := make([]device.Page, n)
				run, room := lowestRun(taken, n), len(taken)-count(taken)
				require.Equal(t, n <= room, s.give(made))
				if n > room {
					continue
				}
				if run >= 0 {
					require.EqualValues(t, run, place(made[0]))
					require.EqualValues(t, run+n-1, place(made[n-1]))
				}
				for _, page := range made {
					require.False(t, taken[place(page)])
					taken[place(page)] = true
				}
				pages = append(pages, made...)
				continue
			}
			var leaving []device.Page
			for range rapid.IntRange(0, min(len(pages), 12)).Draw(t, "leaving") {
				i := rapid.IntRange(0, len(pages)-1).Draw(t, "page")
				leaving = append(leaving, pages[i])
				pages = slices.Delete(pages, i, i+1)
			}
			if len(leaving) == 0 {
				continue
			}
			for _, page := range leaving {
				taken[place(page)] = false
			}
			runs, err := v.claim("test", leaving)
			require.NoError(t, err)
			v.removeRuns(runs)
			gone = append(gone, leaving...)
		}
		for _, page := range gone {
			_, _, ok := v.find(page)
			require.False(t, ok, "the number of a released page is rejected")
		}
		for i := 1; i < len(s.free); i++ {
			require.Less(t, s.free[i-1].end, s.free[i].start, "runs that touch are one")
		}
	})
}

func lowestRun(taken []bool, n int) int {
	for start := 0; start+n <= len(taken); start++ {
		if !slices.Contains(taken[start:start+n], true) {
			return start
		}
	}
	return -1
}

func count(flags []bool) (n int) {
	for _, set := range flags {
		if set {
			n++
		}
	}
	return n
}

// Concurrent calls can make the count negative for a moment. That must not count as the
// limit.
func TestANegativeCountOfMappingsIsNotTheLimit(t *testing.T) {
	m := mappings{bound: 800}
	m.count.Store(-2)
	require.NoError(t, m.take("op", 1))
	require.NoError(t, m.take("op", 701))
	requireCode(t, device.CodeResourceExhausted, m.take("op", 1), "1 mapping more: virtual memory has 700 and may have 700")
	require.EqualValues(t, 700, m.count.Load())
	require.NoError(t, m.take("op", -700))
}

func requireCode(t require.TestingT, code device.Code, err error, words ...string) {
	if h, ok := t.(interface{ Helper() }); ok {
		h.Helper()
	}
	require.Error(t, err)
	require.Equal(t, code, device.CodeOf(err), err.Error())
	for _, word := range words {
		require.ErrorContains(t, err, word)
	}
}
