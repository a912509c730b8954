package rangealloc_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/rangealloc/conformance"
)

// lifetimes is the reference model of placement by expected end: a list of live blocks in
// address order, which it examines completely for every request.
type lifetimes struct {
	config    rangealloc.Config
	live      []expected
	now       uint64
	highWater uint64
}

type expected struct {
	offset, size, end uint64
}

// hole is a free run and the ends of the blocks around it; 0 for a block without an
// expected end, and for the end of the range.
type hole struct {
	rangealloc.Range
	before, behind uint64
}

func (l *lifetimes) holes() []hole {
	var holes []hole
	h := hole{}
	for _, b := range append(slices.Clone(l.live), expected{offset: l.config.SizeBytes}) {
		if h.Size = b.offset - h.Offset; h.Size > 0 {
			h.behind = b.end
			holes = append(holes, h)
		}
		h = hole{Range: rangealloc.Range{Offset: b.offset + b.size}, before: b.end}
	}
	return holes
}

// cost returns the sum that should be smallest.
func (l *lifetimes) cost(over, run, end, neighbour uint64) float64 {
	cost := 0.5 * float64(over) / float64(run)
	remaining := func(end uint64) float64 { return float64(max(1, max(end, l.now)-l.now)) }
	mine, other := remaining(end), remaining(neighbour)
	switch {
	case neighbour == 0:
		return cost + 0.5
	case other > mine:
		return cost + 0.5*(other-mine)/other
	}
	return cost + (mine-other)/mine
}

// places maps the offsets at which a hinted request may be placed to their cost.
func (l *lifetimes) places(r rangealloc.Request) map[uint64]float64 {
	need := (r.Size-1)/l.config.GranuleBytes*l.config.GranuleBytes + l.config.GranuleBytes
	holes := l.holes()
	places := map[uint64]float64{}
	put := func(at uint64, cost float64) {
		if was, ok := places[at]; !ok || cost < was {
			places[at] = cost
		}
	}
	var top *hole
	if last := len(holes) - 1; last >= 0 && l.highWater < l.config.SizeBytes {
		top, holes = &holes[last], holes[:last]
	}
	slices.SortFunc(holes, func(a, b hole) int { return cmp.Or(cmp.Compare(a.Size, b.Size), cmp.Compare(a.Offset, b.Offset)) })
	looked := 0
	for _, h := range holes {
		low, fits := conformance.FirstAligned(l.config, h.Range, r)
		if !fits || looked == 8 {
			continue
		}
		looked++
		high := h.Offset + h.Size - need
		high -= (l.config.BaseAddr + high) % r.Align
		put(low, l.cost(h.Size-need, h.Size, r.End, h.before))
		put(high, l.cost(h.Size-need, h.Size, r.End, h.behind))
	}
	if top == nil {
		return places
	}
	below := rangealloc.Range{Offset: top.Offset, Size: l.highWater - top.Offset}
	if low, fits := conformance.FirstAligned(l.config, below, r); fits {
		put(low, l.cost(below.Size-need, below.Size, r.End, top.before))
	}
	if low, fits := conformance.FirstAligned(l.config, top.Range, r); fits && len(places) == 0 {
		put(low, 0)
	}
	return places
}

// judge returns an error if the place of a request is wrong.
func (l *lifetimes) judge(r rangealloc.Request, got rangealloc.Range, err error) error {
	if r.End == 0 {
		var free []rangealloc.Range
		for _, h := range l.holes() {
			free = append(free, h.Range)
		}
		if offset, ok := naiveBestFit(l.config, free, r); ok != (err == nil) || ok && offset != got.Offset {
			return fmt.Errorf("%+v: put at %d, %v, where best fit says %d, %v", r, got.Offset, err, offset, ok)
		}
		return nil
	}
	places := l.places(r)
	least := math.Inf(1)
	for _, cost := range places {
		least = min(least, cost)
	}
	cost, ok := places[got.Offset]
	switch {
	case len(places) == 0 && err != rangealloc.ErrNoRoom:
		return fmt.Errorf("%+v: no hole holds it, got %+v, %v", r, got, err)
	case len(places) > 0 && err != nil:
		return fmt.Errorf("%+v: refused with %w, with places %v", r, err, places)
	case len(places) > 0 && (!ok || cost > least+1e-9):
		return fmt.Errorf("%+v at time %d: put at %d, with places %v in %+v", r, l.now, got.Offset, places, l.holes())
	}
	return nil
}

func (l *lifetimes) take(got rangealloc.Range, end uint64) {
	at, _ := slices.BinarySearchFunc(l.live, got.Offset, func(b expected, offset uint64) int { return cmp.Compare(b.offset, offset) })
	l.live = slices.Insert(l.live, at, expected{offset: got.Offset, size: got.Size, end: end})
	l.highWater = max(l.highWater, got.Offset+got.Size)
}

func (l *lifetimes) free(i int) uint64 {
	b := l.live[i]
	l.live = slices.Delete(l.live, i, i+1)
	if b.end != 0 {
		l.now = b.end
	}
	return b.offset
}

// Hinted requests are placed where the reference model places them. Requests without a
// hint, among hinted blocks, are placed by best fit.
func TestLifetimesAgainstNaive(t *testing.T) { rapid.Check(t, lifetimesAgainstNaive) }

func FuzzLifetimes(f *testing.F) {
	for seed := range byte(8) {
		f.Add(bytes.Repeat([]byte{3 + seed, 250, 7 * seed, 0, 129, seed}, 200))
	}
	f.Fuzz(rapid.MakeFuzz(lifetimesAgainstNaive))
}

func lifetimesAgainstNaive(t *rapid.T) {
	granule := uint64(1) << rapid.IntRange(0, 9).Draw(t, "granule bits")
	c := rangealloc.Config{GranuleBytes: granule, SizeBytes: rapid.Uint64Range(1, 600).Draw(t, "granules") * granule}
	c.BaseAddr = rapid.Uint64Range(0, 100).Draw(t, "base") * granule
	s, err := makeBestFit(c)
	require.NoError(t, err)
	l := &lifetimes{config: c}
	clock := uint64(rapid.SampledFrom([]uint64{1, 1_000, 1 << 60}).Draw(t, "clock"))
	free := func(i int) {
		_, err := s.Free(l.free(i))
		require.NoError(t, err)
		clock += rapid.Uint64Range(0, 3).Draw(t, "time")
	}
	alloc := func(most uint64) {
		r := rangealloc.Request{Size: rapid.Uint64Range(1, most*granule).Draw(t, "size")}
		r.Align = granule << max(0, rapid.IntRange(-6, 5).Draw(t, "alignment"))
		r.End = rapid.SampledFrom([]uint64{0, 1, clock + 1, clock + 1, clock + 5, clock + 100, math.MaxUint64}).Draw(t, "end")
		got, err := s.Alloc(r)
		if wrong := l.judge(r, got, err); wrong != nil {
			t.Fatal(wrong)
		}
		if err == nil {
			l.take(got, r.End)
		}
	}
	// Many holes: more than are compared.
	for range rapid.IntRange(0, 40).Draw(t, "teeth") {
		alloc(10)
	}
	for i := 0; i < len(l.live); i++ {
		free(i)
	}
	for range rapid.IntRange(1, 100).Draw(t, "steps") {
		if len(l.live) > 0 && rapid.IntRange(0, 9).Draw(t, "free") < 4 {
			free(rapid.IntRange(0, len(l.live)-1).Draw(t, "which"))
		} else {
			alloc(40)
		}
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
	}
}

// A hole between a block that ends soon and one that stays long is filled beside the one
// that ends when the new block does.
func TestBlocksArePlacedBesideOnesWithASimilarEnd(t *testing.T) {
	s, err := makeBestFit(rangealloc.Config{SizeBytes: 1 << 20, GranuleBytes: 256})
	require.NoError(t, err)
	take := func(size, end uint64) uint64 {
		t.Helper()
		got, err := s.Alloc(rangealloc.Request{Size: size, Align: 256, End: end})
		require.NoError(t, err)
		return got.Offset
	}
	take(1024, 1000)
	between := take(4096, 10)
	take(1024, 50)
	_, err = s.Free(between)
	require.NoError(t, err)
	require.Equal(t, between+4096-512, take(512, 55), "beside the one that ends at 50")
	require.Equal(t, between, take(512, 990), "beside the one that ends at 1000")
	require.NoError(t, s.Check())
}

// The table of ends grows with the table of blocks, and has no ends of freed blocks.
func TestTableOfEndsGrowsWithTheBlocks(t *testing.T) {
	const live = 100_000
	s, err := makeBestFit(rangealloc.Config{SizeBytes: 64 << 30, GranuleBytes: 256})
	require.NoError(t, err)
	var offsets []uint64
	for i := range uint64(5 * live) {
		if len(offsets) == live {
			victim := bits.Reverse64(i) % live
			_, err := s.Free(offsets[victim])
			require.NoError(t, err)
			offsets[victim] = offsets[live-1]
			offsets = offsets[:live-1]
		}
		got, err := s.Alloc(rangealloc.Request{Size: 256 << (i * 7 % 13), Align: 256, End: i + 1 + i*i%1000})
		require.NoError(t, err)
		offsets = append(offsets, got.Offset)
	}
	require.NoError(t, s.Check())
	require.Equal(t, uint64(live), s.Stats().LiveBlocks)
}

// waste returns the high water over the peak of live bytes, minus 1, for many random
// lives: live blocks at a time, with log-normal sizes and lives with these spreads (the
// standard deviations of their logarithms).
func waste(t *testing.T, seed uint64, live int, sizes, lives float64, hinted bool) float64 {
	const granule, mean = 256, 8 << 20
	s, err := makeBestFit(rangealloc.Config{SizeBytes: 1 << 40, GranuleBytes: granule})
	require.NoError(t, err)
	defer s.Close()
	type end struct{ at, offset, size uint64 }
	var ends []end
	r := rand.New(rand.NewPCG(seed, 7))
	bytes, peak, now := uint64(0), uint64(0), uint64(0)
	for range 40 * live {
		now += uint64(r.ExpFloat64() * 1e6 / float64(live))
		slices.SortFunc(ends, func(a, b end) int { return cmp.Compare(b.at, a.at) })
		for len(ends) > 0 && ends[len(ends)-1].at <= now {
			last := ends[len(ends)-1]
			_, err := s.Free(last.offset)
			require.NoError(t, err)
			bytes -= last.size
			ends = ends[:len(ends)-1]
		}
		life := uint64(1e6 * math.Exp(lives*r.NormFloat64()-lives*lives/2))
		size := uint64(mean * math.Exp(sizes*r.NormFloat64()-sizes*sizes/2))
		request := rangealloc.Request{Size: size, Align: granule}
		if hinted {
			request.End = now + life + 1
		}
		got, err := s.Alloc(request)
		require.NoError(t, err)
		bytes += got.Size
		peak = max(peak, bytes)
		ends = append(ends, end{now + life, got.Offset, got.Size})
	}
	return float64(s.Stats().HighWaterBytes)/float64(peak) - 1
}

// If sizes are alike, known ends remove a good part of the waste, whatever the lives are;
// docs/replay.md describes it.
func TestHintsReduceWasteOfSimilarSizes(t *testing.T) {
	for _, lives := range []float64{0.5, 1, 2} {
		without, with := 0.0, 0.0
		for seed := range uint64(6) {
			without += waste(t, seed, 60, 0.3, lives, false)
			with += waste(t, seed, 60, 0.3, lives, true)
		}
		require.Less(t, with, 0.8*without, "lives of spread %v", lives)
	}
}
