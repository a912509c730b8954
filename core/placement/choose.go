package placement

import (
	"fmt"

	"ferrum_mem/core/device"
)

// field returns the candidates that remain after tiers and strict order. It sets the
// reason of the others.
func field(r Request, d *Decision) []int {
	var serving []int
	for i, v := range d.Verdicts {
		if v.Serves() {
			serving = append(serving, i)
		}
	}
	if r.Strict {
		if first, ok := firstPreferred(d, serving); ok {
			return keep(d, serving, NotPreferred, func(v Verdict) bool { return v.Rank == first })
		}
	}
	best := -1
	for _, i := range serving {
		if best < 0 || d.Verdicts[i].Tier < best {
			best = d.Verdicts[i].Tier
		}
	}
	return keep(d, serving, LowerTier, func(v Verdict) bool { return v.Tier == best })
}

func firstPreferred(d *Decision, among []int) (rank int, ok bool) {
	for _, i := range among {
		if own := d.Verdicts[i].Rank; own > 0 && (!ok || own < rank) {
			rank, ok = own, true
		}
	}
	return rank, ok
}

// keep returns the wanted candidates and sets the reason of the others.
func keep(d *Decision, among []int, why Reason, wanted func(Verdict) bool) []int {
	var kept []int
	for _, i := range among {
		if wanted(d.Verdicts[i]) {
			kept = append(kept, i)
		} else {
			d.Verdicts[i].Reason = why
		}
	}
	return kept
}

func (d *Decision) take(index int) {
	d.Chosen = index
	d.Verdicts[index].Reason = Chosen
}

// takeBest computes the score of every candidate that can serve the request and takes
// the best of the remaining ones.
func (s *Strategy) takeBest(r Request, d *Decision) {
	for i := range d.Verdicts {
		if v := &d.Verdicts[i]; v.Serves() {
			v.Score, v.Scored = s.score(r, v.Option), true
		}
	}
	among := serving(d)
	if s.name != Original {
		among = field(r, d)
	}
	best := None
	for _, i := range among {
		v := &d.Verdicts[i]
		if noScore(v.Score) {
			v.Reason, v.Score, v.Scored = Unscored, 0, false
			continue
		}
		v.Reason = Outscored
		if best == None || v.Score > d.Verdicts[best].Score {
			best = i
		}
	}
	if best != None {
		d.take(best)
	}
}

func serving(d *Decision) []int {
	var list []int
	for i, v := range d.Verdicts {
		if v.Serves() {
			list = append(list, i)
		}
	}
	return list
}

func (s *Strategy) score(r Request, o Option) float64 {
	switch s.name {
	case Spread:
		return float64(FreeShare(o) + preferenceBonus(o.Rank))
	case Pack:
		return float64(FilledShare(o) + preferenceBonus(o.Rank))
	case Original:
		return float64(OriginalScore(o, r.SizeBytes))
	default:
		return float64(BestFitScore(o, r.SizeBytes))
	}
}

// takeTurn takes the candidate after the last chosen one, in the order of the list; if
// that one is not in the list, the first. If preferred devices remain, it rotates among
// them.
func (s *Strategy) takeTurn(r Request, d *Decision, turn bool) {
	among := field(r, d)
	if _, ok := firstPreferred(d, among); ok {
		among = keep(d, among, NotPreferred, func(v Verdict) bool { return v.Rank > 0 })
	}
	if len(among) == 0 {
		return
	}
	for _, i := range among {
		d.Verdicts[i].Reason = NotItsTurn
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next := among[0]
	if at := s.lastIn(d); at >= 0 {
		for _, i := range among {
			if i > at {
				next = i
				break
			}
		}
	}
	d.take(next)
	if turn {
		s.last, s.hasLast = d.Verdicts[next].Device, true
	}
}

// lastIn returns the index of the last chosen device in the list; -1: it is not there.
func (s *Strategy) lastIn(d *Decision) int {
	for i, v := range d.Verdicts {
		if s.hasLast && v.Device == s.last {
			return i
		}
	}
	return -1
}

// takeOwn calls the user's strategy.
func (s *Strategy) takeOwn(r Request, options []Option, d *Decision) error {
	index, err := s.call(r, options)
	for i := range d.Verdicts {
		if d.Verdicts[i].Serves() {
			d.Verdicts[i].Reason = NotTaken
		}
	}
	const op = "placement.select"
	switch {
	case err != nil:
		return device.Errorf(device.CodeOf(err), op, "placement strategy %q: %w", s.name, err)
	case index == None:
		return nil
	case index < 0 || index >= len(options):
		return device.Errorf(device.CodeInvalidArgument, op,
			"placement strategy %q chose candidate %d of %d", s.name, index, len(options))
	case !options[index].Serves():
		return device.Errorf(device.CodeInvalidArgument, op, "placement strategy %q chose %v, which cannot serve the request: %v",
			s.name, options[index].Device, options[index].Reason)
	}
	d.take(index)
	return nil
}

// call calls the user's strategy. It turns a panic of the strategy into an error.
func (s *Strategy) call(r Request, options []Option) (index int, err error) {
	defer func() {
		if value := recover(); value != nil {
			index, err = None, device.Errorf(device.CodeInternal, "placement.own", "it panicked: %s", fmt.Sprint(value))
		}
	}()
	return s.own(r, options)
}
