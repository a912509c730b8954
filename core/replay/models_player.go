package replay

import (
	"context"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/trace"
)

// The rig plays the merged steps of several models. At one instant the order is: ends;
// then waiting requests that can be served; then waiting requests that fail because
// their time is over; then the allocations, in order of the models and of arrival.
//
// A step is served completely or not at all. With a wait, a step that cannot be served
// joins the queue of its model. Growing requests come before arriving ones, each kind
// in order of arrival, and a request never passes another one of its model and kind.
// When memory is freed, the first waiter of each model is tried, the one with the
// longest wait first.

// blockSource is the source of a model's blocks.
type blockSource interface {
	memory
	// room returns how many bytes the model could allocate now, in whole pages.
	room() uint64
	// physical returns the memory of the model's live blocks.
	physical() uint64
}

// modelPlayer is a model in a rig.
type modelPlayer struct {
	feed     *feed
	source   blockSource
	holdings map[int]*holding
	resident map[trace.ShareKey]*shared
	// line has the waiting steps, growing ones first.
	line []*waiting
}

// waiting is a step that could not be served when it came.
type waiting struct {
	model int
	step  trace.Step
	since int64
	// over: the step was served, or has failed.
	over bool
}

// rig plays models.
type rig struct {
	tenants   []*modelPlayer
	meter     *modelsMeter
	pageBytes uint64
	waitNS    int64
	// due has all waiting steps, in the order in which their time ends.
	due     []*waiting
	arrived int
	// untilFailure ends the replay when a request has failed; failed records that.
	untilFailure, failed bool
	// pass moves the time forward to now. settle is called after each instant's step.
	pass   func(now int64)
	settle func()
}

func newRig(feeds []*feed, seats []blockSource, meter *modelsMeter, pageBytes uint64) *rig {
	r := &rig{meter: meter, pageBytes: pageBytes, settle: func() {}}
	r.pass = meter.advance
	for i, f := range feeds {
		r.tenants = append(r.tenants, &modelPlayer{
			feed: f, source: seats[i], holdings: make(map[int]*holding), resident: make(map[trace.ShareKey]*shared),
		})
	}
	return r
}

// play runs to the end, and checks the context from time to time.
func (r *rig) play(ctx context.Context, arrived func(int)) error {
	const lookUpEvery = 256
	for steps := 0; ; steps++ {
		if steps%lookUpEvery == 0 {
			if ctx.Err() != nil {
				return device.Errorf(device.CodeCancelled, modelsOp, "stopped after %d requests", r.arrived)
			}
			arrived(r.arrived)
		}
		more, err := r.next()
		if err != nil {
			return err
		}
		if !more {
			arrived(r.arrived)
			return nil
		}
	}
}

// next plays the next event: a step, or the end of a wait.
func (r *rig) next() (bool, error) {
	if r.failed && r.untilFailure {
		return false, nil
	}
	model, first := -1, timed{}
	for i, t := range r.tenants {
		s, ok := t.feed.peek()
		if ok && (model < 0 || s.at < first.at || s.at == first.at && rank(s.step) < rank(first.step)) {
			model, first = i, s
		}
	}
	for len(r.due) > 0 && r.due[0].over {
		r.due = r.due[1:]
	}
	if len(r.due) > 0 {
		until := r.due[0].since + r.waitNS
		if model < 0 || until < first.at || until == first.at && first.step.Kind != trace.End {
			w := r.due[0]
			r.due = r.due[1:]
			return true, r.expire(w, until)
		}
	}
	if model < 0 {
		return false, nil
	}
	r.pass(first.at)
	r.tenants[model].feed.take(first)
	err := r.step(model, first)
	r.settle()
	return true, err
}

func (r *rig) step(model int, s timed) error {
	t := r.tenants[model]
	switch s.step.Kind {
	case trace.End:
		if err := r.end(model, s.step.Request); err != nil {
			return err
		}
		return r.serve(s.at)
	case trace.Arrive:
		r.arrived++
		t.holdings[s.step.Request] = &holding{}
	}
	if t.mustQueue(s.step) {
		r.enqueue(model, s)
		return nil
	}
	refused, err := r.add(model, s.step)
	switch {
	case err != nil || refused == nil:
		return err
	case r.waitNS > 0 && refused.reason != ReasonTooLarge:
		r.enqueue(model, s)
		return nil
	}
	return r.fail(model, s.at, s.step, refused.reason)
}

// mustQueue reports whether requests of the same kind already wait before a step.
func (t *modelPlayer) mustQueue(s trace.Step) bool {
	if s.Kind == trace.Grow {
		return len(t.line) > 0 && t.line[0].step.Kind == trace.Grow
	}
	return len(t.line) > 0
}

func (r *rig) enqueue(model int, s timed) {
	t := r.tenants[model]
	w := &waiting{model: model, step: s.step, since: s.at}
	at := len(t.line)
	for s.step.Kind == trace.Grow && at > 0 && t.line[at-1].step.Kind != trace.Grow {
		at--
	}
	t.line = slices.Insert(t.line, at, w)
	r.due = append(r.due, w)
	t.feed.hold(s.step.Request)
}

// add allocates the blocks of a step for a request, all or none.
func (r *rig) add(model int, s trace.Step) (*refusal, error) {
	t := r.tenants[model]
	h := t.holdings[s.Request]
	own, keys := len(h.own), len(h.keys)
	for i := range s.Blocks {
		key, sharable := t.feed.schedule.Shared(s.Request, s.FirstBlock+i)
		if at := t.resident[key]; sharable && at != nil {
			at.holders++
			h.keys = append(h.keys, key)
			continue
		}
		b, refused, err := t.source.alloc(blockRequest{size: s.BlockBytes})
		if err != nil {
			return nil, err
		}
		if refused != nil {
			return refused, r.release(model, h, own, keys)
		}
		r.meter.allocated(model, s.BlockBytes)
		if sharable {
			t.resident[key] = &shared{block: b, holders: 1}
			h.keys = append(h.keys, key)
		} else {
			h.own = append(h.own, b)
		}
	}
	return nil, nil
}

// release frees the own blocks of a request from index own on, and its keys from index
// keys on.
func (r *rig) release(model int, h *holding, own, keys int) error {
	t := r.tenants[model]
	for _, b := range h.own[own:] {
		if err := r.free(model, b); err != nil {
			return err
		}
	}
	for _, key := range h.keys[keys:] {
		at := t.resident[key]
		if at.holders--; at.holders > 0 {
			continue
		}
		delete(t.resident, key)
		if err := r.free(model, at.block); err != nil {
			return err
		}
	}
	h.own, h.keys = h.own[:own], h.keys[:keys]
	return nil
}

func (r *rig) free(model int, b block) error {
	err := r.tenants[model].source.free(b)
	r.meter.freed(model, b.size)
	return err
}

func (r *rig) end(model, request int) error {
	t := r.tenants[model]
	h := t.holdings[request]
	delete(t.holdings, request)
	return r.release(model, h, 0, 0)
}

// fail drops a request that was not served.
func (r *rig) fail(model int, now int64, s trace.Step, reason string) error {
	t := r.tenants[model]
	r.failed = true
	r.meter.refused(model, Failure{
		Time: now, Request: s.Request, Line: t.feed.schedule.Line(s.Request), SizeBytes: s.BlockBytes, Reason: reason,
	})
	t.feed.drop(s.Request)
	if err := r.end(model, s.Request); err != nil {
		return err
	}
	return r.serve(now)
}

// expire ends a wait whose time is over.
func (r *rig) expire(w *waiting, now int64) error {
	r.pass(now)
	t := r.tenants[w.model]
	w.over = true
	t.line = slices.DeleteFunc(t.line, func(other *waiting) bool { return other == w })
	err := r.fail(w.model, now, w.step, ReasonLimit)
	r.settle()
	return err
}

// serve serves the waiting requests for which there is memory now.
func (r *rig) serve(now int64) error {
	stuck := make([]bool, len(r.tenants))
	for {
		var w *waiting
		for i, t := range r.tenants {
			if len(t.line) > 0 && !stuck[i] && (w == nil || t.line[0].since < w.since) {
				w = t.line[0]
			}
		}
		if w == nil {
			return nil
		}
		t := r.tenants[w.model]
		if r.wants(w) > t.source.room() {
			stuck[w.model] = true
			continue
		}
		refused, err := r.add(w.model, w.step)
		if err != nil {
			return err
		}
		if refused != nil {
			stuck[w.model] = true
			continue
		}
		w.over = true
		t.line = t.line[1:]
		r.meter.waited(w.model, now-w.since)
		if err := t.feed.resume(w.step.Request, now-w.since); err != nil {
			return err
		}
	}
}

// wants returns the bytes of the pages that a step needs and that other requests do not
// already hold.
func (r *rig) wants(w *waiting) uint64 {
	t, pages := r.tenants[w.model], uint64(0)
	each := inPages(w.step.BlockBytes, r.pageBytes)
	for i := range w.step.Blocks {
		key, sharable := t.feed.schedule.Shared(w.step.Request, w.step.FirstBlock+i)
		if !sharable || t.resident[key] == nil {
			pages += each
		}
	}
	return pages
}

// inPages rounds up to whole pages; blocks are far too small for an overflow.
func inPages(bytes, pageBytes uint64) uint64 { return (bytes + pageBytes - 1) / pageBytes * pageBytes }
