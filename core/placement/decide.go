package placement

import (
	"fmt"
	"strings"

	"ferrum_mem/core/device"
)

// Select chooses a device for a request; of equal ones the first in the list. If none
// can serve it, Select returns CodeNotFound with the reason for each, which the
// decision also has. Other errors: CodeInvalidSize, CodeInvalidAlignment and
// CodeInvalidArgument for the request; those of a user's own strategy, with its name.
func (s *Strategy) Select(r Request, candidates []Candidate) (Decision, error) {
	return s.decide(r, candidates, true)
}

// Explain is Select without effect: the turn of round robin does not advance, and it is
// no error if no device can be chosen. It calls a user's own strategy.
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

// weigh applies the rules of all strategies; the original formula uses only the free
// bytes.
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

// none returns the error with the reasons why there is no choice.
func (s *Strategy) none(r Request, d Decision) error {
	var why []string
	for _, v := range d.Verdicts {
		why = append(why, fmt.Sprintf("%v: %v (%v needed, %v free)", v.Device, v.Reason, device.Size(v.NeedBytes), device.Size(v.FreeBytes)))
	}
	if len(why) == 0 {
		why = []string{"there are no candidates"}
	}
	return device.Errorf(device.CodeNotFound, "placement.select", "%s found no device for size_bytes %d: %s",
		s.name, r.SizeBytes, strings.Join(why, "; "))
}
