package vmm

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// bitRuns is the oracle of freeRuns: one bool a page.
type bitRuns []bool

func (b bitRuns) each(fn func(run)) {
	for at := 0; at < len(b); {
		end := at
		for end < len(b) && !b[end] {
			end++
		}
		if end > at {
			fn(run{start: uint64(at), pages: uint64(end - at)})
		}
		at = max(end, at+1)
	}
}

func (b bitRuns) firstFit(pages uint64) (first uint64, ok bool) {
	b.each(func(r run) {
		if !ok && r.pages >= pages {
			first, ok = r.start, true
		}
	})
	return first, ok
}

func (b bitRuns) all(r run, taken bool) bool {
	for _, bit := range b[r.start:r.end()] {
		if bit != taken {
			return false
		}
	}
	return true
}

func (b bitRuns) set(r run, taken bool) {
	for at := r.start; at < r.end(); at++ {
		b[at] = taken
	}
}

// list is the runs in order of address.
func (f *freeRuns) list(at int32) []run {
	if at == 0 {
		return nil
	}
	n := f.nodes[at]
	return append(append(f.list(n.left), n.run), f.list(n.right)...)
}

func TestFreeRunsAreThoseOfABitmap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pages := rapid.Uint64Range(1, 60).Draw(t, "pages")
		oracle, runs := make(bitRuns, pages), newFreeRuns(pages)
		draw := func() run {
			first := rapid.Uint64Range(0, pages-1).Draw(t, "first")
			return run{start: first, pages: rapid.Uint64Range(1, pages-first).Draw(t, "length")}
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				r := draw()
				require.Equal(t, oracle.all(r, false), runs.take(r))
				if oracle.all(r, false) {
					oracle.set(r, true)
				}
			},
			"put": func(t *rapid.T) {
				if r := draw(); oracle.all(r, true) {
					oracle.set(r, false)
					runs.put(r)
				}
			},
			"": func(t *rapid.T) {
				var want []run
				longest, free := uint64(0), uint64(0)
				oracle.each(func(r run) {
					want = append(want, r)
					longest, free = max(longest, r.pages), free+r.pages
				})
				require.Equal(t, want, runs.list(runs.root))
				require.Equal(t, longest, runs.longest())
				require.Equal(t, free, runs.free)
				for n := uint64(1); n <= pages; n++ {
					wantFirst, wantOK := oracle.firstFit(n)
					first, ok := runs.firstFit(n)
					require.Equal(t, wantOK, ok)
					require.Equal(t, wantFirst, first)
				}
			},
		})
	})
}

func TestFreeRunsUseTheirNodesAgain(t *testing.T) {
	runs := newFreeRuns(1 << 31)
	for round := range 3 {
		for at := uint64(0); at < 1000; at++ {
			require.True(t, runs.take(run{start: 2 * at, pages: 1}))
		}
		require.Equal(t, uint64(1<<31-1000), runs.free, "round %d", round)
		for at := uint64(0); at < 1000; at++ {
			runs.put(run{start: 2 * at, pages: 1})
		}
		require.Equal(t, []run{{pages: 1 << 31}}, runs.list(runs.root))
	}
	require.Less(t, len(runs.nodes), 1010)
}
