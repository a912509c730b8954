package placement

import (
	"strings"
	"sync"

	"ferrum_mem/core/device"
)

// The names of the built-in strategies.
const (
	BestFit    = "best_fit"
	Original   = "best_fit_original"
	Spread     = "spread"
	Pack       = "pack"
	RoundRobin = "round_robin"
)

// Names lists the built-in strategies.
func Names() []string { return []string{BestFit, Original, Spread, Pack, RoundRobin} }

// None is the result of a user's own strategy that chooses no device.
const None = -1

// Chooser is a user's own strategy. It returns the index of the chosen option, or None.
// It is called with no lock held and may call anything.
type Chooser func(r Request, options []Option) (int, error)

// Strategy chooses devices. It is safe for concurrent use.
type Strategy struct {
	name string
	// own is a user's own strategy, or nil.
	own Chooser

	mu sync.Mutex
	// last is the last choice of round robin.
	last    device.ID
	hasLast bool
}

// New creates a built-in strategy. For an unknown name it returns CodeNotFound with the
// list of the names.
func New(name string) (*Strategy, error) {
	for _, known := range Names() {
		if known == name {
			return &Strategy{name: name}, nil
		}
	}
	return nil, device.Errorf(device.CodeNotFound, "placement.create",
		"placement strategy %q: want one of %s", name, strings.Join(Names(), ", "))
}

// NewOwn creates a strategy of the user. It returns CodeInvalidArgument for an empty
// name, and CodeAlreadyExists for that of a built-in strategy.
func NewOwn(name string, choose Chooser) (*Strategy, error) {
	const op = "placement.create"
	if name == "" {
		return nil, device.Errorf(device.CodeInvalidArgument, op, "the name of the strategy is empty")
	}
	if choose == nil {
		return nil, device.Errorf(device.CodeNullPointer, op, "callback is nil")
	}
	if _, err := New(name); err == nil {
		return nil, device.Errorf(device.CodeAlreadyExists, op, "placement strategy %q is a built-in one", name)
	}
	return &Strategy{name: name, own: choose}, nil
}

// Name returns the name of the strategy.
func (s *Strategy) Name() string { return s.name }

// Verdict is the result for one candidate.
type Verdict struct {
	Option
	// Reason states whether it was chosen, and if not, why.
	Reason Reason
	// Score is the score of the strategy, the larger the better; Scored states that
	// there is one.
	Score  float64
	Scored bool
}

// Decision has the results for all candidates.
type Decision struct {
	// Chosen is an index into Verdicts, or None.
	Chosen   int
	Verdicts []Verdict
}
