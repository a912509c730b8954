package pageset

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// bitRuns is the reference model of FreeRuns: one bool for each page.
type bitRuns []bool

func (b bitRuns) each(fn func(Run)) {
	for at := 0; at < len(b); {
		end := at
		for end < len(b) && !b[end] {
			end++
		}
		if end > at {
			fn(Run{Start: uint64(at), Pages: uint64(end - at)})
		}
		at = max(end, at+1)
	}
}

func (b bitRuns) firstFit(pages uint64) (first uint64, ok bool) {
	b.each(func(r Run) {
		if !ok && r.Pages >= pages {
			first, ok = r.Start, true
		}
	})
	return first, ok
}

func (b bitRuns) all(r Run, taken bool) bool {
	for _, bit := range b[r.Start:r.End()] {
		if bit != taken {
			return false
		}
	}
	return true
}

func (b bitRuns) set(r Run, taken bool) {
	for at := r.Start; at < r.End(); at++ {
		b[at] = taken
	}
}

// list returns the runs in order of address.
func (f *FreeRuns) list(at int32) []Run {
	if at == 0 {
		return nil
	}
	n := f.nodes[at]
	return append(append(f.list(n.left), n.Run), f.list(n.right)...)
}

func TestFreeRunsAreThoseOfABitmap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pages := rapid.Uint64Range(1, 60).Draw(t, "pages")
		oracle, runs := make(bitRuns, pages), NewFreeRuns(pages)
		draw := func() Run {
			first := rapid.Uint64Range(0, pages-1).Draw(t, "first")
			return Run{Start: first, Pages: rapid.Uint64Range(1, pages-first).Draw(t, "length")}
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				r := draw()
				require.Equal(t, oracle.all(r, false), runs.Take(r))
				if oracle.all(r, false) {
					oracle.set(r, true)
				}
			},
			"put": func(t *rapid.T) {
				if r := draw(); oracle.all(r, true) {
					oracle.set(r, false)
					runs.Put(r)
				}
			},
			"": func(t *rapid.T) {
				var want []Run
				longest, free := uint64(0), uint64(0)
				oracle.each(func(r Run) {
					want = append(want, r)
					longest, free = max(longest, r.Pages), free+r.Pages
				})
				require.Equal(t, want, runs.list(runs.root))
				require.Equal(t, longest, runs.Longest())
				require.Equal(t, free, runs.Pages())
				for n := uint64(1); n <= pages; n++ {
					wantFirst, wantOK := oracle.firstFit(n)
					first, ok := runs.FirstFit(n)
					require.Equal(t, wantOK, ok)
					require.Equal(t, wantFirst, first)
				}
			},
		})
	})
}

func TestFreeRunsReuseTheirNodes(t *testing.T) {
	runs := NewFreeRuns(1 << 31)
	for round := range 3 {
		for at := uint64(0); at < 1000; at++ {
			require.True(t, runs.Take(Run{Start: 2 * at, Pages: 1}))
		}
		require.Equal(t, uint64(1<<31-1000), runs.Pages(), "round %d", round)
		for at := uint64(0); at < 1000; at++ {
			runs.Put(Run{Start: 2 * at, Pages: 1})
		}
		require.Equal(t, []Run{{Pages: 1 << 31}}, runs.list(runs.root))
	}
	require.Less(t, len(runs.nodes), 1010)
}
