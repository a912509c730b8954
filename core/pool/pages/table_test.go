package pages

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/offheap"
)

const pageBytes = 1 << 12

// span is a block.
type span struct{ offset, size uint64 }

// naive is the reference model of a table: the mapped pages, and all blocks.
type naive struct {
	mapped map[uint64]device.Page
	// large has the first pages of large ones.
	large  map[uint64]bool
	blocks []span
}

// largePages is the number of pages of a large one.
const largePages = 4

// whole returns the pages that are dropped with a page.
func (n *naive) whole(page uint64) Run {
	if first := page / largePages * largePages; n.large[first] {
		return Run{first, first + largePages - 1}
	}
	return Run{page, page}
}

// splits reports whether a block would occupy only a part of a large page.
func (n *naive) splits(offset, size uint64) bool {
	for page := offset / pageBytes; page <= (offset+size-1)/pageBytes; page++ {
		if whole := n.whole(page); whole.Count() > 1 &&
			(whole.First*pageBytes < offset || (whole.Last+1)*pageBytes > offset+size) {
			return true
		}
	}
	return false
}

// of returns how many blocks have a part in a page, and how many start or end in it.
func (n *naive) of(page uint64) (touch, ends uint64) {
	for _, b := range n.blocks {
		first, last := b.offset/pageBytes, (b.offset+b.size-1)/pageBytes
		if first <= page && page <= last {
			touch++
			if first == page || last == page {
				ends++
			}
		}
	}
	return touch, ends
}

func (n *naive) isMapped(offset, size uint64) bool {
	for page := offset / pageBytes; page <= (offset+size-1)/pageBytes; page++ {
		if n.mapped[page] == 0 {
			return false
		}
	}
	return true
}

func (n *naive) isFree(offset, size uint64) bool {
	return !slices.ContainsFunc(n.blocks, func(b span) bool {
		return offset < b.offset+b.size && b.offset < offset+size
	})
}

// agrees compares all results of a table with the reference model.
func agrees(t *testing.T, n *naive, table *Table, counts *Counts) {
	t.Helper()
	var idle []uint64
	busy := uint64(0)
	for page := range table.Len() {
		touch, ends := n.of(page)
		require.Equal(t, n.mapped[page] != 0, table.IsMapped(page), "page %d", page)
		require.Equal(t, touch > 0, table.IsBusy(page), "page %d", page)
		require.Equal(t, ends, table.Ends(page), "page %d", page)
		require.Equal(t, n.mapped[page], table.Page(page), "page %d", page)
		require.Equal(t, n.whole(page), table.Whole(page), "page %d", page)
		if touch > 0 {
			busy++
		} else if n.mapped[page] != 0 {
			idle = append(idle, page)
		}
	}
	require.EqualValues(t, len(idle), counts.Idle)
	require.LessOrEqual(t, counts.Low, counts.Idle)
	require.EqualValues(t, len(n.mapped), table.MappedCount())
	require.Equal(t, busy, table.BusyCount())
	require.Equal(t, idle, slices.Collect(table.Idle()))
	slices.Reverse(idle)
	require.Equal(t, idle, slices.Collect(table.IdleFromTheTop()))
	whole := Run{0, max(table.Len(), 1) + 3}
	var pages []uint64
	for _, run := range table.Mapped() {
		for page := run.First; page <= run.Last; page++ {
			pages = append(pages, page)
		}
	}
	require.Len(t, pages, len(n.mapped))
	require.True(t, slices.IsSorted(pages))
	missing := uint64(0)
	for run := range table.Missing(whole) {
		missing += run.Count()
		for page := run.First; page <= run.Last; page++ {
			require.Zero(t, n.mapped[page])
		}
	}
	require.Equal(t, whole.Count()-uint64(len(n.mapped)), missing)
	agreeStretches(t, n, table)
}

// agreeStretches compares the mapped parts of a range in steps of 64 bytes.
func agreeStretches(t *testing.T, n *naive, table *Table) {
	t.Helper()
	const step = 64
	from, to := uint64(7*step), table.Len()*pageBytes+pageBytes
	seen, small := map[uint64]bool{}, map[uint64]bool{}
	note := func(in map[uint64]bool) func(offset, length uint64) {
		return func(offset, length uint64) {
			for at := offset; at < offset+length; at += step {
				in[at] = true
			}
		}
	}
	table.EachMapped(from, to-from, note(seen))
	table.EachSmall(from, to-from, note(small))
	for at := from; at < to; at += step {
		if want := n.mapped[at/pageBytes] != 0; want != seen[at] {
			require.Equal(t, want, seen[at], "byte %d", at)
		}
		if want := n.mapped[at/pageBytes] != 0 && n.whole(at/pageBytes).Count() == 1; want != small[at] {
			require.Equal(t, want, small[at], "byte %d", at)
		}
	}
}

// TestTableAgreesWithAReferenceModel maps, touches, releases and drops at random.
func TestTableAgreesWithAReferenceModel(t *testing.T) {
	for seed := range uint64(24) {
		random := rand.New(rand.NewPCG(seed, 7))
		counts := &Counts{}
		large := seed % 2 * largePages * pageBytes
		table, n := New(pageBytes, large, counts), &naive{mapped: map[uint64]device.Page{}, large: map[uint64]bool{}}
		const last = 150
		serial := device.Page(0)
		for step := range 400 {
			switch random.IntN(6) {
			case 0:
				first := random.Uint64N(last)
				run := Run{first, min(first+random.Uint64N(70), last)}
				require.NoError(t, table.Reach(run.Last))
				for first := range table.Bare(run.First*pageBytes+random.Uint64N(2)*64, run.Count()*pageBytes-64*random.Uint64N(2)) {
					if first+largePages-1 > run.Last || random.IntN(3) == 0 {
						continue
					}
					serial++
					table.SetLarge(first, serial)
					n.large[first] = true
					for page := first; page < first+largePages; page++ {
						require.Zero(t, n.mapped[page])
						n.mapped[page] = serial
					}
				}
				for missing := range table.Missing(run) {
					pages := make([]device.Page, missing.Count())
					for i := range pages {
						serial++
						pages[i] = serial
						n.mapped[missing.First+uint64(i)] = serial
					}
					table.Set(missing.First, pages)
				}
			case 1:
				counts.BeginWindow()
				for page := range table.Idle() {
					if random.IntN(8) == 0 {
						require.Equal(t, n.mapped[page], table.Drop(page))
						n.drop(page)
					}
				}
			case 2, 3:
				size := 64 * (1 + random.Uint64N([...]uint64{3, 100, 700}[random.IntN(3)]))
				if random.IntN(3) == 0 {
					size = pageBytes * (1 + random.Uint64N(3+large/pageBytes))
				}
				offset := 64 * random.Uint64N(last*pageBytes/64)
				if random.IntN(2) == 0 {
					offset -= offset % pageBytes
				}
				count := 1 + random.Uint64N(6)
				touchSome(t, n, table, offset, size, count)
			default:
				releaseSome(random, n, table)
			}
			if step%10 == 9 {
				agrees(t, n, table, counts)
			}
		}
		table.Close()
	}
}

// drop removes a page, and the others of a large one.
func (n *naive) drop(page uint64) {
	whole := n.whole(page)
	for at := whole.First; at <= whole.Last; at++ {
		delete(n.mapped, at)
	}
	delete(n.large, whole.First)
}

func touchSome(t *testing.T, n *naive, table *Table, offset, size, count uint64) {
	t.Helper()
	if !n.isFree(offset, size*count) {
		return
	}
	want := n.isMapped(offset, size*count)
	for i := range count {
		want = want && !n.splits(offset+i*size, size)
	}
	var split []Run
	for page := range table.Split(offset, size, count) {
		split = append(split, table.Whole(page))
	}
	for page := offset / pageBytes; page <= (offset+size*count-1)/pageBytes; page++ {
		cut := false
		for i := range count {
			from, end := offset+i*size, offset+(i+1)*size
			if from < (page+1)*pageBytes && page*pageBytes < end {
				whole := n.whole(page)
				cut = cut || whole.Count() > 1 && (whole.First*pageBytes < from || (whole.Last+1)*pageBytes > end)
			}
		}
		require.Equal(t, cut, slices.Contains(split, n.whole(page)), "page %d", page)
	}
	if count == 1 {
		require.Equal(t, want, table.Touch(offset, size))
	} else {
		require.Equal(t, want, table.TouchMany(offset, size, count))
	}
	for i := uint64(0); want && i < count; i++ {
		n.blocks = append(n.blocks, span{offset + i*size, size})
	}
}

// releaseSome ends one block, or a run of adjacent blocks of one size.
func releaseSome(random *rand.Rand, n *naive, table *Table) {
	if len(n.blocks) == 0 {
		return
	}
	at := random.IntN(len(n.blocks))
	first, count := n.blocks[at], 1
	for at+count < len(n.blocks) && n.blocks[at+count] == (span{first.offset + uint64(count)*first.size, first.size}) {
		count++
	}
	n.blocks = slices.Delete(n.blocks, at, at+count)
	if count == 1 {
		table.Release(first.offset, first.size)
	} else {
		table.ReleaseMany(first.offset, first.size, uint64(count))
	}
}

func TestTableThatCannotGrowIsUnchanged(t *testing.T) {
	if !offheap.Pages {
		t.Skip("tables are on the Go heap")
	}
	table := New(pageBytes, 0, &Counts{})
	require.NoError(t, table.Reach(10))
	long := table.Len()
	before := offheap.SetLimit(offheap.Mapped())
	defer offheap.SetLimit(before)
	require.ErrorIs(t, table.Reach(1<<26), device.CodeResourceExhausted)
	require.Equal(t, long, table.Len())
	require.False(t, table.Touch(0, 64))
	table.Close()
}
