package replay

import (
	"cmp"
	"math/bits"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/trace"
)

const modelsOp = "replay.run_models"

// A replay of several models merges their schedules in order of time. A request that
// had to wait starts or continues later by its wait. Its further steps are kept while
// it waits and are then played later by the same time. The schedule does not know of
// the wait.

// timed is a step with its time in the replay.
type timed struct {
	at   int64
	step trace.Step
}

// compare orders by time, then ends before other steps, then by request.
func (t timed) compare(other timed) int {
	return cmp.Or(cmp.Compare(t.at, other.at), cmp.Compare(rank(t.step), rank(other.step)),
		cmp.Compare(t.step.Request, other.step.Request), cmp.Compare(t.step.FirstBlock, other.step.FirstBlock))
}

func rank(s trace.Step) int {
	if s.Kind == trace.End {
		return 0
	}
	return 1
}

// progress is the state of a request that deviates from its schedule.
type progress struct {
	lateNS  int64
	waiting bool
	dropped bool
	// kept has its steps that became due while it waits.
	kept []timed
}

// feed returns the steps of one model.
type feed struct {
	schedule *trace.Schedule
	delayNS  int64
	// next is the schedule's next step, if has is true.
	next timed
	has  bool
	// late has the steps of late requests, sorted.
	late   []timed
	active map[int]*progress
}

func newFeed(s *trace.Schedule, delayNS int64) *feed {
	return &feed{schedule: s, delayNS: delayNS, active: make(map[int]*progress)}
}

// peek returns the next step; false at the end, or while all remaining steps wait.
func (f *feed) peek() (timed, bool) {
	for f.fetch() && f.absorb(f.next) {
		f.has = false
	}
	for len(f.late) > 0 && f.absorb(f.late[0]) {
		f.late = f.late[1:]
	}
	switch {
	case len(f.late) > 0 && (!f.has || f.late[0].compare(f.next) < 0):
		return f.late[0], true
	case f.has:
		return f.next, true
	}
	return timed{}, false
}

// fetch reads the schedule's next step, unless there is none.
func (f *feed) fetch() bool {
	for !f.has {
		s, ok := f.schedule.Next()
		if !ok {
			return false
		}
		t := timed{at: s.TimeNS + f.delayNS, step: s}
		if p := f.active[s.Request]; p != nil && p.lateNS > 0 && !p.dropped {
			t.at += p.lateNS
			f.insert(t)
			continue
		}
		f.next, f.has = t, true
	}
	return true
}

// absorb reports whether a step must not be played now, and keeps it if it is to be
// played later.
func (f *feed) absorb(t timed) bool {
	p := f.active[t.step.Request]
	switch {
	case p == nil:
		return false
	case p.dropped:
		if t.step.Kind == trace.End {
			delete(f.active, t.step.Request)
		}
		return true
	case p.waiting:
		p.kept = append(p.kept, t)
		return true
	}
	return false
}

func (f *feed) insert(t timed) {
	at, _ := slices.BinarySearchFunc(f.late, t, timed.compare)
	f.late = slices.Insert(f.late, at, t)
}

// take removes the step that peek returned.
func (f *feed) take(t timed) {
	if f.has && f.next.compare(t) == 0 {
		f.has = false
	} else {
		f.late = f.late[1:]
	}
	if t.step.Kind == trace.End {
		delete(f.active, t.step.Request)
	}
}

// hold delays the further steps of a request.
func (f *feed) hold(request int) {
	p := f.active[request]
	if p == nil {
		p = &progress{}
		f.active[request] = p
	}
	p.waiting = true
}

// resume continues a held request, later by that time. Since the hold the caller has
// played only steps that peek returned.
func (f *feed) resume(request int, byNS int64) error {
	p := f.active[request]
	sum, carry := bits.Add64(uint64(p.lateNS), uint64(byNS), 0)
	if carry != 0 || sum > maxLateNS {
		return device.Errorf(device.CodeOverflow, modelsOp, "a request has waited for more than %d ns in all", int64(maxLateNS))
	}
	p.waiting, p.lateNS = false, int64(sum)
	// Steps that are late from an earlier wait are not all played yet.
	for _, t := range slices.Concat(p.kept, f.takeLate(request)) {
		t.at += byNS
		f.insert(t)
	}
	p.kept = nil
	return nil
}

// takeLate removes the late steps of a request, in their order.
func (f *feed) takeLate(request int) (taken []timed) {
	f.late = slices.DeleteFunc(f.late, func(t timed) bool {
		if t.step.Request != request {
			return false
		}
		taken = append(taken, t)
		return true
	})
	return taken
}

// drop discards the further steps of a request.
func (f *feed) drop(request int) {
	p := f.active[request]
	if p == nil {
		f.active[request] = &progress{dropped: true}
		return
	}
	ended := slices.ContainsFunc(slices.Concat(p.kept, f.takeLate(request)), func(t timed) bool { return t.step.Kind == trace.End })
	p.dropped, p.waiting, p.kept = true, false, nil
	if ended {
		delete(f.active, request)
	}
}
