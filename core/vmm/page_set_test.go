package vmm

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The set against a slice of booleans.
func TestPageSetAgainstASlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.SampledFrom([]uint64{1, 63, 64, 65, 130, 4096, 4097, 5000, 70000}).Draw(t, "bound")
		var set pageSet
		require.NoError(t, set.open(bound))
		defer func() { set.detach()() }()
		has := make([]bool, bound)
		anyRun := func(t *rapid.T) run {
			start := rapid.Uint64Range(0, bound-1).Draw(t, "start")
			return run{start, rapid.Uint64Range(1, min(bound-start, 200)).Draw(t, "pages")}
		}
		first := func(from, end uint64, want bool) (uint64, bool) {
			for p := from; p < end; p++ {
				if has[p] == want {
					return p, true
				}
			}
			return 0, false
		}
		change := func(member bool) func(*rapid.T) {
			return func(t *rapid.T) {
				r := anyRun(t)
				if member {
					set.add(r)
				} else {
					set.remove(r)
				}
				for p := r.start; p < r.end(); p++ {
					has[p] = member
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": change(true), "remove": change(false), "removeMore": change(false),
			"look": func(t *rapid.T) {
				r := anyRun(t)
				got, ok := set.firstIn(r)
				want, there := first(r.start, r.end(), true)
				require.Equal(t, []any{want, there}, []any{got, ok})
				got, ok = set.firstNotIn(r)
				want, there = first(r.start, r.end(), false)
				require.Equal(t, []any{want, there}, []any{got, ok})
				got, ok = set.next(r.start)
				want, there = first(r.start, bound, true)
				require.Equal(t, []any{want, there}, []any{got, ok}, "next from %d of %d", r.start, bound)
				require.Equal(t, has[r.start], set.has(r.start))
				if there {
					end, stop := first(want, bound, false)
					if !stop {
						end = bound
					}
					most := rapid.Uint64Range(1, 300).Draw(t, "most")
					require.Equal(t, run{want, min(end-want, most)}, set.runFrom(want, most))
				}
				covered := make([]bool, bound)
				set.runsIn(r, func(found run) bool {
					for p := found.start; p < found.end(); p++ {
						covered[p] = true
					}
					return true
				})
				for p := r.start; p < r.end(); p++ {
					require.Equal(t, has[p], covered[p])
				}
			},
			"": func(t *rapid.T) {
				count := uint64(0)
				for _, member := range has {
					if member {
						count++
					}
				}
				require.Equal(t, count, set.count)
			},
		})
	})
}
