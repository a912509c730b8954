package model

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"ferrum_mem/core/ir"
	"ferrum_mem/core/passes"
)

// A measurement of a pass takes fewestPairs pairs of runs, or as many as pairsTime has room for, up to
// mostPairs.
const (
	fewestPairs = 5
	mostPairs   = 51
	pairsTime   = 200 * time.Millisecond
)

// passTimer measures the times of a run before and after passes. Both models of a pass are built in the pool
// of the build, under ids of their own, and run in turn: other work of the machine slows both of them.
type passTimer struct {
	settings Settings
	number   *atomic.Uint64
	// kept is the model after the last pass; nil: none. definition is what it was built from.
	kept       *timedModel
	definition *ir.Model
}

// timedModel is a model that runs with the same lengths.
type timedModel struct {
	*Executor
	lengths map[string]uint64
}

// measure is the function of passes.Options. After an error it holds no memory.
func (p *passTimer) measure(ctx context.Context, before, after *ir.Model, lengths map[string]uint64) (times passes.Times, err error) {
	if p.definition != before {
		p.close()
		if p.kept, err = p.build(ctx, before, lengths); err != nil {
			return times, err
		}
	}
	next, err := p.build(ctx, after, lengths)
	if err != nil {
		p.close()
		return times, err
	}
	times, err = inTurn(ctx, p.kept, next)
	p.close()
	p.kept, p.definition = next, after
	if err != nil {
		p.close()
	}
	return times, err
}

// close ends the model that is kept.
func (p *passTimer) close() {
	if p.kept != nil {
		_ = p.kept.Close(true) // the pool reports what cannot be freed
	}
	p.kept, p.definition = nil, nil
}

// build builds a model.
func (p *passTimer) build(ctx context.Context, definition *ir.Model, lengths map[string]uint64) (*timedModel, error) {
	const mostOfID = 40
	s := p.settings
	s.ID = fmt.Sprintf("%s (measured %d)", strings.ToValidUTF8(s.ID[:min(len(s.ID), mostOfID)], ""), p.number.Add(1))
	s.Definition, s.file, s.Limits.GuaranteedBytes = definition, nil, 0
	x, err := New(ctx, s)
	if err != nil {
		return nil, err
	}
	return &timedModel{x, lengths}, nil
}

// run runs the model with the defaults of its inputs, or zeros.
func (t *timedModel) run(ctx context.Context) (took time.Duration, err error) {
	if err := ended(ctx, opBuild, nil); err != nil {
		return 0, err
	}
	start := time.Now()
	err = t.computation.rehearse(ctx, t.lengths)
	return time.Since(start), err
}

// inTurn runs two models in turn, and returns the median time of each.
func inTurn(ctx context.Context, before, after *timedModel) (passes.Times, error) {
	models := [2]*timedModel{before, after}
	var times [2][]time.Duration
	start := time.Now()
	for pair := 0; pair <= fewestPairs || pair <= mostPairs && time.Since(start) < pairsTime; pair++ {
		for i, m := range models {
			took, err := m.run(ctx)
			if err != nil {
				return passes.Times{}, err
			}
			if isWarm := pair > 0; isWarm {
				times[i] = append(times[i], took)
			}
		}
	}
	for i := range times {
		slices.Sort(times[i])
	}
	middle := len(times[0]) / 2
	return passes.Times{
		BeforeNs: uint64(times[0][middle].Nanoseconds()), AfterNs: uint64(times[1][middle].Nanoseconds()), Runs: len(times[0]),
	}, nil
}
