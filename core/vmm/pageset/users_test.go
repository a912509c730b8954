package pageset

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

// named is a stream of which only the identity counts.
type named struct {
	device.Stream
	name string
}

// audit compares the sets of streams with the pages that have them.
func (u *Users) audit() error {
	counts := make([]uint64, len(u.sets))
	shared := uint64(0)
	for _, set := range u.of {
		if set != onDefault {
			counts[set]++
			shared++
		}
	}
	spare := 0
	for number, set := range u.sets[1:] {
		if set.pages != counts[number+1] {
			return fmt.Errorf("set %d of streams says %d pages and has %d", number+1, set.pages, counts[number+1])
		}
		if set.last == nil {
			spare++
		} else if set.pages == 0 && len(set.grown) == 0 {
			return fmt.Errorf("set %d of streams is nobody's", number+1)
		}
	}
	if u.shared != shared || len(u.spare) != spare {
		return fmt.Errorf("%d pages of other sets and %d spare sets, counted %d and %d", shared, spare, u.shared, len(u.spare))
	}
	return nil
}

// naiveUsers is a list of streams for each page.
type naiveUsers [][]device.Stream

func (n naiveUsers) streams(r Run) (streams []device.Stream) {
	for _, users := range n[r.Start:r.End()] {
		for _, stream := range users {
			if !slices.Contains(streams, stream) {
				streams = append(streams, stream)
			}
		}
	}
	return streams
}

func (n naiveUsers) change(r Run, to func(users []device.Stream) []device.Stream) {
	for page := r.Start; page < r.End(); page++ {
		n[page] = to(slices.Clone(n[page]))
	}
}

func TestUsersAreThoseOfAListForEachPage(t *testing.T) {
	const pages = 20
	standard := &named{name: "default"}
	streams := []device.Stream{standard, &named{name: "a"}, &named{name: "b"}, &named{name: "c"}}
	alone := []device.Stream{standard}
	rapid.Check(t, func(t *rapid.T) {
		var users Users
		require.NoError(t, users.Open(pages, standard))
		defer func() { users.Detach()() }()
		naive := make(naiveUsers, pages)
		naive.change(Run{Pages: pages}, func([]device.Stream) []device.Stream { return alone })
		anyRun := func(t *rapid.T) Run {
			start := rapid.Uint64Range(0, pages-1).Draw(t, "start")
			return Run{Start: start, Pages: rapid.Uint64Range(1, pages-start).Draw(t, "pages")}
		}
		anyStream := func(t *rapid.T) (asked, meant device.Stream) {
			if asked = rapid.SampledFrom(append(slices.Clone(streams), nil)).Draw(t, "stream"); asked == nil {
				return nil, standard
			}
			return asked, asked
		}
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(t *rapid.T) {
				r := anyRun(t)
				asked, meant := anyStream(t)
				users.Begin(r, asked)
				naive.change(r, func([]device.Stream) []device.Stream { return []device.Stream{meant} })
			},
			"add": func(t *rapid.T) {
				r := anyRun(t)
				asked, meant := anyStream(t)
				users.Add(r, asked)
				naive.change(r, func(of []device.Stream) []device.Stream {
					if slices.Contains(of, meant) {
						return of
					}
					return append(of, meant)
				})
			},
			"drop": func(t *rapid.T) {
				r := anyRun(t)
				gone := rapid.SliceOfDistinct(rapid.SampledFrom(streams), func(s device.Stream) device.Stream { return s }).Draw(t, "gone")
				users.Drop(r, gone)
				naive.change(r, func(of []device.Stream) []device.Stream {
					of = slices.DeleteFunc(of, func(s device.Stream) bool { return slices.Contains(gone, s) })
					if len(of) == 0 {
						return alone
					}
					return of
				})
			},
			"end": func(t *rapid.T) {
				r := anyRun(t)
				users.End(r)
				naive.change(r, func([]device.Stream) []device.Stream { return alone })
			},
			"": func(t *rapid.T) {
				require.NoError(t, users.audit())
				for page := range uint64(pages) {
					r := Run{Start: page, Pages: 1}
					require.ElementsMatch(t, naive.streams(r), users.Streams(r))
					require.Equal(t, len(naive[page]), users.Most(r))
				}
				all := Run{Pages: pages}
				require.ElementsMatch(t, naive.streams(all), users.Streams(all))
			},
		})
		users.End(Run{Pages: pages})
		require.Zero(t, users.shared)
		require.Empty(t, users.first)
		require.Empty(t, users.sets[onDefault].grown)
	})
}

// Long-lived pages do not accumulate sets of closed streams.
func TestStreamSetsOfDroppedStreamsAreRemoved(t *testing.T) {
	const most = 16
	standard := &named{name: "default"}
	var users Users
	require.NoError(t, users.Open(4, standard))
	defer func() { users.Detach()() }()
	all := Run{Pages: 4}
	for range 1000 {
		users.Add(all, &named{})
		if used := users.Streams(all); len(used) == most {
			users.Drop(all, used[1:])
		}
	}
	require.LessOrEqual(t, len(users.sets), 4*most)
	require.NoError(t, users.audit())
}
