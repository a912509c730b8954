package plan

import (
	"context"
	"time"

	"ferrum_mem/core/device"
)

// Place gives each buffer an offset in an arena, so that buffers that live at the same time
// share no byte. The arena is as small as the greedy placement makes it or, if the options
// allow a search, as small as the search finds it in its time. A result above
// Options.LimitBytes is no error; the caller compares. Place returns the smallest arena
// that it found when the time or the steps are used up.
//
// A malformed buffer returns CodeInvalidArgument, CodeInvalidSize or CodeInvalidAlignment,
// and the message has the index of the buffer. Sizes beyond MaxArenaBytes together return
// CodeOverflow. If ctx ends, Place returns CodeCancelled. Without a search, buffers of the
// size of a transformer take some tens of microseconds.
func Place(ctx context.Context, buffers []Buffer, o Options) (*Placement, error) {
	if o.Time < 0 {
		return nil, invalid(device.CodeInvalidArgument, "the time %v of the search must not be negative", o.Time)
	}
	if ctx.Err() != nil {
		return nil, stopped()
	}
	p, err := newProblem(buffers)
	if err != nil {
		return nil, err
	}
	for i := range p.parts {
		part := &p.parts[i]
		part.offsets = make([]uint64, len(part.items))
		if part.height, err = greedy(ctx, part.items, ordered(part.items, largestFirst), part.offsets); err != nil {
			return nil, err
		}
	}
	result := &Placement{PeakBytes: p.bound(), GreedyBytes: p.height()}
	s := search{ctx: ctx, problem: p, options: o}
	if (o.Time > 0 || o.Steps > 0) && p.height() > s.goal() && !s.hopeless() {
		s.started, s.seen = time.Now(), newSeen()
		s.reported = s.started
		s.improve()
		if ctx.Err() != nil {
			return nil, stopped()
		}
	}
	result.ArenaBytes, result.LowerBoundBytes, result.Steps = p.height(), p.bound(), s.steps
	result.OffsetsBytes = make([]uint64, len(buffers))
	for i := range p.parts {
		part := &p.parts[i]
		for j := range part.items {
			result.OffsetsBytes[part.items[j].index] = part.offsets[j]
		}
	}
	return result, nil
}
