package ir

import "math"

// Strategy is a rule for the elements of a parameter that the weights do not have. "" is no rule: the
// elements must come from the weights.
type Strategy string

// The strategies. Fan-in is the last dimension of a matrix [out, in]; fan-out the first. They follow Glorot
// and Bengio (2010) and He et al. (2015).
const (
	StrategyZeros Strategy = "zeros"
	StrategyOnes  Strategy = "ones"
	// StrategyUniform is uniform in [Min, Max).
	StrategyUniform Strategy = "uniform"
	// StrategyNormal is normal with Mean and Std.
	StrategyNormal Strategy = "normal"
	// StrategyXavier is uniform in +-sqrt(6 / (fan-in + fan-out)).
	StrategyXavier Strategy = "xavier"
	// StrategyKaiming is uniform in +-sqrt(6 / fan-in).
	StrategyKaiming Strategy = "kaiming"
	// StrategyCustom has a name that the program knows.
	StrategyCustom Strategy = "custom"
)

// Initialization is a strategy with its numbers.
type Initialization struct {
	Strategy Strategy `json:"strategy"`
	Min      float32  `json:"min,omitempty"`
	Max      float32  `json:"max,omitempty"`
	Mean     float32  `json:"mean,omitempty"`
	Std      float32  `json:"std,omitempty"`
	// Name is the name of a custom strategy.
	Name string `json:"name,omitempty"`
}

// Strategies lists all strategies.
func Strategies() []Strategy {
	return []Strategy{StrategyZeros, StrategyOnes, StrategyUniform, StrategyNormal, StrategyXavier, StrategyKaiming, StrategyCustom}
}

// number is a number of a strategy with its field.
type number struct {
	name  string
	value float32
}

// numbers lists the numbers of all strategies.
func (i Initialization) numbers() []number {
	return []number{{"min", i.Min}, {"max", i.Max}, {"mean", i.Mean}, {"std", i.Std}}
}

// numbers returns the fields of the numbers that the strategy uses.
func (s Strategy) numbers() []string {
	switch s {
	case StrategyUniform:
		return []string{"min", "max"}
	case StrategyNormal:
		return []string{"mean", "std"}
	}
	return nil
}

// isFinite states whether a number is neither infinite nor NaN.
func isFinite(value float32) bool {
	return !math.IsNaN(float64(value)) && !math.IsInf(float64(value), 0)
}
