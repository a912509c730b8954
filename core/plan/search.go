package plan

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"
)

const (
	// MaxSearched is the most items of a part that is searched. The stack of a run has at
	// most half the square of this number of entries, which are 32 MiB. Larger parts keep
	// their greedy placement.
	MaxSearched = 2048
	// shuffledOrders is the number of random orders of each round.
	shuffledOrders = 3
	// lookEvery is the number of steps between two looks at the clock and the context.
	lookEvery = 256
	// reportEvery is the time between two calls of Progress.
	reportEvery = 100 * time.Millisecond
)

// search improves the placements of parts. It works in rounds. In each round every order
// gets the same number of steps, and the next round gives each of them twice as many: an
// order that is lucky soon ends the search before an unlucky one has cost much.
type search struct {
	ctx     context.Context
	problem *problem
	options Options
	started time.Time
	// reported is when Progress was called last.
	reported time.Time
	seen     *seen
	// steps are those of all runs, and left those that the present run may still take.
	steps, left uint64
	// ended: the time or the steps of the whole search are used up, or the context ended.
	ended bool
}

// height is the height of the arena so far.
func (p *problem) height() uint64 {
	var height uint64
	for i := range p.parts {
		height = max(height, p.parts[i].height)
	}
	return height
}

// bound is a size below which there is no arena.
func (p *problem) bound() uint64 {
	var bound uint64
	for i := range p.parts {
		bound = max(bound, p.parts[i].bound)
	}
	return bound
}

// goal is the height with which the search ends: no arena can be smaller than the bound,
// and none needs to be smaller than the limit.
func (s *search) goal() uint64 { return max(s.problem.bound(), s.options.LimitBytes) }

// hopeless states whether there is no arena within the limit.
func (s *search) hopeless() bool {
	return s.options.LimitBytes > 0 && s.problem.bound() > s.options.LimitBytes
}

// searched states whether a search can help a part.
func (s *search) searched(p *part) bool { return p.height > s.goal() && len(p.items) <= MaxSearched }

// improve searches until the goal is reached or the search has ended.
func (s *search) improve() {
	for round := 0; !s.ended; round++ {
		searched := false
		for i := range s.problem.parts {
			p := &s.problem.parts[i]
			for n := 0; n < len(fixedOrders)+shuffledOrders; n++ {
				if s.ended || s.hopeless() {
					return
				}
				if !s.searched(p) {
					break
				}
				searched = true
				s.improvePart(i, n, round)
			}
		}
		if !searched {
			return
		}
	}
}

// improvePart gives one order of a part its steps of one round.
func (s *search) improvePart(i, n, round int) {
	p := &s.problem.parts[i]
	if round == 0 {
		p.computeLoads()
	}
	// The same fixed order has the same states in each round. A random order is new.
	order, name := ordered(p.items, fixedOrders[n%len(fixedOrders)]), uint64(n)
	if n >= len(fixedOrders) {
		name += uint64(round+1) << 8
		random := rand.New(rand.NewPCG(s.options.Seed, uint64(i)<<32|name))
		order = shuffled(order, 0.02*float64(int(1)<<(n-len(fixedOrders))), random)
	}
	s.consider(p, order)
	budget := uint64(len(p.items)) << min(round+2, 32)
	name = name<<32 | uint64(i)
	unit := s.problem.unit
	if p.height <= s.goal() {
		return
	}
	s.try(p, s.goal()/unit*unit, order, name, budget)
	if s.options.LimitBytes > 0 {
		// Only the goal matters. Better arenas above it are for those who watch, and for the
		// case that the search does not reach the goal.
		budget /= 4
	}
	// Between the goal and the height so far, each success makes the next attempt lower,
	// and each failure makes it less low.
	for !s.ended && p.height > s.goal() {
		less := max((p.height-s.goal())>>p.caution/unit*unit, unit)
		switch s.try(p, p.height-less, order, name, budget) {
		case found:
			p.caution = max(p.caution-1, 1)
		case paused:
			p.caution = min(p.caution+1, 63)
			return
		}
	}
}

// consider keeps the greedy placement by an order if it is better.
func (s *search) consider(p *part, order []int32) {
	offsets := make([]uint64, len(p.items))
	height, err := greedy(s.ctx, p.items, order, offsets)
	if err == nil {
		s.keep(p, height, offsets)
	}
}

// try runs a search within a capacity, and keeps what it finds out.
func (s *search) try(p *part, capacity uint64, order []int32, name, budget uint64) outcome {
	items := make([]item, len(order))
	for rank, i := range order {
		items[rank] = p.items[i]
	}
	r := newRun(items, p.sections, capacity)
	r.seen, r.pause = s.seen, s.pause
	r.salt = name*0x9FB21C651E98DF25 ^ capacity*0xD6E8FEB86659FD93
	s.left = budget
	result := r.solve()
	switch result {
	case found:
		offsets := make([]uint64, len(order))
		var height uint64
		for rank, i := range order {
			offsets[i] = r.low[rank]
			height = max(height, r.low[rank]+items[rank].size)
		}
		s.keep(p, height, offsets)
	case excluded:
		p.bound = max(p.bound, capacity+s.problem.unit)
	}
	return result
}

func (s *search) keep(p *part, height uint64, offsets []uint64) {
	if height >= p.height {
		return
	}
	before := s.problem.height()
	p.height, p.offsets = height, offsets
	if s.problem.height() < before {
		s.report()
	}
}

// pause states whether the present run must end. It counts a step otherwise.
func (s *search) pause() bool {
	if s.left == 0 || s.ended {
		return true
	}
	if s.options.Steps > 0 && s.steps == s.options.Steps {
		s.ended = true
		return true
	}
	s.left--
	s.steps++
	if s.steps%lookEvery == 0 {
		s.look()
	}
	return s.ended
}

// look checks the clock and the context.
func (s *search) look() {
	if s.ctx.Err() != nil {
		s.ended = true
		return
	}
	if s.options.Time == 0 && s.options.Progress == nil {
		return
	}
	now := time.Now()
	if s.options.Time > 0 && now.Sub(s.started) >= s.options.Time {
		s.ended = true
	} else if now.Sub(s.reported) >= reportEvery {
		s.reported = now
		s.report()
	}
}

func (s *search) report() {
	if s.options.Progress != nil {
		s.options.Progress(Progress{s.problem.height(), s.problem.bound(), s.steps})
	}
}

// computeLoads sets the load of each item.
func (p *part) computeLoads() {
	loads := make([]uint64, p.sections)
	for i := range p.items {
		for s := p.items[i].first; s < p.items[i].end; s++ {
			loads[s] += p.items[i].size
		}
	}
	for i := range p.items {
		it := &p.items[i]
		it.load = slices.Max(loads[it.first:it.end])
	}
}
