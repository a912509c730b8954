package largeblocks

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/lending"
	"ferrum_mem/core/pool/pages"
)

const pageBytes = 4096

// pageTwins are two tables of pages that get the same calls: one in Go, and one that C uses
// as long as it is lent.
type pageTwins struct {
	t            *rapid.T
	plain, lent  *pages.Table
	counts       [2]pages.Counts
	loan         lending.Pages
	out          bool
	large, calls int
}

func (w *pageTwins) both(call func(*pages.Table)) {
	w.absorb()
	call(w.plain)
	call(w.lent)
}

func (w *pageTwins) absorb() {
	if w.out {
		w.lent.Absorb(&w.loan)
		w.out = false
	}
}

func (w *pageTwins) lend() {
	if !w.out {
		require.True(w.t, w.lent.Lend(&w.loan))
		w.loan.IdleMost = math.MaxUint64
		w.out = true
	}
}

// add maps pages that are not mapped. Both tables are lent afterwards, because a table that
// was lent grows by other steps.
func (w *pageTwins) add(run pages.Run) {
	w.both(func(table *pages.Table) {
		require.NoError(w.t, table.Reach(run.Last))
		for missing := range table.Missing(run) {
			mapped := make([]device.Page, missing.Count())
			for i := range mapped {
				mapped[i] = device.Page(1 + missing.First + uint64(i))
			}
			table.Set(missing.First, mapped)
		}
		var loan lending.Pages
		require.True(w.t, table.Lend(&loan))
		table.Absorb(&loan)
	})
}

// addLarge maps a large page, if nothing is mapped there.
func (w *pageTwins) addLarge(first uint64) {
	w.both(func(table *pages.Table) {
		last := first + uint64(w.large) - 1
		require.NoError(w.t, table.Reach(last))
		for page := first; page <= last; page++ {
			if table.IsMapped(page) {
				return
			}
		}
		table.SetLarge(first, device.Page(1+first))
	})
}

func (w *pageTwins) touch(offset, size uint64) bool {
	w.lend()
	want, got := w.plain.Touch(offset, size), touch(&w.loan, offset, size)
	require.Equal(w.t, want, got, "%d bytes at %d", size, offset)
	if got {
		w.calls++
	}
	return got
}

func (w *pageTwins) release(offset, size uint64) {
	w.lend()
	was := w.counts[0].Idle
	w.plain.Release(offset, size)
	if more := w.counts[0].Idle - was; more > 0 {
		w.loan.IdleMost = w.loan.Idle + more - 1
		before := w.loan
		require.False(w.t, release(&w.loan, offset, size), "%d pages more are too many", more)
		require.Equal(w.t, before, w.loan)
		w.loan.IdleMost++
	}
	require.True(w.t, release(&w.loan, offset, size))
	w.loan.IdleMost = math.MaxUint64
}

// same compares the tables page by page.
func (w *pageTwins) same() {
	w.absorb()
	require.Equal(w.t, w.counts[0], w.counts[1])
	require.Equal(w.t, w.plain.Len(), w.lent.Len())
	for page := range w.plain.Len() {
		require.Equal(w.t, w.plain.IsMapped(page), w.lent.IsMapped(page), "page %d", page)
		require.Equal(w.t, w.plain.IsBusy(page), w.lent.IsBusy(page), "page %d", page)
		require.Equal(w.t, w.plain.Ends(page), w.lent.Ends(page), "page %d", page)
	}
}

// C counts blocks in pages as Go does: the pages that are busy, the idle ones and their
// lowest number, and the blocks that it rejects. Blocks share pages or have many, pages are
// missing, and the last page of the table is used.
func TestPagesEqualThoseOfGo(t *testing.T) {
	skipWithoutPages(t)
	calls := 0
	rapid.Check(t, func(t *rapid.T) {
		w := &pageTwins{t: t, large: rapid.SampledFrom([]int{0, 0, 4}).Draw(t, "pages in a large one")}
		w.plain = pages.New(pageBytes, uint64(w.large)*pageBytes, &w.counts[0])
		w.lent = pages.New(pageBytes, uint64(w.large)*pageBytes, &w.counts[1])
		defer w.plain.Close()
		defer w.lent.Close()
		w.add(pages.Run{First: 0, Last: rapid.OneOf(rapid.Uint64Range(0, 300), rapid.Just(uint64(255))).Draw(t, "first pages")})
		end := func() uint64 { return w.plain.Len() * pageBytes }
		type span struct{ offset, size uint64 }
		var live []span
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			switch n := rapid.IntRange(0, 39).Draw(t, "call"); {
			case n < 18:
				offset := rapid.OneOf(rapid.Uint64Range(0, end()-1), rapid.Uint64Range(end()-min(end(), 3*pageBytes), end()-1)).Draw(t, "offset")
				size := rapid.OneOf(rapid.Uint64Range(1, 3*pageBytes), rapid.Uint64Range(1, 200*pageBytes)).Draw(t, "size")
				if rapid.IntRange(0, 3).Draw(t, "up to the end") == 0 {
					size = end() - offset
				}
				b := span{offset, size}
				overlaps := slices.ContainsFunc(live, func(other span) bool {
					return b.offset < other.offset+other.size && other.offset < b.offset+b.size
				})
				if !overlaps && w.touch(b.offset, b.size) {
					live = append(live, b)
				}
			case n < 32:
				if len(live) > 0 {
					at := rapid.IntRange(0, len(live)-1).Draw(t, "block")
					w.release(live[at].offset, live[at].size)
					live = slices.Delete(live, at, at+1)
				}
			case n < 34:
				first := rapid.Uint64Range(0, w.plain.Len()).Draw(t, "first")
				w.add(pages.Run{First: first, Last: first + rapid.Uint64Range(0, 100).Draw(t, "more")})
			case n == 34 && w.large != 0:
				w.addLarge(rapid.Uint64Range(0, w.plain.Len()/uint64(w.large)).Draw(t, "large page") * uint64(w.large))
			case n < 37:
				page := rapid.Uint64Range(0, w.plain.Len()-1).Draw(t, "page")
				w.absorb()
				if w.plain.IsMapped(page) && isIdle(w.plain, w.plain.Whole(page)) {
					w.both(func(table *pages.Table) { table.Drop(page) })
				}
			case n == 37:
				w.same()
				w.counts[0].BeginWindow()
				w.counts[1].BeginWindow()
			default:
				w.same()
			}
		}
		w.same()
		calls += w.calls
	})
	require.Positive(t, calls)
}

func isIdle(table *pages.Table, run pages.Run) bool {
	for page := run.First; page <= run.Last; page++ {
		if table.IsBusy(page) {
			return false
		}
	}
	return true
}
