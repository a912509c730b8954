package replay

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/trace"
)

// These tests bound the fragmentation of the placement. They replay traces on a strategy
// directly, without a pool and without a clock, so the results are always the same.

// bare makes a strategy the memory of a replay.
type bare struct {
	strategy rangealloc.Strategy
}

func (b bare) alloc(w blockRequest) (block, *refusal, error) {
	got, err := b.strategy.Alloc(rangealloc.Request{Size: w.size, Align: 1, End: w.end, Group: w.group})
	return block{addr: device.Addr(got.Offset), size: w.size}, nil, err
}

func (b bare) free(f block) error {
	_, err := b.strategy.Free(uint64(f.addr))
	return err
}

// fragmentation returns the high water divided by the peak of the live bytes. It replays
// the trace in a range that is large enough for any placement.
func fragmentation(t *testing.T, tr *trace.Trace, rules trace.Rules, strategy string, hints bool) float64 {
	s, err := rangealloc.New(strategy, rangealloc.Config{SizeBytes: 1 << 45, GranuleBytes: 256})
	require.NoError(t, err)
	defer s.Close()
	schedule, err := trace.NewSchedule(tr, rules)
	require.NoError(t, err)
	c := &counter{}
	p := newPlayer(schedule, bare{s}, c)
	p.hints = hints
	require.NoError(t, play(testContext, p, func(int) {}))
	require.NoError(t, s.Check())
	require.Zero(t, s.Stats().LiveBlocks)
	return float64(s.Stats().HighWaterBytes) / float64(c.demand.peakBytes)
}

// jitteredSeeds returns the sorted fragmentation of 15 replays. Arrivals are up to 50 ms
// late, different in each replay, because one order of arrivals says little about a
// placement.
func jitteredSeeds(t *testing.T, tr *trace.Trace, strategy string, hints bool) []float64 {
	var all []float64
	for seed := uint64(1); seed <= 15; seed++ {
		all = append(all, fragmentation(t, tr, trace.Rules{JitterNS: 50_000_000, Seed: seed}, strategy, hints))
	}
	slices.Sort(all)
	return all
}

func TestPlacementOnAzure(t *testing.T) {
	tr := exampleTrace(t)
	with, without := jitteredSeeds(t, tr, "best_fit", true), jitteredSeeds(t, tr, "best_fit", false)
	t.Logf("best fit with lifetime hints: %.3f; without: %.3f", with, without)
	assert.LessOrEqual(t, with[7], 1.055)
	assert.Less(t, with[7], without[7])
}

func TestPlacementOnMooncake(t *testing.T) {
	tr := recordedTrace(t, "mooncake_synthetic_fast25.jsonl")
	with, without := jitteredSeeds(t, tr, "best_fit", true), jitteredSeeds(t, tr, "best_fit", false)
	t.Logf("best fit with lifetime hints: %.3f; without: %.3f", with, without)
	assert.LessOrEqual(t, with[7], 1.10)
	assert.Less(t, with[7], without[7])
}

// The traces are the buffers of six compiled models, placed in the order of their
// allocation. Each bound is the best result on that file of these rules: first, last and
// best fit, and segregated fit with 8, 16 and 32 classes for every power of two.
func TestPlacementOnMinimalloc(t *testing.T) {
	best := map[string]float64{"A": 1.534, "B": 1.693, "C": 1.555, "D": 1.489, "E": 1.757, "F": 1.208}
	firstFitMean := 1.601
	mean := 0.0
	for name, bound := range best {
		tr := recordedTrace(t, "minimalloc_"+name+".csv")
		got := fragmentation(t, tr, trace.Rules{}, "best_fit", true)
		t.Logf("%s: %.3f with lifetime hints, %.3f without", name, got, fragmentation(t, tr, trace.Rules{}, "best_fit", false))
		assert.LessOrEqual(t, math.Floor(got*1000)/1000, bound, name)
		mean += got / float64(len(best))
	}
	t.Logf("mean %.3f", mean)
	assert.LessOrEqual(t, mean, 0.95*firstFitMean)
}
