package track

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Random books against sums over the blocks themselves.
func TestBooksAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var totals Totals
		books := NewBooks(true, &totals)
		free := uint64(0)
		var live []Block
		var inFlight []uint64
		var want Statistics
		t.Repeat(map[string]func(*rapid.T){
			"segment": func(t *rapid.T) {
				s := Segment{UsableBytes: rapid.Uint64Range(1, 1000).Draw(t, "usable"),
					UnusableBytes: rapid.Uint64Range(0, 9).Draw(t, "unusable")}
				books.AddSegment(s)
				free += s.UsableBytes
				want.Reserved.Current += s.UsableBytes + s.UnusableBytes
				want.Unusable.Current += s.UnusableBytes
				want.Segments.Current++
			},
			"allocate": func(t *rapid.T) {
				if free == 0 {
					t.Skip("full")
				}
				block := Block{AllocatedBytes: rapid.Uint64Range(1, free).Draw(t, "allocated")}
				block.RequestedBytes = rapid.Uint64Range(1, block.AllocatedBytes).Draw(t, "requested")
				books.Allocate(block)
				live = append(live, block)
				free -= block.AllocatedBytes
				want.Allocations++
			},
			"retire": func(t *rapid.T) {
				if len(live) == 0 {
					t.Skip("none")
				}
				books.Retire(live[0])
				inFlight = append(inFlight, live[0].AllocatedBytes)
				live = live[1:]
				want.Frees++
			},
			"land": func(t *rapid.T) {
				if len(inFlight) == 0 {
					t.Skip("none")
				}
				books.Land(inFlight[0])
				free += inFlight[0]
				inFlight = inFlight[1:]
			},
			"fail": func(*rapid.T) { books.Fail(); want.Failures++ },
			"": func(t *rapid.T) {
				var sum Statistics
				for _, block := range live {
					sum.Requested.Current += block.RequestedBytes
					sum.Allocated.Current += block.AllocatedBytes
				}
				sum.Active.Current = sum.Allocated.Current
				for _, bytes := range inFlight {
					sum.Active.Current += bytes
				}
				sum.Cached.Current, sum.LiveBlocks.Current = free, uint64(len(live))
				sum.Reserved, sum.Unusable, sum.Segments = want.Reserved, want.Unusable, want.Segments
				sum.Allocations, sum.Frees, sum.Failures = want.Allocations, want.Frees, want.Failures

				got := books.Statistics()
				require.NoError(t, books.Check())
				expected := sum.gauges()
				before := want.gauges()
				for i := range before {
					before[i].Peak = max(before[i].Peak, expected[i].Current)
					expected[i].Peak = before[i].Peak
				}
				require.Equal(t, sum, got)
				require.Equal(t, got, totals.WithPeaks(got))
				require.Equal(t, got.Active.Current+got.Unusable.Current, totals.Used())
			},
		})
	})
}

func TestWithoutHistory(t *testing.T) {
	var totals Totals
	books := NewBooks(false, &totals)
	books.AddSegment(Segment{UsableBytes: 100})
	books.Allocate(Block{RequestedBytes: 3, AllocatedBytes: 4})
	books.Fail()
	got := books.Statistics()
	require.EqualValues(t, 4, got.Active.Current)
	require.Zero(t, got.Active.Peak)
	require.Zero(t, got.Allocations+got.Failures)
	require.EqualValues(t, 100, totals.WithPeaks(got).Reserved.Peak, "the device's peaks are kept")
}

// Peaks are exact at rest: two owners that never overlap do not add up.
func TestTotalsPeakIsOfTheSum(t *testing.T) {
	var totals Totals
	a, b := NewBooks(true, &totals), NewBooks(true, &totals)
	for _, books := range []*Books{a, b} {
		books.AddSegment(Segment{UsableBytes: 100})
		books.Allocate(Block{RequestedBytes: 60, AllocatedBytes: 64})
		books.Retire(Block{RequestedBytes: 60, AllocatedBytes: 64})
		books.Land(64)
	}
	sum := a.Statistics().Plus(b.Statistics())
	require.EqualValues(t, 128, sum.Active.Peak, "Plus is an upper bound")
	sum = totals.WithPeaks(sum)
	require.EqualValues(t, 64, sum.Active.Peak)
	require.EqualValues(t, 200, sum.Reserved.Peak)
	require.EqualValues(t, 2, sum.Allocations)
}

func TestTotalsFromManyThreads(t *testing.T) {
	var totals Totals
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			books := NewBooks(true, &totals)
			books.AddSegment(Segment{UsableBytes: 1000})
			for range 1000 {
				books.Allocate(Block{RequestedBytes: 7, AllocatedBytes: 8})
				books.Retire(Block{RequestedBytes: 7, AllocatedBytes: 8})
				books.Land(8)
			}
			books.Statistics()
		})
	}
	wait.Wait()
	got := totals.WithPeaks(Statistics{})
	require.EqualValues(t, 8000, got.Reserved.Peak)
	require.LessOrEqual(t, got.Active.Peak, uint64(64))
	require.GreaterOrEqual(t, got.Active.Peak, uint64(8))
	require.Zero(t, totals.Used())
}

func enter(t *testing.T, tags *Tags, tag string, block Block) uint32 {
	number, ok := tags.Number(tag)
	require.True(t, ok)
	tags.Enter(number, block, 1)
	return number
}

func TestTags(t *testing.T) {
	var tags Tags
	block := Block{RequestedBytes: 3, AllocatedBytes: 4}
	kv := enter(t, &tags, "kv", block)
	require.Equal(t, kv, enter(t, &tags, "kv", block))
	weights := enter(t, &tags, "weights", Block{RequestedBytes: 100, AllocatedBytes: 128})
	require.Equal(t, "kv", tags.Name(kv))
	tags.Leave(kv, block, 1)
	uses := SumTags(append(tags.Uses(nil), TagUse{Tag: "kv", RequestedBytes: 1, AllocatedBytes: 1, Blocks: 1}))
	require.Equal(t, []TagUse{
		{Tag: "weights", RequestedBytes: 100, AllocatedBytes: 128, Blocks: 1},
		{Tag: "kv", RequestedBytes: 4, AllocatedBytes: 5, Blocks: 2},
	}, uses)
	tags.Leave(weights, Block{RequestedBytes: 100, AllocatedBytes: 128}, 1)
	tags.Leave(kv, block, 1)
	require.Empty(t, tags.Uses(nil))
}

// Made-up tags without end do not grow the table without end.
func TestTagTableIsBounded(t *testing.T) {
	var tags Tags
	block := Block{RequestedBytes: 1, AllocatedBytes: 1}
	for i := range 10 * idleTags {
		number := enter(t, &tags, fmt.Sprint("tag ", i), block)
		require.Equal(t, fmt.Sprint("tag ", i), tags.Name(number))
		tags.Leave(number, block, 1)
	}
	require.LessOrEqual(t, len(tags.loose), idleTags+1)
	require.LessOrEqual(t, len(tags.numbers), idleTags+1)
}

// A kept number stays, also of a tag that has blocks under another one.
func TestKeptTags(t *testing.T) {
	var tags Tags
	zero, ok := tags.Keep("")
	require.True(t, ok)
	require.Zero(t, zero)
	block := Block{RequestedBytes: 3, AllocatedBytes: 4}
	before := enter(t, &tags, "kv", block)
	require.False(t, tags.IsKept(before))
	kv, ok := tags.Keep("kv")
	require.True(t, ok)
	require.EqualValues(t, 1, kv)
	tags.Enter(kv, block, 1)
	require.Equal(t, []TagUse{{Tag: "kv", RequestedBytes: 6, AllocatedBytes: 8, Blocks: 2}}, SumTags(tags.Uses(nil)))
	tags.Leave(before, block, 1)
	tags.Leave(kv, block, 1)
	for i := 2; i < MaxKeptTags; i++ {
		number, ok := tags.Keep(fmt.Sprint("tag ", i))
		require.True(t, ok)
		require.EqualValues(t, i, number)
	}
	_, ok = tags.Keep("one too many")
	require.False(t, ok)
	again, ok := tags.Keep("kv")
	require.True(t, ok, "a known one still has its number")
	require.Equal(t, kv, again)
	require.Equal(t, "kv", tags.Name(kv))
}

func TestBooksDoNotAllocate(t *testing.T) {
	var totals Totals
	var tags Tags
	books := NewBooks(true, &totals)
	books.AddSegment(Segment{UsableBytes: 1000})
	block := Block{RequestedBytes: 7, AllocatedBytes: 8}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		books.Allocate(block)
		number, _ := tags.Number("kv")
		tags.Enter(number, block, 1)
		tags.Leave(number, block, 1)
		books.Retire(block)
		books.Land(8)
	}))
}

func TestCheckFindsEveryContradiction(t *testing.T) {
	require.Error(t, Statistics{Reserved: Gauge{Current: 1}}.Check())
	require.Error(t, Statistics{Allocated: Gauge{Current: 1}}.Check())
	require.Error(t, Statistics{LargestFreeBytes: 1}.Check())
	require.InDelta(t, 0.75, Statistics{Cached: Gauge{Current: 8}, LargestFreeBytes: 2}.Fragmentation(), 0)
	require.Zero(t, Statistics{}.Fragmentation())
}
