package vmm

import (
	"errors"
	"fmt"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/track"
)

// What is tried when an order cannot pass a stage, with a look after each step:
//
//  1. ranges of all models that the device is done with are taken in;
//  2. freed ranges that queued work still uses are waited for, where their pages
//     would help: those of the order's own model and of models above their
//     guarantee;
//  3. the reclaim callbacks of the models above their guarantee are asked, in the
//     order of quota.givers, the callbacks of one model in order of registration,
//     each followed by the steps before.
//
// A thread that may not wait, because it runs inside of a callback, stops after
// the first step. Taking free pages from other models is no step: the limit is on
// what is used, and Physical.fetch takes what is free wherever it is.

// search is an order at one stage.
type search struct {
	shared *Elastic
	order  *order
	stage  *stage
	// helpers is whose pages would help, in the order in which they are asked.
	helpers func() []*Model

	waiter *waiter
	// waited is how long it has waited for work in the streams.
	waited time.Duration
}

// pass takes the order through the stage.
func (f *search) pass() error {
	if over, err := f.try(nil); over {
		return err
	}
	f.shared.physical.Land()
	mayWait := f.shared.scale.engine.MayWait() && !f.order.noWait
	if over, err := f.try(&mayWait); over {
		return err
	}
	start := track.Now()
	select {
	case <-f.waiter.ended:
	case <-f.order.done:
		f.giveUp()
		<-f.waiter.ended
	case <-f.waiter.turn:
		if !f.findRoom() {
			f.giveUp()
		}
		<-f.waiter.ended
	}
	f.shared.noteWait(f.order.model, track.Now()-start)
	return f.waiter.err
}

// try passes at once if that is possible; over says that there is nothing more to
// try. The last time, when it is known whether the thread may wait, it joins the
// line otherwise.
func (f *search) try(mayWait *bool) (over bool, err error) {
	s := f.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := f.order.model.check(f.order.op); err != nil {
		return true, err
	}
	if err := s.neverFits(f.order); err != nil {
		return true, err
	}
	f.waiter = newWaiter(f.order.model.share, f.order.pages)
	switch {
	case f.stage.pass(f.waiter):
		return true, nil
	case mayWait == nil:
		return false, nil
	case !*mayWait:
		return true, s.short(f.order)
	}
	f.stage.line.join(f.waiter)
	return false, nil
}

func (f *search) giveUp() {
	s := f.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	if !f.waiter.over() {
		f.stage.giveUp(f.waiter, s.short(f.order))
	}
}

// findRoom is the steps from the second on; true: the waiter has left the line.
func (f *search) findRoom() bool {
	if f.awaitFlights() {
		return true
	}
	for _, m := range f.helpers() {
		for _, r := range f.shared.callbacksOf(m) {
			if f.order.over() {
				return false
			}
			if f.ask(r) || f.awaitFlights() {
				return true
			}
		}
	}
	return f.waiter.over()
}

// awaitFlights waits until freed ranges of the helpers have brought enough, none
// is left or the time is up.
func (f *search) awaitFlights() (over bool) {
	f.shared.physical.Land()
	for f.waited < flightWait && !f.waiter.over() && !f.order.over() && f.hasFlights() {
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
		if m.space.hasRetiring() {
			return true
		}
	}
	return false
}

// ask asks one callback for what is missing.
func (f *search) ask(r *Reclaim) (over bool) {
	f.shared.ask(r, f.missing(r.model), f.waiter.ended)
	return f.waiter.over()
}

// missing is how many pages of a model would help.
func (f *search) missing(m *Model) uint64 {
	s := f.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	missing := f.stage.over(f.order.model.share, f.order.pages)
	if f.stage.guaranteed {
		missing = min(missing, m.share.excess())
	}
	return missing
}
