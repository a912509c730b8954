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

// None is the answer of a user's own strategy that wants none of the devices.
const None = -1

// Chooser is a user's own strategy: it gives the index of the option that it takes,
// or None. It is called with no lock held and may call anything.
type Chooser func(r Request, options []Option) (int, error)

// Strategy chooses devices. It is safe for concurrent use.
type Strategy struct {
	name string
	// own is a user's own choice, or nil.
	own Chooser

	mu sync.Mutex
	// last is the device of round robin's last choice.
	last    device.ID
	hasLast bool
}

// New makes a built-in strategy; CodeNotFound for a name that is none, which lists
// those that there are.
func New(name string) (*Strategy, error) {
	for _, known := range Names() {
		if known == name {
			return &Strategy{name: name}, nil
		}
	}
	return nil, device.Errorf(device.CodeNotFound, "placement.create",
		"placement strategy %q: want one of %s", name, strings.Join(Names(), ", "))
}

// NewOwn makes a strategy of the user's. The name is not empty and none of the
// built-in ones: CodeInvalidArgument and CodeAlreadyExists.
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

// Name is the name of the strategy.
func (s *Strategy) Name() string { return s.name }

// Verdict is what became of one candidate.
type Verdict struct {
	Option
	// Reason says whether it was chosen, and if not, why.
	Reason Reason
	// Score is the strategy's, the larger the better; Scored says that there is one.
	Score  float64
	Scored bool
}

// Decision is what became of all candidates.
type Decision struct {
	// Chosen is an index into Verdicts, or None.
	Chosen   int
	Verdicts []Verdict
}
