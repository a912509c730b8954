package vmm

import (
	"errors"
	"fmt"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/track"
)

// The search for pages: the steps for an order that cannot pass a stage. After each
// step the order is checked again.
//
//  1. Retiring ranges of all models whose work has completed are parked.
//  2. The search waits for freed ranges that queued work still uses, where their pages
//     would help: ranges of the order's own model and of models above their guarantee.
//  3. The reclaim callbacks of the models above their guarantee are called in the order
//     of quota.reclaimOrder, and the callbacks of one model in order of registration. The
//     steps before follow each call.
//
// A thread that may not wait, because it runs inside a callback, stops after the first
// step. Taking free pages from other models needs no step: the limit counts only used
// pages, and Physical.fetch takes free pages from any owner.

// search is the search of an order at one stage.
type search struct {
	shared    *Elastic
	admission *admission
	stage     *stage
	// helpers returns the models whose pages would help, in the order in which they are
	// called.
	helpers func() []*Model

	waiter *waiter
	// waited is the time that the search has waited for work in the streams.
	waited time.Duration
}

// pass takes the order through the stage.
func (f *search) pass() error {
	if over, err := f.try(nil); over {
		return err
	}
	f.shared.physical.CompleteFrees()
	mayWait := f.shared.scale.engine.MayWait() && !f.admission.noWait
	if over, err := f.try(&mayWait); over {
		return err
	}
	start := track.Now()
	select {
	case <-f.waiter.ended:
	case <-f.admission.done:
		f.fail()
		<-f.waiter.ended
	case <-f.waiter.turn:
		if !f.findRoom() {
			f.fail()
		}
		<-f.waiter.ended
	}
	f.admission.model.noteWait(track.Now() - start)
	return f.waiter.err
}

// try lets the order pass if that is possible now. over is true if nothing remains to
// try. In the first try mayWait is nil. The second states whether the thread may wait;
// if it may, the order joins the queue.
func (f *search) try(mayWait *bool) (over bool, err error) {
	s := f.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := f.admission.model.check(f.admission.op); err != nil {
		return true, err
	}
	if err := s.neverFits(f.admission); err != nil {
		return true, err
	}
	f.waiter = newWaiter(f.admission.model.share, f.admission.pages)
	switch {
	case f.stage.pass(f.waiter):
		return true, nil
	case mayWait == nil:
		return false, nil
	case !*mayWait:
		return true, s.short(f.admission)
	}
	f.stage.line.join(f.waiter)
	return false, nil
}

func (f *search) fail() {
	s := f.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	if !f.waiter.over() {
		f.stage.remove(f.waiter, s.short(f.admission))
	}
}

// findRoom runs the steps from the second on. It returns true if the waiter has left
// the queue.
func (f *search) findRoom() bool {
	if f.awaitFlights() {
		return true
	}
	for _, m := range f.helpers() {
		for _, r := range m.callbacks() {
			if f.admission.over() {
				return false
			}
			if f.ask(r) || f.awaitFlights() {
				return true
			}
		}
	}
	return f.waiter.over()
}

// awaitFlights waits until freed ranges of the helpers have supplied enough pages, no
// range is left, or the time is over.
func (f *search) awaitFlights() (over bool) {
	f.shared.physical.CompleteFrees()
	for f.waited < flightWait && !f.waiter.over() && !f.admission.over() && f.hasFlights() {
		start := track.Now()
		_, err := f.shared.physical.WaitForFlight(min(flightSlice, flightWait-f.waited))
		f.waited += track.Now() - start
		if err != nil && !errors.Is(err, device.CodeTimeout) {
			f.shared.scale.engine.Log(engine.Warning, fmt.Sprintf("%q: waiting for freed ranges: %v", f.shared.scale.name, err))
			break
		}
	}
	return f.waiter.over()
}

func (f *search) hasFlights() bool {
	for _, m := range f.helpers() {
		if m.hasRetiring() {
			return true
		}
	}
	return false
}

// ask calls one callback for the missing pages.
func (f *search) ask(r *Reclaim) (over bool) {
	f.shared.ask(r, f.missing(r.model), f.waiter.ended)
	return f.waiter.over()
}

// missing returns how many pages of a model would help.
func (f *search) missing(m *Model) uint64 {
	s := f.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	missing := f.stage.over(f.admission.model.share, f.admission.pages)
	if f.stage.guaranteed {
		missing = min(missing, m.share.excess())
	}
	return missing
}
