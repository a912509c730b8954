package passes

import (
	"context"
	"math"

	"ferrum_mem/core/ir"
)

const opRun = "passes.run"

// Pass changes the definition of a model so that it runs faster or needs less memory, and computes the
// same. Any number of threads may use a Pass.
type Pass interface {
	// Name is unique in a pipeline.
	Name() string
	// Dependencies are the names of passes that must have run before this one.
	Dependencies() []string
	// IsApplicable states whether Apply has something to do. It does not change the model. Run skips
	// a pass that is not applicable.
	IsApplicable(m *ir.Model) bool
	// Apply changes the model, which is a copy that Run drops after an error. Run measures the numbers of
	// the result itself, whatever Apply states.
	Apply(ctx context.Context, m *ir.Model) (Result, error)
}

// Result states what a pass did.
type Result struct {
	// Pass is the name of the pass.
	Pass string `json:"pass"`
	// Applied is false if the model is as before.
	Applied  bool     `json:"applied"`
	Stats    Stats    `json:"stats"`
	Warnings []string `json:"warnings"`
	// Lengths are the lengths of the dynamic dimensions at which MemorySaved, and the times, were measured.
	Lengths map[string]uint64 `json:"lengths,omitempty"`
	// Times are the times of a run; nil: nobody measured them.
	Times *Times `json:"times,omitempty"`
}

// Times are the times of a run before and after a pass.
type Times struct {
	// BeforeNs and AfterNs are medians in nanoseconds, of as many runs as Runs states.
	BeforeNs uint64 `json:"before_ns"`
	AfterNs  uint64 `json:"after_ns"`
	Runs     int    `json:"runs"`
}

// speedup returns the time before divided by the time after. A time of 0 counts as one nanosecond.
func (t *Times) speedup() float32 { return float32(max(t.BeforeNs, 1)) / float32(max(t.AfterNs, 1)) }

// Stats are the numbers of a pass, or of several.
type Stats struct {
	// ParametersEliminated is the number of elements of removed parameters. Constants do not count.
	ParametersEliminated uint64 `json:"parameters_eliminated"`
	// OperationsEliminated is the number of removed nodes.
	OperationsEliminated uint64 `json:"operations_eliminated"`
	// MemorySaved is the decrease of the bytes of the parameters, and of the tensors that a run writes.
	MemorySaved uint64 `json:"memory_saved"`
	// EstimatedSpeedup is the time of a run before the pass divided by the time after it. It is 1 if
	// nobody measured the times.
	EstimatedSpeedup float32 `json:"estimated_speedup"`
}

// Total returns the numbers of all passes together: sums, and the product of the speed-ups. A sum or
// product that is too large is the largest number.
func Total(results []Result) Stats {
	total, speedup := Stats{}, 1.0
	for _, r := range results {
		total.ParametersEliminated = add(total.ParametersEliminated, r.Stats.ParametersEliminated)
		total.OperationsEliminated = add(total.OperationsEliminated, r.Stats.OperationsEliminated)
		total.MemorySaved = add(total.MemorySaved, r.Stats.MemorySaved)
		speedup *= float64(r.Stats.EstimatedSpeedup)
	}
	total.EstimatedSpeedup = float32(min(max(speedup, math.SmallestNonzeroFloat32), math.MaxFloat32))
	return total
}

// add returns a sum that does not wrap.
func add(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}
