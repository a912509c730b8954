package plan

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

func TestPlaceNothing(t *testing.T) {
	p := place(t, nil, Options{Steps: 10})
	assert.Zero(t, p.ArenaBytes)
	assert.Empty(t, p.OffsetsBytes)
	assert.True(t, p.Optimal())
}

// The largest buffer is placed first, then each at the lowest free offset.
func TestGreedyPlacesLargestFirst(t *testing.T) {
	p := place(t, []Buffer{
		{Lower: 0, Upper: 2, SizeBytes: 2},
		{Lower: 1, Upper: 3, SizeBytes: 5},
		{Lower: 2, Upper: 4, SizeBytes: 3},
		{Lower: 3, Upper: 4, SizeBytes: 2},
	}, Options{})
	assert.Equal(t, []uint64{5, 0, 5, 0}, p.OffsetsBytes)
	assert.EqualValues(t, 8, p.ArenaBytes)
	assert.EqualValues(t, 8, p.PeakBytes)
	assert.Zero(t, p.Steps)
}

// A buffer that ends when another begins may share its bytes.
func TestLifetimesExcludeTheirEnd(t *testing.T) {
	p := place(t, []Buffer{{Lower: 0, Upper: 5, SizeBytes: 8}, {Lower: 5, Upper: 6, SizeBytes: 8}}, Options{})
	assert.EqualValues(t, 8, p.ArenaBytes)
}

func TestAlignments(t *testing.T) {
	p := place(t, []Buffer{
		{Lower: 0, Upper: 9, SizeBytes: 100, AlignmentBytes: 64},
		{Lower: 0, Upper: 9, SizeBytes: 65, AlignmentBytes: 64},
		{Lower: 2, Upper: 4, SizeBytes: 1, AlignmentBytes: 256},
	}, Options{Steps: 1000})
	assert.EqualValues(t, 320, p.ArenaBytes, "sizes are multiples of 64")
	assert.EqualValues(t, 320, p.PeakBytes)
}

// The greedy placement needs more than the bound here, and the search finds it.
func TestSearchReachesTheBound(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	better := 0
	for range 40 {
		buffers := cut(random, 24, 40, 1<<20)
		p := place(t, buffers, Options{Steps: 200_000})
		assert.EqualValues(t, 1<<20, p.ArenaBytes)
		assert.True(t, p.Optimal())
		if p.GreedyBytes > p.ArenaBytes {
			better++
		}
	}
	assert.Greater(t, better, 10, "the search had something to do")
}

// The search finds the smallest arena and proves that there is no smaller one.
func TestSearchMatchesReferenceModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		buffers := someBuffers(rapid.Bool().Draw(t, "aligned")).Draw(t, "buffers")
		want := smallestArena(buffers)
		p := place(t, buffers, Options{Steps: 1 << 20, Seed: rapid.Uint64().Draw(t, "seed")})
		require.Equal(t, want, p.ArenaBytes)
		require.Equal(t, want, p.LowerBoundBytes)
	})
}

// With a limit the search ends as soon as an arena is within it, and excludes limits that
// are too small.
func TestLimitMatchesReferenceModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		buffers := someBuffers(rapid.Bool().Draw(t, "aligned")).Draw(t, "buffers")
		want := smallestArena(buffers)
		limit := rapid.Uint64Range(1, want+3).Draw(t, "limit")
		p := place(t, buffers, Options{Steps: 1 << 20, LimitBytes: limit})
		if limit >= want {
			require.LessOrEqual(t, p.ArenaBytes, limit)
			return
		}
		require.Greater(t, p.LowerBoundBytes, limit)
		require.Greater(t, p.ArenaBytes, limit)
	})
}

// A search that does not reach its limit in time still returns a better arena than the
// greedy placement, and reports it on the way.
func TestLimitOutOfReach(t *testing.T) {
	var arenas []uint64
	buffers := cut(rand.New(rand.NewPCG(0, 1)), 300, 200, 4000)
	p := place(t, buffers, Options{LimitBytes: 4000, Steps: 10_000, Progress: func(p Progress) { arenas = append(arenas, p.ArenaBytes) }})
	assert.Greater(t, p.ArenaBytes, uint64(4000))
	assert.Less(t, p.ArenaBytes, p.GreedyBytes)
	assert.Greater(t, len(arenas), 2)
}

// Larger inputs, of which only the rules of a placement are checked. The same arguments
// give the same placement.
func TestPlacementsAreValidAndRepeat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "buffers"), 0))
		buffers := make([]Buffer, 1+random.IntN(120))
		for i := range buffers {
			lower := random.Int64N(200) - 50
			buffers[i] = Buffer{
				Lower: lower, Upper: lower + 1 + random.Int64N(1+random.Int64N(60)),
				SizeBytes: 1 + random.Uint64N(1+random.Uint64N(1<<16)), AlignmentBytes: 1 << random.IntN(9),
			}
		}
		o := Options{Steps: 3000, Seed: rapid.Uint64().Draw(t, "seed")}
		p := place(t, buffers, o)
		require.LessOrEqual(t, p.Steps, o.Steps)
		require.Equal(t, p, place(t, buffers, o))
		require.Equal(t, place(t, buffers, Options{}).ArenaBytes, p.GreedyBytes)
	})
}

// Parts that never live together are placed as if each were alone.
func TestPartsAreIndependent(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	var all []Buffer
	for n := range int64(4) {
		for _, b := range cut(random, 16, 20, 1000+uint64(n)) {
			b.Lower, b.Upper = b.Lower+100*n, b.Upper+100*n
			all = append(all, b)
		}
	}
	p := place(t, all, Options{Steps: 500_000})
	assert.EqualValues(t, 1003, p.ArenaBytes)
}

func TestPlaceRejects(t *testing.T) {
	good := Buffer{Lower: 0, Upper: 1, SizeBytes: 1}
	for _, c := range []struct {
		name    string
		buffers []Buffer
		options Options
		code    device.Code
		want    string
	}{
		{"no time", []Buffer{good, {Lower: 4, Upper: 4, SizeBytes: 1}}, Options{}, device.CodeInvalidArgument, "buffers[1]: lower is 4 and upper is 4"},
		{"backwards", []Buffer{{Lower: 4, Upper: -4, SizeBytes: 1}}, Options{}, device.CodeInvalidArgument, "buffers[0]: lower is 4 and upper is -4"},
		{"no size", []Buffer{{Lower: 0, Upper: 4}}, Options{}, device.CodeInvalidSize, "buffers[0]: the size is 0"},
		{"huge", []Buffer{{Lower: 0, Upper: 4, SizeBytes: math.MaxUint64}}, Options{}, device.CodeInvalidSize, "buffers[0]: the size is 16777216.00 TiB (18446744073709551615 bytes): the largest is 1048576 TiB"},
		{"alignment", []Buffer{{Lower: 0, Upper: 4, SizeBytes: 1, AlignmentBytes: 3}}, Options{}, device.CodeInvalidAlignment, "the alignment 3 is not a power of two"},
		{"huge alignment", []Buffer{{Lower: 0, Upper: 4, SizeBytes: 1, AlignmentBytes: 1 << 63}}, Options{}, device.CodeInvalidAlignment, "the alignment is 8388608 TiB: the largest is 1024 GiB"},
		{"sum", []Buffer{{Lower: 0, Upper: 4, SizeBytes: 1 << 60}, {Lower: 3, Upper: 5, SizeBytes: 1}}, Options{}, device.CodeOverflow, "live at time 3"},
		{"end", []Buffer{{Lower: 0, Upper: 4, SizeBytes: 1<<60 - 1}, {Lower: 0, Upper: 4, SizeBytes: 1, AlignmentBytes: 1 << 40}, {Lower: 0, Upper: 0 + 1, SizeBytes: 1 << 30}},
			Options{}, device.CodeOverflow, "live at time 0"},
		{"alignment of the end", []Buffer{{Lower: 0, Upper: 4, SizeBytes: 1<<60 - 1}, {Lower: 0, Upper: 4, SizeBytes: 1, AlignmentBytes: 2}}, Options{},
			device.CodeOverflow, "buffers[1]: its end in the arena"},
		{"too many", make([]Buffer, MaxBuffers+1), Options{}, device.CodeInvalidArgument, "there are 65537 buffers"},
		{"negative time", []Buffer{good}, Options{Time: -1}, device.CodeInvalidArgument, "the time -1ns"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Place(t.Context(), c.buffers, c.options)
			assert.Nil(t, p)
			assert.Equal(t, c.code, device.CodeOf(err), err)
			assert.ErrorContains(t, err, c.want)
		})
	}
}

// Extreme times do not overflow.
func TestExtremeTimes(t *testing.T) {
	p := place(t, []Buffer{
		{Lower: math.MinInt64, Upper: math.MaxInt64, SizeBytes: 1 << 58},
		{Lower: math.MaxInt64 - 1, Upper: math.MaxInt64, SizeBytes: 1 << 59},
		{Lower: math.MinInt64, Upper: math.MinInt64 + 1, SizeBytes: 1 << 57},
	}, Options{Steps: 1000})
	assert.EqualValues(t, 3<<58, p.ArenaBytes)
}

// hard returns buffers for which the search does not end within the time of a test.
func hard() []Buffer {
	return cut(rand.New(rand.NewPCG(11, 12)), 1000, 5000, 1<<40)
}

func TestStepsBoundTheSearch(t *testing.T) {
	p := place(t, hard(), Options{Steps: 777})
	assert.EqualValues(t, 777, p.Steps)
	assert.False(t, p.Optimal())
}

func TestTimeBoundsTheSearch(t *testing.T) {
	began := time.Now()
	p := place(t, hard(), Options{Time: 50 * time.Millisecond})
	assert.Positive(t, p.Steps)
	assert.Less(t, time.Since(began), 20*time.Second)
}

func TestContextEndsTheSearch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Place(ctx, hard(), Options{Time: time.Hour, Progress: func(p Progress) {
		if p.Steps > 0 {
			cancel()
		}
	}})
	assert.Equal(t, device.CodeCancelled, device.CodeOf(err))
	_, err = Place(ctx, nil, Options{})
	assert.Equal(t, device.CodeCancelled, device.CodeOf(err), "before the first buffer")
}

// Progress reports better and better arenas; the last one is the result.
func TestProgress(t *testing.T) {
	var all []Progress
	p := place(t, cut(rand.New(rand.NewPCG(11, 12)), 400, 1000, 1<<30), Options{Steps: 10_000, Progress: func(p Progress) { all = append(all, p) }})
	require.NotEmpty(t, all)
	for i, now := range all {
		assert.LessOrEqual(t, now.LowerBoundBytes, now.ArenaBytes)
		if i > 0 {
			assert.LessOrEqual(t, now.ArenaBytes, all[i-1].ArenaBytes)
			assert.GreaterOrEqual(t, now.Steps, all[i-1].Steps)
		}
	}
	assert.Equal(t, p.ArenaBytes, all[len(all)-1].ArenaBytes)
	assert.Less(t, p.ArenaBytes, p.GreedyBytes)
}

// A part with more items than a search takes keeps its greedy placement.
func TestLargePartsAreNotSearched(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	p := place(t, cut(random, MaxSearched+1, 5000, 1<<40), Options{Time: time.Hour})
	assert.Zero(t, p.Steps)
	assert.Equal(t, p.GreedyBytes, p.ArenaBytes)
}
