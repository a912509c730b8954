package placement

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pressure"
)

const gib = uint64(1) << 30

// The tests compare the scores with 24-bit arithmetic, where math/big rounds after each
// operation. They compare the choices with a reference model that applies the rules to one
// candidate at a time. The known defects of the original formula have a test of their own.

func id(index int) device.ID { return device.ID{Backend: "test", Index: index} }

// full returns a device of 100 GiB of which percent is used.
func full(index int, percent uint64) Candidate {
	return Candidate{
		Device: id(index), Known: true, TotalBytes: 100 * gib,
		UsedBytes: percent * gib, FreeBytes: (100 - percent) * gib,
	}
}

func built(t require.TestingT, name string) *Strategy {
	s, err := New(name)
	require.NoError(t, err)
	require.Equal(t, name, s.Name())
	return s
}

func choose(t require.TestingT, s *Strategy, r Request, candidates ...Candidate) device.ID {
	d, err := s.Select(r, candidates)
	require.NoError(t, err)
	require.Equal(t, Chosen, d.Verdicts[d.Chosen].Reason)
	return d.Verdicts[d.Chosen].Device
}

func reasons(d Decision) []Reason {
	var list []Reason
	for _, v := range d.Verdicts {
		list = append(list, v.Reason)
	}
	return list
}

// single returns a number of single precision: each operation rounds to 24 bits.
func single(x float64) *big.Float { return new(big.Float).SetPrec(24).SetFloat64(x) }

func whole(x uint64) *big.Float { return new(big.Float).SetPrec(24).SetUint64(x) }

func rounded() *big.Float { return new(big.Float).SetPrec(24) }

// oracleScore computes the formula of best fit in single precision.
func oracleScore(o Option, size uint64) float32 {
	waste, used := single(0), single(0)
	if o.TotalBytes != 0 {
		waste = rounded().Quo(whole(o.FreeBytes-size), whole(o.TotalBytes))
		used = rounded().Quo(rounded().Mul(rounded().Quo(whole(o.UsedBytes), whole(o.TotalBytes)), single(100)), single(100))
	}
	apart := rounded().Abs(rounded().Sub(used, single(0.5)))
	score := rounded().Sub(rounded().Sub(single(1), waste), rounded().Mul(apart, single(0.5)))
	bonus := single(0)
	if o.Rank > 0 {
		fifth := new(big.Float).SetPrec(24).SetMode(big.ToNearestEven).SetFloat64(0.2)
		bonus = rounded().Mul(rounded().Quo(single(1), whole(uint64(o.Rank))), fifth)
	}
	result, _ := rounded().Add(score, bonus).Float32()
	return result
}

func TestBestFitScoreIsTheFormulaInSinglePrecision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.OneOf(rapid.Uint64Range(1, 1000), rapid.Uint64Range(1, 1<<45), rapid.Just(uint64(0))).Draw(t, "total")
		bound := total
		if total == 0 {
			bound = 1 << 40
		}
		used := rapid.Uint64Range(0, bound).Draw(t, "used")
		free := rapid.Uint64Range(0, bound-used).Draw(t, "free")
		size := rapid.Uint64Range(0, free).Draw(t, "size")
		o := Option{Candidate: Candidate{TotalBytes: total, UsedBytes: used, FreeBytes: free}, Rank: rapid.IntRange(0, 9).Draw(t, "rank")}
		require.Equal(t, oracleScore(o, size), BestFitScore(o, size))
		if total != 0 {
			require.Equal(t, BestFitScore(o, size), OriginalScore(o, size))
		}
	})
}

func TestScoresOfTheOriginalFormula(t *testing.T) {
	at := func(used, free, size uint64, rank int) float64 {
		o := Option{Candidate: Candidate{TotalBytes: 100, UsedBytes: used, FreeBytes: free}, Rank: rank}
		return float64(OriginalScore(o, size))
	}
	require.InDelta(t, 0.755, at(99, 1, 1, 0), 1e-6, "nearly full, and just enough is free")
	require.InDelta(t, 0.51, at(50, 50, 1, 0), 1e-6, "half empty")
	require.InDelta(t, -0.24, at(0, 100, 1, 0), 1e-6, "idle")
	require.InDelta(t, 0.71, at(50, 50, 1, 1), 1e-6, "half empty and preferred")
	require.InDelta(t, 0.61, at(50, 50, 1, 2), 1e-6)
}

// The test shows the known defects of the original formula, and what best fit does instead.
func TestTheDefectsOfTheOriginalFormula(t *testing.T) {
	original, repaired := built(t, Original), built(t, BestFit)
	r := Request{SizeBytes: gib}

	// The original formula fills a device to the last byte although another device is half
	// empty.
	require.Equal(t, id(0), choose(t, original, r, full(0, 99), full(1, 50)))
	require.Equal(t, id(1), choose(t, repaired, r, full(0, 99), full(1, 50)))
	d, err := repaired.Explain(r, []Candidate{full(0, 99), full(1, 50)})
	require.NoError(t, err)
	require.Equal(t, []Reason{LowerTier, Chosen}, reasons(d))
	require.Equal(t, pressure.Critical, d.Verdicts[0].LevelAfter)

	// The original formula does not treat the preferences as an order.
	preferring := Request{SizeBytes: gib, Requirements: Requirements{Preferred: []device.ID{id(1)}}}
	require.Equal(t, id(0), choose(t, original, preferring, full(0, 99), full(1, 50)))
	preferring.Strict = true
	require.Equal(t, id(1), choose(t, repaired, preferring, full(0, 90), full(1, 50)))
	preferring.Strict = false
	require.Equal(t, id(0), choose(t, repaired, preferring, full(0, 90), full(1, 20)), "without Strict it is a bonus")

	// The original formula never chooses a device of unknown capacity, even if no other
	// device fits.
	unknown := Candidate{Device: id(2), Known: true, FreeBytes: 2 * gib}
	exact := Candidate{Device: id(3), Known: true, FreeBytes: gib}
	d, err = original.Select(r, []Candidate{unknown, exact})
	require.ErrorIs(t, err, device.CodeNotFound)
	require.Equal(t, []Reason{Unscored, Unscored}, reasons(d))
	require.Equal(t, id(2), choose(t, repaired, r, unknown, exact), "of equal devices the first is chosen")

	// The original formula ignores the requirements.
	lacking := full(0, 50)
	lacking.Lacks = func(manager.MemoryType) bool { return true }
	require.Equal(t, id(0), choose(t, original, r, lacking))
	_, err = repaired.Select(r, []Candidate{lacking})
	require.ErrorContains(t, err, "wrong_memory_type")
}

func TestRequirements(t *testing.T) {
	s := built(t, BestFit)
	need := func(change func(*Request)) Request {
		r := Request{SizeBytes: 10 * gib}
		change(&r)
		return r
	}
	explain := func(r Request, c ...Candidate) Decision {
		d, err := s.Explain(r, c)
		require.NoError(t, err)
		return d
	}

	// Alignment: the size with the worst padding must fit.
	d := explain(need(func(r *Request) { r.AlignmentBytes = 1 << 20 }), full(0, 90))
	require.Equal(t, []Reason{TooSmall}, reasons(d))
	require.Equal(t, 10*gib+(1<<20)-1, d.Verdicts[0].NeedBytes)
	aligned := full(0, 90)
	aligned.AlignmentBytes = 1 << 20
	d = explain(need(func(r *Request) { r.AlignmentBytes = 1 << 20 }), aligned)
	require.Equal(t, []Reason{Chosen}, reasons(d))
	require.Equal(t, 10*gib, d.Verdicts[0].NeedBytes)
	d = explain(Request{SizeBytes: math.MaxUint64, Requirements: Requirements{AlignmentBytes: 2}}, full(0, 0))
	require.Equal(t, uint64(math.MaxUint64), d.Verdicts[0].NeedBytes)

	// A device whose largest free run is too short comes after the other devices. A
	// critical request never gets such a device.
	torn := full(0, 60)
	torn.LargestFreeBytes = gib
	require.Equal(t, id(1), choose(t, s, need(func(*Request) {}), torn, full(1, 0)))
	require.Equal(t, id(0), choose(t, s, need(func(*Request) {}), torn))
	d = explain(need(func(r *Request) { r.Critical = true }), torn)
	require.Equal(t, []Reason{NeedsEviction}, reasons(d))

	// A device that would become critical is in a worse tier. If the request demands it,
	// the device is rejected instead.
	require.Equal(t, id(0), choose(t, s, need(func(*Request) {}), full(0, 85)))
	d = explain(need(func(r *Request) { r.RefuseCritical = true }), full(0, 85), full(1, 84))
	require.Equal(t, []Reason{WouldBeCritical, Chosen}, reasons(d))
	sharper := full(0, 70)
	sharper.Profile = pressure.Early
	require.Equal(t, pressure.High, explain(need(func(*Request) {}), sharper).Verdicts[0].LevelAfter)

	// A long-lived request already avoids the level High.
	short := need(func(r *Request) { r.Lifetime = LongLived - 1 })
	long := need(func(r *Request) { r.Lifetime = LongLived })
	require.Equal(t, id(0), choose(t, s, short, full(0, 75), full(1, 10)))
	require.Equal(t, id(1), choose(t, s, long, full(0, 75), full(1, 10)))

	// A request without requirements accepts any device.
	require.Equal(t, id(0), choose(t, s, Request{SizeBytes: 1}, full(0, 50)))
}

func TestPreferenceIsAnOrderWhenStrict(t *testing.T) {
	r := Request{SizeBytes: 10 * gib, Requirements: Requirements{Preferred: []device.ID{id(9), id(2), id(1)}, Strict: true}}
	for _, name := range Names() {
		if name == Original {
			continue
		}
		s := built(t, name)
		require.Equal(t, id(2), choose(t, s, r, full(0, 50), full(1, 50), full(2, 88)), name)
		require.Equal(t, id(1), choose(t, s, r, full(0, 50), full(1, 50), full(2, 95)), "%s: the first that can", name)
		require.Equal(t, id(0), choose(t, s, r, full(0, 50), full(3, 99)), "%s: none of the preferred", name)
	}
}

func TestSpreadAndPack(t *testing.T) {
	r := Request{SizeBytes: gib}
	devices := []Candidate{full(0, 40), full(1, 10), full(2, 80), full(3, 10)}
	require.Equal(t, id(1), choose(t, built(t, Spread), r, devices...))
	require.Equal(t, id(2), choose(t, built(t, Pack), r, devices...))
	r.Preferred = []device.ID{id(3)}
	require.Equal(t, id(3), choose(t, built(t, Spread), r, devices...))
	d, err := built(t, Spread).Explain(r, devices)
	require.NoError(t, err)
	require.EqualValues(t, 590_000, d.Verdicts[0].Score)
	require.EqualValues(t, 890_000+200_000, d.Verdicts[3].Score)
	unknown := Option{Candidate: Candidate{FreeBytes: 5}, NeedBytes: 1}
	require.Zero(t, FreeShare(unknown)+FilledShare(unknown))
	most := Option{Candidate: Candidate{TotalBytes: math.MaxUint64, FreeBytes: math.MaxUint64}}
	require.EqualValues(t, 1_000_000, FreeShare(most))
	require.Zero(t, FilledShare(most))
}

func TestRoundRobinTakesTurns(t *testing.T) {
	s := built(t, RoundRobin)
	r := Request{SizeBytes: gib}
	devices := []Candidate{full(0, 10), full(1, 10), full(2, 10)}
	for _, want := range []int{0, 1, 2, 0, 1} {
		d, err := s.Explain(r, devices)
		require.NoError(t, err)
		require.Equal(t, want, d.Chosen, "an explanation does not advance the round robin")
		require.Equal(t, id(want), choose(t, s, r, devices...))
	}
	devices[2] = full(2, 100)
	require.Equal(t, id(0), choose(t, s, r, devices...), "a device without enough memory is skipped")
	require.Equal(t, id(7), choose(t, s, r, full(7, 10)), "another list begins at its start")
	r.Preferred = []device.ID{id(1), id(0)}
	devices[2] = full(2, 10)
	require.Equal(t, id(0), choose(t, s, r, devices...))
	require.Equal(t, id(1), choose(t, s, r, devices...))
	require.Equal(t, id(0), choose(t, s, r, devices...), "the round robin stays within the preferred devices")
}

func TestBadInput(t *testing.T) {
	s := built(t, BestFit)
	for code, change := range map[device.Code]func(*Request){
		device.CodeInvalidSize:      func(r *Request) { r.SizeBytes = 0 },
		device.CodeInvalidAlignment: func(r *Request) { r.AlignmentBytes = 3 },
		device.CodeInvalidArgument:  func(r *Request) { r.Type = 99 },
	} {
		r := Request{SizeBytes: 1}
		change(&r)
		d, err := s.Select(r, []Candidate{full(0, 0)})
		require.ErrorIs(t, err, code)
		require.Equal(t, None, d.Chosen)
	}
	for _, r := range []Request{
		{SizeBytes: 1, Requirements: Requirements{AlignmentBytes: 2 * AlignmentMax}},
		{SizeBytes: 1, Requirements: Requirements{Lifetime: -time.Second}},
		{SizeBytes: 1, Requirements: Requirements{Type: -1}},
	} {
		_, err := s.Explain(r, []Candidate{full(0, 0)})
		require.Error(t, err)
	}
	_, err := s.Select(Request{SizeBytes: 1}, nil)
	require.ErrorContains(t, err, "there are no candidates")
	wrong := full(0, 0)
	wrong.Profile = 8
	_, err = s.Select(Request{SizeBytes: 1}, []Candidate{wrong})
	require.ErrorIs(t, err, device.CodeInvalidArgument)
	_, err = New("first_fit")
	require.ErrorIs(t, err, device.CodeNotFound)
	require.ErrorContains(t, err, "best_fit, best_fit_original, spread")
	for _, bad := range []struct {
		name string
		own  Chooser
		code device.Code
	}{
		{"", func(Request, []Option) (int, error) { return 0, nil }, device.CodeInvalidArgument},
		{"mine", nil, device.CodeNullPointer},
		{Pack, func(Request, []Option) (int, error) { return 0, nil }, device.CodeAlreadyExists},
	} {
		_, err := NewOwn(bad.name, bad.own)
		require.ErrorIs(t, err, bad.code)
	}
}

func TestUsersStrategyChooses(t *testing.T) {
	var answer int
	var failure error
	s, err := NewOwn("mine", func(r Request, options []Option) (int, error) {
		require.EqualValues(t, gib, r.SizeBytes)
		require.Len(t, options, 3)
		require.Equal(t, TooSmall, options[2].Reason)
		return answer, failure
	})
	require.NoError(t, err)
	r, devices := Request{SizeBytes: gib}, []Candidate{full(0, 10), full(1, 10), full(2, 100)}
	answer = 1
	require.Equal(t, id(1), choose(t, s, r, devices...))
	for wrong, text := range map[int]string{3: "chose candidate 3 of 3", -2: "chose candidate -2 of 3", 2: "too_small"} {
		answer = wrong
		_, err := s.Select(r, devices)
		require.ErrorIs(t, err, device.CodeInvalidArgument)
		require.ErrorContains(t, err, `"mine"`)
		require.ErrorContains(t, err, text)
	}
	answer = None
	d, err := s.Select(r, devices)
	require.ErrorIs(t, err, device.CodeNotFound)
	require.Equal(t, []Reason{NotTaken, NotTaken, TooSmall}, reasons(d))
	failure = device.Errorf(device.CodeBusy, "user", "not today")
	_, err = s.Select(r, devices)
	require.ErrorIs(t, err, device.CodeBusy)
	require.ErrorContains(t, err, `placement strategy "mine"`)
	require.ErrorContains(t, err, "not today")
	failure = errors.New("of another kind")
	_, err = s.Explain(r, devices)
	require.ErrorIs(t, err, device.CodeInternal)
}

func TestStrategyThatPanicsOrCallsBack(t *testing.T) {
	var s *Strategy
	depth := 0
	s, err := NewOwn("mine", func(r Request, options []Option) (int, error) {
		if depth++; depth == 1 {
			_, err := s.Select(r, []Candidate{full(5, 0)})
			return 0, err
		}
		if depth == 2 {
			return 0, nil
		}
		panic("broken")
	})
	require.NoError(t, err)
	r := Request{SizeBytes: gib}
	require.Equal(t, id(0), choose(t, s, r, full(0, 0)))
	_, err = s.Select(r, []Candidate{full(0, 0)})
	require.ErrorIs(t, err, device.CodeInternal)
	require.ErrorContains(t, err, `placement strategy "mine"`)
	require.ErrorContains(t, err, "it panicked: broken")
}

func TestReasonsAreWords(t *testing.T) {
	seen := map[string]bool{}
	for number, name := range reasonNames {
		reason := Reason(number)
		if name == "" {
			require.Equal(t, "unknown", reason.String())
			continue
		}
		text, err := json.Marshal(reason)
		require.NoError(t, err)
		require.False(t, seen[string(text)])
		seen[string(text)] = true
		require.Equal(t, reason >= NoInformation, !Option{Reason: reason}.Serves())
	}
	for _, reason := range []Reason{-1, Reason(len(reasonNames)), 99} {
		require.Equal(t, "unknown", reason.String())
	}
}

func TestManyThreadsTakeTurns(t *testing.T) {
	s := built(t, RoundRobin)
	const threads, each = 16, 300
	devices := []Candidate{full(0, 10), full(1, 10), full(2, 10)}
	counts := make([][3]int, threads)
	var wait sync.WaitGroup
	for n := range threads {
		wait.Go(func() {
			for range each {
				d, err := s.Select(Request{SizeBytes: gib}, devices)
				if err != nil {
					panic(err)
				}
				counts[n][d.Chosen]++
			}
		})
	}
	wait.Wait()
	var sum [3]int
	for _, c := range counts {
		for i := range sum {
			sum[i] += c[i]
		}
	}
	require.Equal(t, [3]int{threads * each / 3, threads * each / 3, threads * each / 3}, sum)
}

// Among candidates of equal score, the strategy chooses the first of the list, in any order
// of the list. If no candidate qualifies, it chooses none.
func TestTiesKeepTheEarliest(t *testing.T) {
	for _, name := range []string{BestFit, Original, Spread, Pack} {
		s := built(t, name)
		for _, order := range [][]int{{0, 1, 2}, {2, 0, 1}, {1, 2, 0}} {
			var candidates []Candidate
			for _, index := range order {
				candidates = append(candidates, full(index, 30))
			}
			require.Equal(t, id(order[0]), choose(t, s, Request{SizeBytes: gib}, candidates...), name)
			d, err := s.Select(Request{SizeBytes: 71 * gib}, candidates)
			require.ErrorIs(t, err, device.CodeNotFound, name)
			require.Equal(t, None, d.Chosen, name)
		}
	}
}
