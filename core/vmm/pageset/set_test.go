package pageset

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The set equals a slice of booleans.
func TestSetHasThePagesOfASlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.SampledFrom([]uint64{1, 63, 64, 65, 130, 4096, 4097, 5000, 70000}).Draw(t, "bound")
		var set Set
		require.NoError(t, set.Open(bound))
		defer func() { set.Detach()() }()
		has := make([]bool, bound)
		anyRun := func(t *rapid.T) Run {
			start := rapid.Uint64Range(0, bound-1).Draw(t, "start")
			return Run{Start: start, Pages: rapid.Uint64Range(1, min(bound-start, 200)).Draw(t, "pages")}
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
					set.Add(r)
				} else {
					set.Remove(r)
				}
				for p := r.Start; p < r.End(); p++ {
					has[p] = member
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": change(true), "remove": change(false), "removeMore": change(false),
			"look": func(t *rapid.T) {
				r := anyRun(t)
				got, ok := set.FirstIn(r)
				want, there := first(r.Start, r.End(), true)
				require.Equal(t, []any{want, there}, []any{got, ok})
				got, ok = set.FirstNotIn(r)
				want, there = first(r.Start, r.End(), false)
				require.Equal(t, []any{want, there}, []any{got, ok})
				got, ok = set.Next(r.Start)
				want, there = first(r.Start, bound, true)
				require.Equal(t, []any{want, there}, []any{got, ok}, "next from %d of %d", r.Start, bound)
				require.Equal(t, has[r.Start], set.Has(r.Start))
				if there {
					end, stop := first(want, bound, false)
					if !stop {
						end = bound
					}
					most := rapid.Uint64Range(1, 300).Draw(t, "most")
					require.Equal(t, Run{Start: want, Pages: min(end-want, most)}, set.RunFrom(want, most))
				}
				covered := make([]bool, bound)
				set.RunsIn(r, func(found Run) bool {
					for p := found.Start; p < found.End(); p++ {
						covered[p] = true
					}
					return true
				})
				for p := r.Start; p < r.End(); p++ {
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
				require.Equal(t, count, set.Count())
			},
		})
	})
}
