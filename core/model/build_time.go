package model

import (
	"sync"
	"time"

	"ferrum_mem/core/ir"
	"ferrum_mem/core/passes"
)

// Estimates of build times. A Builder measures the phases of its builds: bytes that are read and placed in
// a second, and seconds for a layer. Before its first build it measures how fast this machine copies
// memory, and takes parts of that, which published figures of this library gave; the bounds are wide then.

// BuildTimeEstimate is how long a build takes. Min <= Expected <= Max, and Expected is the sum of the
// parts. Seconds have fractions, because a small model is built in less than one.
type BuildTimeEstimate struct {
	MinTimeSeconds      float64            `json:"min_time_seconds"`
	MaxTimeSeconds      float64            `json:"max_time_seconds"`
	ExpectedTimeSeconds float64            `json:"expected_time_seconds"`
	Breakdown           BuildTimeBreakdown `json:"time_breakdown"`
	Factors             []BuildTimeFactor  `json:"factors"`
}

// BuildTimeBreakdown is the time of the parts of a build. Each phase belongs to one part: WeightLoading;
// initialisation has ModelInitialization, LayerConstruction and ParameterBinding; Optimization; validation
// has Validation and FinalValidation; overhead has Finalization.
type BuildTimeBreakdown struct {
	WeightLoadingSeconds float64 `json:"weight_loading_seconds"`
	ModelInitSeconds     float64 `json:"model_init_seconds"`
	OptimizationSeconds  float64 `json:"optimization_seconds"`
	ValidationSeconds    float64 `json:"validation_seconds"`
	OverheadSeconds      float64 `json:"overhead_seconds"`
}

// Sum returns the sum of the parts.
func (b BuildTimeBreakdown) Sum() float64 {
	return b.WeightLoadingSeconds + b.ModelInitSeconds + b.OptimizationSeconds + b.ValidationSeconds + b.OverheadSeconds
}

// BuildTimeFactor is something that changes the time of a build.
type BuildTimeFactor struct {
	Factor string `json:"factor"`
	// Impact is what the time is multiplied by.
	Impact      float32 `json:"impact"`
	Description string  `json:"description"`
}

// Report states what a build did.
type Report struct {
	// Issues are the warnings.
	Issues []ir.Issue `json:"issues"`
	// Passes has the result of each pass.
	Passes []passes.Result `json:"passes"`
	// Took is the time of each part. Estimate is what was expected before.
	Took     BuildTimeBreakdown `json:"took"`
	Estimate BuildTimeEstimate  `json:"estimate"`
	// SessionSeconds is the part of optimisation in which an engine of graphs opened its session; 0: the
	// model has none.
	SessionSeconds float64 `json:"session_seconds,omitempty"`
}

// breakdown sorts the times of the phases into the parts.
func breakdown(times *[phases]time.Duration) BuildTimeBreakdown {
	s := func(p Phase) float64 { return times[p].Seconds() }
	return BuildTimeBreakdown{
		WeightLoadingSeconds: s(PhaseWeightLoading),
		ModelInitSeconds:     s(PhaseModelInitialization) + s(PhaseLayerConstruction) + s(PhaseParameterBinding),
		OptimizationSeconds:  s(PhaseOptimization), ValidationSeconds: s(PhaseValidation) + s(PhaseFinalValidation),
		OverheadSeconds: s(PhaseFinalization),
	}
}

// work is what the time of a build depends on.
type work struct{ bytes, layers float64 }

// speed is how fast builds are.
type speed struct {
	mu sync.Mutex
	// builds counts measured builds. Then read and placed are bytes in a second, and layer is the parts
	// of the time that depend on the number of layers, in seconds for one layer.
	builds       int
	read, placed float64
	layer        BuildTimeBreakdown
	// shortest and longest are the smallest and the largest ratio of a measured to an expected time.
	shortest, longest float64
}

// The parts of the speed of copying memory that reading and placing reach, and the seconds of a layer, for
// a machine that has built nothing yet.
const (
	readPart, placedPart    = 0.5, 0.1
	layerSeconds            = 50e-6
	firstLeast, firstMost   = 0.2, 20
	provenLeast, provenMost = 0.5, 2
)

// copyBytes is how much memory the calibration copies.
const copyBytes = 4 << 20

// calibrate measures the machine if nothing is measured yet. The caller holds mu.
func (s *speed) calibrate() {
	if s.read > 0 {
		return
	}
	from, to := make([]byte, copyBytes), make([]byte, copyBytes)
	fastest := 1.0
	for range 4 { // the first copy also makes the pages, and other programs may slow one down
		start := time.Now()
		copy(to, from)
		fastest = min(fastest, max(time.Since(start).Seconds(), 1e-6))
	}
	rate := copyBytes / fastest
	s.read, s.placed = rate*readPart, rate*placedPart
	s.layer = BuildTimeBreakdown{ModelInitSeconds: layerSeconds, OptimizationSeconds: layerSeconds, ValidationSeconds: 2 * layerSeconds, OverheadSeconds: layerSeconds / 10}
	s.shortest, s.longest = firstLeast, firstMost
}

// expect returns the times of the parts. The caller holds mu.
func (s *speed) expect(w work) BuildTimeBreakdown {
	return BuildTimeBreakdown{
		WeightLoadingSeconds: w.bytes / s.read, ModelInitSeconds: w.layers * s.layer.ModelInitSeconds,
		OptimizationSeconds: w.bytes/s.placed + w.layers*s.layer.OptimizationSeconds,
		ValidationSeconds:   w.layers * s.layer.ValidationSeconds, OverheadSeconds: w.layers * s.layer.OverheadSeconds,
	}
}

// estimate returns the time of a build.
func (s *speed) estimate(w work) BuildTimeEstimate {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calibrate()
	e := BuildTimeEstimate{Breakdown: s.expect(w), Factors: []BuildTimeFactor{}}
	e.ExpectedTimeSeconds = e.Breakdown.Sum()
	e.MinTimeSeconds, e.MaxTimeSeconds = e.ExpectedTimeSeconds*s.shortest, e.ExpectedTimeSeconds*s.longest
	if s.builds == 0 {
		e.Factors = append(e.Factors, BuildTimeFactor{
			Factor: "no build measured", Impact: float32(s.longest), Description: "this builder has built nothing: the estimate is from the speed of copies in memory",
		})
	} else {
		e.Factors = append(e.Factors, BuildTimeFactor{
			Factor: "files not in the cache", Impact: float32(s.longest), Description: "files that the system has to read from a disk take longer",
		})
	}
	return e
}

// learn takes over the times of a build.
func (s *speed) learn(w work, took BuildTimeBreakdown, placing time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calibrate()
	ratio := took.Sum() / max(s.expect(w).Sum(), 1e-9)
	if s.builds == 0 {
		s.shortest, s.longest = provenLeast, provenMost
	} else {
		s.shortest, s.longest = min(s.shortest, ratio), max(s.longest, ratio)
	}
	s.builds++
	mix := func(old *float64, new float64) {
		if s.builds == 1 {
			*old = new
		} else {
			*old = (*old + new) / 2
		}
	}
	if w.bytes > 0 {
		mix(&s.read, w.bytes/max(took.WeightLoadingSeconds, 1e-6))
		mix(&s.placed, w.bytes/max(placing.Seconds(), 1e-6))
	}
	layers := max(w.layers, 1)
	mix(&s.layer.ModelInitSeconds, took.ModelInitSeconds/layers)
	mix(&s.layer.OptimizationSeconds, max(took.OptimizationSeconds-placing.Seconds(), 0)/layers)
	mix(&s.layer.ValidationSeconds, took.ValidationSeconds/layers)
	mix(&s.layer.OverheadSeconds, took.OverheadSeconds/layers)
}
