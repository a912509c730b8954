package placement

import (
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pressure"
)

// modelOption is a candidate as the documented rules rate it.
type modelOption struct {
	serves bool
	tier   int
	rank   int
	score  float64
}

func modelOf(name string, r Request, c Candidate) modelOption {
	m := modelOption{}
	for i := len(r.Preferred) - 1; i >= 0; i-- {
		if r.Preferred[i] == c.Device {
			m.rank = i + 1
		}
	}
	if !c.Known {
		return m
	}
	need := new(big.Int).SetUint64(r.SizeBytes)
	if natural := max(c.AlignmentBytes, 1); r.AlignmentBytes > natural {
		need.Add(need, new(big.Int).SetUint64(r.AlignmentBytes-natural))
	}
	free := new(big.Int).SetUint64(c.FreeBytes)
	left := new(big.Int).Sub(free, need)
	if left.Sign() < 0 || c.Lacks(r.Type) {
		return m
	}
	after := pressure.Low
	if c.TotalBytes > 0 {
		filled := new(big.Rat).SetFrac(new(big.Int).Sub(new(big.Int).SetUint64(c.TotalBytes), left), new(big.Int).SetUint64(c.TotalBytes))
		for level := pressure.Medium; level <= pressure.Critical; level++ {
			if filled.Cmp(big.NewRat(int64(c.Profile.LowerPercent(level)), 100)) >= 0 {
				after = level
			}
		}
	}
	if after == pressure.Critical || (r.Lifetime >= time.Minute && after >= pressure.High) {
		m.tier++
	}
	if c.LargestFreeBytes != 0 && need.Cmp(new(big.Int).SetUint64(c.LargestFreeBytes)) > 0 {
		if r.Critical {
			return m
		}
		m.tier += 2
	}
	if after == pressure.Critical && r.RefuseCritical {
		return m
	}
	m.serves = true
	millionths := func(part *big.Int) float64 {
		if c.TotalBytes == 0 {
			return 0
		}
		n := new(big.Int).Mul(part, big.NewInt(1_000_000))
		whole, _ := n.Div(n, new(big.Int).SetUint64(c.TotalBytes)).Float64()
		return whole
	}
	bonus := 0.0
	if m.rank > 0 {
		bonus = float64(200_000 / m.rank)
	}
	switch name {
	case Spread:
		m.score = millionths(left) + bonus
	case Pack:
		m.score = millionths(new(big.Int).Sub(new(big.Int).SetUint64(c.TotalBytes), left)) + bonus
	case BestFit:
		m.score = float64(oracleScore(Option{Candidate: c, Rank: m.rank}, r.SizeBytes))
	}
	return m
}

// better returns whether m is chosen instead of the earlier candidate than.
func (m modelOption) better(r Request, than modelOption) bool {
	if r.Strict && m.rank != than.rank && (m.rank > 0 || than.rank > 0) {
		return than.rank == 0 || (m.rank > 0 && m.rank < than.rank)
	}
	if m.tier != than.tier {
		return m.tier < than.tier
	}
	return m.score > than.score
}

func anyCandidate(t *rapid.T, index int) Candidate {
	total := rapid.SampledFrom([]uint64{0, 100, 1000, 100, 1000}).Draw(t, "total")
	bound := max(total, 100)
	used := rapid.Uint64Range(0, bound).Draw(t, "used")
	c := Candidate{
		Device: id(index), Known: rapid.IntRange(0, 9).Draw(t, "known") > 0,
		TotalBytes: total, UsedBytes: used, FreeBytes: rapid.Uint64Range(0, bound-used).Draw(t, "free"),
		AlignmentBytes: rapid.SampledFrom([]uint64{0, 1, 16}).Draw(t, "natural"),
		Profile:        rapid.SampledFrom([]pressure.Profile{pressure.Standard, pressure.Early}).Draw(t, "profile"),
	}
	if total == 0 {
		c.UsedBytes = 0
	}
	if rapid.IntRange(0, 3).Draw(t, "torn") == 0 {
		c.LargestFreeBytes = rapid.Uint64Range(0, c.FreeBytes).Draw(t, "largest")
	}
	lacks := rapid.IntRange(0, 5).Draw(t, "lacks") == 0
	c.Lacks = func(k manager.MemoryType) bool { return lacks && k == manager.Pinned }
	return c
}

func anyRequest(t *rapid.T) Request {
	r := Request{SizeBytes: rapid.Uint64Range(1, 120).Draw(t, "size")}
	r.AlignmentBytes = rapid.SampledFrom([]uint64{0, 0, 1, 16, 64}).Draw(t, "alignment")
	r.Type = rapid.SampledFrom([]manager.MemoryType{manager.General, manager.Pinned}).Draw(t, "type")
	r.Critical = rapid.Bool().Draw(t, "critical")
	r.RefuseCritical = rapid.IntRange(0, 3).Draw(t, "refuse") == 0
	r.Strict = rapid.Bool().Draw(t, "strict")
	r.Lifetime = rapid.SampledFrom([]time.Duration{0, time.Second, time.Hour}).Draw(t, "lifetime")
	for range rapid.IntRange(0, 3).Draw(t, "preferred") {
		r.Preferred = append(r.Preferred, id(rapid.IntRange(0, 6).Draw(t, "which")))
	}
	return r
}

func TestChoicesAgainstAModel(t *testing.T) {
	for _, name := range []string{BestFit, Spread, Pack} {
		t.Run(name, func(t *testing.T) {
			s := built(t, name)
			rapid.Check(t, func(t *rapid.T) {
				r := anyRequest(t)
				var candidates []Candidate
				var model []modelOption
				best := None
				for i := range rapid.IntRange(0, 5).Draw(t, "candidates") {
					c := anyCandidate(t, i)
					candidates = append(candidates, c)
					model = append(model, modelOf(name, r, c))
					if model[i].serves && (best == None || model[i].better(r, model[best])) {
						best = i
					}
				}
				d, err := s.Select(r, candidates)
				require.Equal(t, best, d.Chosen)
				for i, v := range d.Verdicts {
					require.Equal(t, model[i].serves, v.Serves(), "candidate %d: %v", i, v.Reason)
					require.Equal(t, i == best, v.Reason == Chosen)
					require.Equal(t, model[i].rank, v.Rank)
					if model[i].serves {
						require.Equal(t, model[i].tier, v.Tier)
						require.True(t, v.Scored)
						require.Equal(t, model[i].score, v.Score)
					}
				}
				if best == None {
					require.ErrorIs(t, err, device.CodeNotFound)
				} else {
					require.NoError(t, err)
				}
				explained, err := s.Explain(r, candidates)
				require.NoError(t, err)
				require.Equal(t, reasons(d), reasons(explained))
			})
		})
	}
}

// The reference model of the original formula is a plain loop.
func TestOriginalAgainstAModel(t *testing.T) {
	s := built(t, Original)
	rapid.Check(t, func(t *rapid.T) {
		r := anyRequest(t)
		var candidates []Candidate
		best, top := None, float32(0)
		for i := range rapid.IntRange(0, 5).Draw(t, "candidates") {
			c := anyCandidate(t, i)
			candidates = append(candidates, c)
			if !c.Known || c.FreeBytes < r.SizeBytes || c.TotalBytes == 0 {
				continue
			}
			score := oracleScore(Option{Candidate: c, Rank: r.rank(c.Device)}, r.SizeBytes)
			if best == None || score > top {
				best, top = i, score
			}
		}
		d, _ := s.Select(r, candidates)
		require.Equal(t, best, d.Chosen)
	})
}

// Every suitable device gets its turn: n choices among n equal devices choose each device
// once.
func TestRoundRobinIsFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := built(t, RoundRobin)
		n := rapid.IntRange(1, 8).Draw(t, "devices")
		var candidates []Candidate
		for i := range n {
			candidates = append(candidates, full(i, 10))
		}
		for range rapid.IntRange(1, 3).Draw(t, "rounds") {
			taken := map[int]bool{}
			for range n {
				d, err := s.Select(Request{SizeBytes: 1}, candidates)
				require.NoError(t, err)
				taken[d.Chosen] = true
			}
			require.Len(t, taken, n)
		}
	})
}
