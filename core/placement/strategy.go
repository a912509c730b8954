package placement

import (
	"fmt"
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

// Select chooses a device for a request; of equal ones the first in the list. Where
// none can serve it that is CodeNotFound, with the reason for each, and the
// decision says the same. Other errors: CodeInvalidSize, CodeInvalidAlignment and
// CodeInvalidArgument for the request; those of a user's own strategy, with its
// name.
func (s *Strategy) Select(r Request, candidates []Candidate) (Decision, error) {
	return s.decide(r, candidates, true)
}

// Explain is Select without a consequence: the turn of round robin stays where it
// is, and that none was chosen is no error. A user's own strategy is called.
func (s *Strategy) Explain(r Request, candidates []Candidate) (Decision, error) {
	d, err := s.decide(r, candidates, false)
	if d.Verdicts != nil && device.CodeOf(err) == device.CodeNotFound {
		return d, nil
	}
	return d, err
}

func (s *Strategy) decide(r Request, candidates []Candidate, turn bool) (Decision, error) {
	if err := r.check(); err != nil {
		return Decision{Chosen: None}, err
	}
	options := make([]Option, len(candidates))
	for i, c := range candidates {
		if !c.Profile.Known() {
			return Decision{Chosen: None}, c.Profile.Check("placement.select")
		}
		options[i] = s.weigh(r, c)
	}
	d := Decision{Chosen: None, Verdicts: make([]Verdict, len(options))}
	for i, o := range options {
		d.Verdicts[i] = Verdict{Option: o, Reason: o.Reason}
	}
	var err error
	switch {
	case s.own != nil:
		err = s.takeOwn(r, options, &d)
	case s.name == RoundRobin:
		s.takeTurn(r, &d, turn)
	default:
		s.takeBest(r, &d)
	}
	if err == nil && d.Chosen == None {
		err = s.none(r, d)
	}
	return d, err
}

// weigh is the rules for all strategies; the original formula knows of free bytes
// alone.
func (s *Strategy) weigh(r Request, c Candidate) Option {
	if s.name != Original {
		return weigh(r, c)
	}
	o := Option{Candidate: c, NeedBytes: r.SizeBytes, Rank: r.rank(c.Device)}
	switch {
	case !c.Known:
		o.Reason = NoInformation
	case c.FreeBytes < r.SizeBytes:
		o.Reason = TooSmall
	}
	o.LevelAfter = levelAfter(c, r.SizeBytes)
	return o
}

// none says why there is no choice.
func (s *Strategy) none(r Request, d Decision) error {
	var why []string
	for _, v := range d.Verdicts {
		why = append(why, fmt.Sprintf("%v: %v (%d bytes needed, %d free)", v.Device, v.Reason, v.NeedBytes, v.FreeBytes))
	}
	if len(why) == 0 {
		why = []string{"there are no candidates"}
	}
	return device.Errorf(device.CodeNotFound, "placement.select", "%s found no device for size_bytes %d: %s",
		s.name, r.SizeBytes, strings.Join(why, "; "))
}
