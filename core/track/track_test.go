package track

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Random operations are compared with sums over the blocks.
func TestCountersAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var totals Totals
		counters := NewCounters(true, &totals)
		free := uint64(0)
		var live []Block
		var inFlight []uint64
		var want Statistics
		t.Repeat(map[string]func(*rapid.T){
			"segment": func(t *rapid.T) {
				s := Segment{UsableBytes: rapid.Uint64Range(1, 1000).Draw(t, "usable"),
					UnusableBytes: rapid.Uint64Range(0, 9).Draw(t, "unusable")}
				counters.AddSegment(s)
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
				counters.Alloc(block)
				live = append(live, block)
				free -= block.AllocatedBytes
				want.Allocations++
			},
			"defer free": func(t *rapid.T) {
				if len(live) == 0 {
					t.Skip("none")
				}
				counters.DeferFree(live[0])
				inFlight = append(inFlight, live[0].AllocatedBytes)
				live = live[1:]
				want.Frees++
			},
			"deactivate": func(t *rapid.T) {
				if len(inFlight) == 0 {
					t.Skip("none")
				}
				counters.Deactivate(inFlight[0])
				free += inFlight[0]
				inFlight = inFlight[1:]
			},
			"fail": func(*rapid.T) { counters.Fail(); want.Failures++ },
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

				got := counters.Statistics()
				require.NoError(t, counters.Check())
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
	counters := NewCounters(false, &totals)
	counters.AddSegment(Segment{UsableBytes: 100})
	counters.Alloc(Block{RequestedBytes: 3, AllocatedBytes: 4})
	counters.Fail()
	got := counters.Statistics()
	require.EqualValues(t, 4, got.Active.Current)
	require.Zero(t, got.Active.Peak)
	require.Zero(t, got.Allocations+got.Failures)
	require.EqualValues(t, 100, totals.WithPeaks(got).Reserved.Peak, "the device's peaks are kept")
}

// Peaks are exact when nothing changes: the peaks of two owners that never have memory at
// the same time do not add up.
func TestTotalsPeakIsThePeakOfTheSum(t *testing.T) {
	var totals Totals
	a, b := NewCounters(true, &totals), NewCounters(true, &totals)
	for _, counters := range []*Counters{a, b} {
		counters.AddSegment(Segment{UsableBytes: 100})
		counters.Alloc(Block{RequestedBytes: 60, AllocatedBytes: 64})
		counters.DeferFree(Block{RequestedBytes: 60, AllocatedBytes: 64})
		counters.Deactivate(64)
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
			counters := NewCounters(true, &totals)
			counters.AddSegment(Segment{UsableBytes: 1000})
			for range 1000 {
				counters.Alloc(Block{RequestedBytes: 7, AllocatedBytes: 8})
				counters.DeferFree(Block{RequestedBytes: 7, AllocatedBytes: 8})
				counters.Deactivate(8)
			}
			counters.Statistics()
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
	tags.Add(number, block, 1)
	return number
}

func TestTags(t *testing.T) {
	var tags Tags
	block := Block{RequestedBytes: 3, AllocatedBytes: 4}
	kv := enter(t, &tags, "kv", block)
	require.Equal(t, kv, enter(t, &tags, "kv", block))
	weights := enter(t, &tags, "weights", Block{RequestedBytes: 100, AllocatedBytes: 128})
	require.Equal(t, "kv", tags.Name(kv))
	tags.Remove(kv, block, 1)
	uses := SumTags(append(tags.Uses(nil), TagUse{Tag: "kv", RequestedBytes: 1, AllocatedBytes: 1, Blocks: 1}))
	require.Equal(t, []TagUse{
		{Tag: "weights", RequestedBytes: 100, AllocatedBytes: 128, Blocks: 1},
		{Tag: "kv", RequestedBytes: 4, AllocatedBytes: 5, Blocks: 2},
	}, uses)
	tags.Remove(weights, Block{RequestedBytes: 100, AllocatedBytes: 128}, 1)
	tags.Remove(kv, block, 1)
	require.Empty(t, tags.Uses(nil))
}

// Inventing tags without end does not grow the table without end.
func TestTagTableIsBounded(t *testing.T) {
	var tags Tags
	block := Block{RequestedBytes: 1, AllocatedBytes: 1}
	for i := range 10 * idleTags {
		number := enter(t, &tags, fmt.Sprint("tag ", i), block)
		require.Equal(t, fmt.Sprint("tag ", i), tags.Name(number))
		tags.Remove(number, block, 1)
	}
	require.LessOrEqual(t, len(tags.loose), idleTags+1)
	require.LessOrEqual(t, len(tags.numbers), idleTags+1)
}

// A kept number stays, also that of a tag that has blocks under another number.
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
	tags.Add(kv, block, 1)
	require.Equal(t, []TagUse{{Tag: "kv", RequestedBytes: 6, AllocatedBytes: 8, Blocks: 2}}, SumTags(tags.Uses(nil)))
	tags.Remove(before, block, 1)
	tags.Remove(kv, block, 1)
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

func TestCountersDoNotUseTheGoHeap(t *testing.T) {
	var totals Totals
	var tags Tags
	counters := NewCounters(true, &totals)
	counters.AddSegment(Segment{UsableBytes: 1000})
	block := Block{RequestedBytes: 7, AllocatedBytes: 8}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		counters.Alloc(block)
		number, _ := tags.Number("kv")
		tags.Add(number, block, 1)
		tags.Remove(number, block, 1)
		counters.DeferFree(block)
		counters.Deactivate(8)
	}))
}

func TestCheckFindsEveryContradiction(t *testing.T) {
	require.Error(t, Statistics{Reserved: Gauge{Current: 1}}.Check())
	require.Error(t, Statistics{Allocated: Gauge{Current: 1}}.Check())
	require.Error(t, Statistics{LargestFreeBytes: 1}.Check())
	require.InDelta(t, 0.75, Statistics{Cached: Gauge{Current: 8}, LargestFreeBytes: 2}.Fragmentation(), 0)
	require.Zero(t, Statistics{}.Fragmentation())
}

// While Used is watched, it includes every change at once; before and after that, only
// what is published.
func TestWatchedTotalsAreExact(t *testing.T) {
	var totals Totals
	a, b := NewCounters(true, &totals), NewCounters(true, &totals)
	a.AddSegment(Segment{UsableBytes: 1000, UnusableBytes: 24})
	a.Alloc(Block{RequestedBytes: 90, AllocatedBytes: 100})
	require.EqualValues(t, 24, totals.Used())
	totals.Watch(true)
	a.Statistics()
	require.EqualValues(t, 124, totals.Used())
	a.Alloc(Block{RequestedBytes: 90, AllocatedBytes: 100})
	require.EqualValues(t, 224, totals.Used())
	a.DeferFree(Block{RequestedBytes: 90, AllocatedBytes: 100})
	require.EqualValues(t, 224, totals.Used())
	a.Deactivate(100)
	a.Free(Block{RequestedBytes: 90, AllocatedBytes: 100})
	require.EqualValues(t, 24, totals.Used())
	b.AddSegment(Segment{UsableBytes: 10})
	b.Activate(10)
	require.EqualValues(t, 34, totals.Used())
	totals.Watch(false)
	require.False(t, totals.Watched())
}

// With several pools, the peak of the sum has an error of at most driftBytes for each
// further pool.
func TestPeaksOfSeveralPoolsAreWithinTheirBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var totals Totals
		const room = uint64(1) << 40
		pools := rapid.IntRange(1, 4).Draw(t, "pools")
		var counters []*Counters
		var live []Block
		var owner []int
		for range pools {
			counters = append(counters, NewCounters(true, &totals))
			counters[len(counters)-1].AddSegment(Segment{UsableBytes: room})
		}
		now, peak := uint64(0), uint64(0)
		for range rapid.IntRange(1, 200).Draw(t, "operations") {
			if len(live) > 0 && rapid.Bool().Draw(t, "free") {
				at := rapid.IntRange(0, len(live)-1).Draw(t, "block")
				counters[owner[at]].Free(live[at])
				now -= live[at].AllocatedBytes
				live, owner = append(live[:at], live[at+1:]...), append(owner[:at], owner[at+1:]...)
				continue
			}
			block := Block{AllocatedBytes: rapid.Uint64Range(1, 3*driftBytes/2).Draw(t, "size")}
			block.RequestedBytes = block.AllocatedBytes
			who := rapid.IntRange(0, pools-1).Draw(t, "pool")
			counters[who].Alloc(block)
			live, owner = append(live, block), append(owner, who)
			now += block.AllocatedBytes
			peak = max(peak, now)
		}
		var sum Statistics
		for _, b := range counters {
			sum = sum.Plus(b.Statistics())
		}
		got := totals.WithPeaks(sum).Active
		require.Equal(t, now, got.Current)
		bound := uint64(pools-1) * driftBytes
		require.LessOrEqual(t, got.Peak, peak+bound)
		require.GreaterOrEqual(t, got.Peak+bound, peak)
	})
}

// The worst case for two pools: one pool rises and falls before the other one rises. The
// totals count its peak together with the other pool's present value.
func TestPeakOfTwoPoolsThatRiseInTurnIsWithinItsBound(t *testing.T) {
	var totals Totals
	const room = uint64(1) << 40
	a, b := NewCounters(true, &totals), NewCounters(true, &totals)
	a.AddSegment(Segment{UsableBytes: room})
	b.AddSegment(Segment{UsableBytes: room})
	block := func(n uint64) Block { return Block{RequestedBytes: n, AllocatedBytes: n} }
	a.Alloc(block(windowBytes))
	a.Statistics()
	a.Alloc(block(windowBytes - 1))
	a.Free(block(2*windowBytes - 2))
	b.Alloc(block(3 * driftBytes))
	b.Free(block(windowBytes))
	sum := a.Statistics().Plus(b.Statistics())
	got, peak := totals.WithPeaks(sum).Active.Peak, uint64(3*driftBytes+1)
	require.Greater(t, got, peak, "the estimate is of different moments")
	require.LessOrEqual(t, got, peak+driftBytes)
}

// Old counts of caches, and blocks that are returned and adopted in any order, cause no
// negative number and no contradiction.
func TestOutsideStaysConsistent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var totals Totals
		counters := NewCounters(true, &totals)
		counters.AddSegment(Segment{UsableBytes: 64 << 10})
		const size = 1024
		// The true contents of the caches, and the contents that the counters were given
		// last.
		var live, idle, own, free uint64 = 0, 0, 0, 64
		record := func() Outside {
			return Outside{RequestedBytes: live * 1000, LiveBytes: live * size, LiveBlocks: live,
				IdleBytes: idle * size, CachedBytes: idle * size}
		}
		t.Repeat(map[string]func(*rapid.T){
			"lease":  func(*rapid.T) { move(&free, &idle, func() { counters.Lease(size) }) },
			"return": func(*rapid.T) { move(&idle, &free, func() { counters.Return(size) }) },
			"alloc":  func(*rapid.T) { move(&idle, &live, func() {}) },
			"free":   func(*rapid.T) { move(&live, &idle, func() {}) },
			"adopt": func(*rapid.T) {
				move(&live, &own, func() { counters.Adopt(Block{RequestedBytes: 1000, AllocatedBytes: size}, size) })
			},
			"own": func(*rapid.T) {
				move(&free, &own, func() { counters.Alloc(Block{RequestedBytes: 1000, AllocatedBytes: size}) })
			},
			"drop": func(*rapid.T) {
				move(&own, &free, func() { counters.Free(Block{RequestedBytes: 1000, AllocatedBytes: size}) })
			},
			"learn": func(t *rapid.T) {
				counters.SetOutside(record())
				stats := counters.Statistics()
				require.EqualValues(t, (live+own)*1000, stats.Requested.Current)
				require.EqualValues(t, live+own, stats.LiveBlocks.Current)
			},
			"": func(t *rapid.T) {
				stats := counters.Statistics()
				stats.ThreadCachedBytes = 0
				require.NoError(t, stats.Check())
				require.LessOrEqual(t, stats.Cached.Peak, stats.Reserved.Current)
				require.LessOrEqual(t, stats.Active.Peak, stats.Reserved.Current)
				exact := stats.With(counters.Outside(), record(), true)
				require.NoError(t, exact.Check())
				require.EqualValues(t, (live+own)*size, exact.Active.Current)
				require.EqualValues(t, (idle+free)*size, exact.Cached.Current)
			},
		})
	})
}

// move moves one block from one place to another, if there is one.
func move(from, to *uint64, then func()) {
	if *from > 0 {
		*from--
		*to++
		then()
	}
}
