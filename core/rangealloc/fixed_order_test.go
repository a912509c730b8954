package rangealloc

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// naivePages is the reference model of where "fixed" places blocks: pages as plain
// slices, and the rules of the placement as loops over all of them.
type naivePages struct {
	live  [][]bool
	end   []uint64
	page  map[uint64]int
	batch map[uint64]bool
}

func newNaivePages(blocks, per uint64) *naivePages {
	n := &naivePages{page: map[uint64]int{}, batch: map[uint64]bool{}}
	for ; blocks > 0; blocks -= min(blocks, per) {
		n.live = append(n.live, make([]bool, min(blocks, per)))
	}
	n.end = make([]uint64, len(n.live))
	return n
}

func (n *naivePages) room(page int) (room int) {
	for _, live := range n.live[page] {
		if !live {
			room++
		}
	}
	return room
}

func (n *naivePages) empty() int {
	for page := range n.live {
		if n.room(page) == len(n.live[page]) {
			return page
		}
	}
	return -1
}

// partial returns the partly used pages, lowest first.
func (n *naivePages) partial() (pages []int) {
	for page := range n.live {
		if room := n.room(page); room > 0 && room < len(n.live[page]) {
			pages = append(pages, page)
		}
	}
	return pages
}

func (n *naivePages) best(end uint64, count int) int {
	best, least := -1, math.Inf(1)
	partial := n.partial()
	if end != 0 {
		for _, page := range partial[:min(len(partial), nearestOf)] {
			cost := float64(n.end[page]) - float64(end)
			if cost < 0 {
				cost *= -4
			}
			if n.room(page) >= count && cost < least {
				best, least = page, cost
			}
		}
	}
	for _, page := range partial {
		if best < 0 && n.room(page) >= count {
			best = page
		}
	}
	return best
}

// take returns the (page, index) pairs of the blocks, in order.
func (n *naivePages) take(page int, end uint64, count *int) (taken [][2]int) {
	if n.room(page) == len(n.live[page]) {
		n.end[page] = 0
	}
	n.end[page] = max(n.end[page], end)
	for index, live := range n.live[page] {
		if !live && *count > 0 {
			n.live[page][index] = true
			*count--
			taken = append(taken, [2]int{page, index})
		}
	}
	return taken
}

func (n *naivePages) alloc(group, end uint64, count, per int) (taken [][2]int) {
	page, batch := -1, count > 1 || n.batch[group]
	alone := group != 0 && !batch
	put := func(to int) {
		page = to
		taken = append(taken, n.take(page, end, &count)...)
	}
	if last, known := n.page[group]; known && group != 0 {
		if room := n.room(last); room > 0 && room < len(n.live[last]) {
			put(last)
		}
	}
	for count >= per && n.empty() >= 0 {
		put(n.empty())
	}
	for count > 0 {
		best := -1
		if !alone {
			best = n.best(end, count)
		}
		if best < 0 {
			best = n.empty()
		}
		if best < 0 {
			best = n.partial()[0]
		}
		put(best)
	}
	if group != 0 {
		n.page[group], n.batch[group] = page, batch
	}
	return taken
}

// For any sequence of frees and allocations, "fixed" places blocks where its rules state.
func TestFixedPlacesBlocksByItsRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		blocks := rapid.Uint64Range(1, 300).Draw(t, "blocks")
		per := rapid.SampledFrom([]uint64{1, 2, 4, 32, 64}).Draw(t, "blocks a page")
		s, err := New(nameFixed, Config{SizeBytes: blocks * 256, GranuleBytes: 256, BlockBytes: 256, PageBytes: per * 256})
		require.NoError(t, err)
		f := s.(*fixed)
		naive := newNaivePages(blocks, per)
		var live []uint64
		t.Repeat(map[string]func(*rapid.T){
			"alloc": func(t *rapid.T) {
				if len(live) == int(blocks) {
					t.Skip("all blocks are live")
				}
				count := rapid.IntRange(1, min(3*int(per), int(blocks)-len(live))).Draw(t, "count")
				group, end := rapid.Uint64Range(0, 5).Draw(t, "group"), rapid.Uint64Range(0, 40).Draw(t, "end")
				got := make([]Range, count)
				require.NoError(t, f.AllocBatch(Request{Size: 1, Align: 1, Group: group, End: end}, got))
				for i, want := range naive.alloc(group, end, count, int(per)) {
					offset := (uint64(want[0])*per + uint64(want[1])) * 256
					require.Equal(t, Range{Offset: offset, Size: 256, Slot: uint32(offset / 256)}, got[i], "block %d of %d", i, count)
					live = append(live, offset)
				}
			},
			"free": func(t *rapid.T) {
				if len(live) == 0 {
					t.Skip("nothing is live")
				}
				from := rapid.IntRange(0, len(live)-1).Draw(t, "from")
				to := rapid.IntRange(from+1, len(live)).Draw(t, "to")
				require.NoError(t, f.FreeBatch(live[from:to]))
				for _, offset := range live[from:to] {
					naive.live[offset/256/per][offset/256%per] = false
				}
				live = append(live[:from:from], live[to:]...)
			},
			"": func(t *rapid.T) { require.NoError(t, f.Check()) },
		})
	})
}

// A batch fills pages of its own, and the rests of several batches share one.
func TestFixedKeepsBatchesTogether(t *testing.T) {
	f := benchFixed(t, 64<<10) // 32 blocks in a page
	alloc := func(count int, r Request) []uint64 {
		got := make([]Range, count)
		r.Size, r.Align = 1, 1
		require.NoError(t, f.AllocBatch(r, got))
		pages := make([]uint64, count)
		for i := range got {
			pages[i] = got[i].Offset / (2 << 20)
		}
		return pages
	}
	runs := func(parts ...uint64) (pages []uint64) {
		for i := 0; i < len(parts); i += 2 {
			for range parts[i+1] {
				pages = append(pages, parts[i])
			}
		}
		return pages
	}
	require.Equal(t, runs(0, 32, 1, 32, 2, 6), alloc(70, Request{Group: 1}))
	require.Equal(t, runs(3, 32, 2, 20), alloc(52, Request{Group: 2}))
	require.Equal(t, runs(2, 1), alloc(1, Request{Group: 1}), "the page of the group is used first")
	require.Equal(t, runs(4, 7), alloc(7, Request{}), "no page in use holds seven more")
	require.Equal(t, runs(2, 3), alloc(3, Request{}), "the lowest page that holds three")
	require.Equal(t, runs(5, 1), alloc(1, Request{Group: 3}), "a group that is allocated block by block stays together")
	require.Equal(t, runs(2, 1), alloc(1, Request{}))

	// By expected end: pages of requests that end at 100 and at 200.
	g := benchFixed(t, 64<<10)
	f = g
	require.Equal(t, runs(0, 20), alloc(20, Request{End: 100}))
	require.Equal(t, runs(1, 20), alloc(20, Request{End: 200}))
	require.Equal(t, runs(1, 1), alloc(1, Request{End: 190}))
	require.Equal(t, runs(0, 1), alloc(1, Request{End: 110}))
	require.Equal(t, runs(1, 1), alloc(1, Request{End: 130}), "longer for a whole page counts four times")
}

// The reference is ordinary division.
func TestDivider(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 100), rapid.Uint64Range(math.MaxUint64-100, math.MaxUint64))
		n, by := number.Draw(t, "n"), max(number.Draw(t, "by"), 1)
		if rapid.Bool().Draw(t, "near a multiple") {
			n = n/by*by - rapid.Uint64Range(0, 1).Draw(t, "less")
		}
		quotient, rest := newDivider(by).divide(n)
		if quotient != n/by || rest != n%by {
			t.Fatalf("%d / %d is %d, rest %d, not %d, %d", n, by, quotient, rest, n/by, n%by)
		}
	})
}

// Blocks that do not fill a page exactly share several pages, and waste at most a
// sixteenth.
func TestFixedPages(t *testing.T) {
	for _, test := range []struct{ block, page, stride uint64 }{
		{32, 1024, 1024},
		{1024, 1024, 1024},
		{2048, 1024, 2048},
		{448, 1024, 4096}, // nine blocks in four pages
		{1536, 1024, 3072},
		{1000, 1024, 1024},
		{1025, 1024, 16 * 1024},
	} {
		require.Equal(t, test.stride, pageStride(1<<30, test.block, test.page), fmt.Sprint(test))
	}
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.Uint64Range(1, math.MaxUint64).Draw(t, "range")
		block := rapid.Uint64Range(1, length).Draw(t, "block")
		page := uint64(1) << rapid.UintRange(0, 63).Draw(t, "page bits")
		if stride := pageStride(length, block, page); stride != length {
			require.Zero(t, stride%page)
			require.LessOrEqual(t, stride%block, stride/16)
			require.GreaterOrEqual(t, stride, block)
		}
	})
}

// The reference model of each set is a map.
func TestPageSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const count = 3
		s, model := newPageSets(count), [count]map[uint32]bool{{}, {}, {}}
		number := rapid.OneOf(rapid.Uint32Range(0, 300_000), rapid.Uint32Range(0, 130))
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			set, page := rapid.IntRange(0, count-1).Draw(t, "set"), number.Draw(t, "page")
			s.reach(page)
			if rapid.Bool().Draw(t, "add") {
				s.add(set, page)
				model[set][page] = true
			} else {
				s.remove(set, page)
				delete(model[set], page)
			}
			require.NoError(t, s.check(uint32(s.pages)))
			least, next := uint32(math.MaxUint32), uint32(math.MaxUint32)
			for member := range model[set] {
				least = min(least, member)
				if member > page {
					next = min(next, member)
				}
			}
			first, ok := s.first(set)
			require.Equal(t, len(model[set]) > 0, ok)
			require.True(t, !ok || first == least)
			after, ok := s.after(set, page)
			require.Equal(t, next != math.MaxUint32, ok)
			require.True(t, !ok || after == next)
			require.Equal(t, model[set][page], s.has(set, page))
		}
	})
}
