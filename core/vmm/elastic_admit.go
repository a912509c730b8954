package vmm

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm/extent"
)

// Admission: how an allocation of an elastic pool gets its pages.
//
// An allocation passes two stages: the maximum of its model, then the limit of the
// pool. An allocation that cannot pass a stage at once waits in the queue of that
// stage. The first in a queue has the turn: its thread looks for pages
// (elastic_search.go). Until it has enough or gives up, freed pages go to it and not to
// later allocations. Allocations within their model's guarantee are the exception: no
// other allocation may use the pages of that guarantee, so they pass as soon as the
// pages are there. A third queue serves the case that the device has less memory than
// the limit allows (elastic_supply.go).
//
// All numbers that decide are under Elastic.mu. A thread that changes one of them
// serves the queues before it releases the lock, so no wake-up is lost. A turn ends in
// bounded time, so each waiter gets the turn.

// stage is one of the bounds that an allocation has to pass.
type stage struct {
	line line
	// over returns the number of pages above the bound if a share grows by pages.
	over func(s *share, pages uint64) uint64
	// charge records that a share has grown by pages.
	charge func(s *share, pages uint64)
	// guaranteed states that allocations within their guarantee pass before the queue.
	guaranteed bool
}

func (st *stage) mayPass(w *waiter, first bool) bool {
	return (first || (st.guaranteed && w.share.within(w.pages))) && st.over(w.share, w.pages) == 0
}

// pass lets a new waiter through if that is fair to the queue.
func (st *stage) pass(w *waiter) bool {
	if !st.mayPass(w, st.line.empty()) {
		return false
	}
	st.charge(w.share, w.pages)
	return true
}

// serve lets through the waiters that may pass now.
func (st *stage) serve() {
	for _, w := range slices.Clone(st.line.waiting) {
		if st.mayPass(w, w == st.line.first()) {
			st.charge(w.share, w.pages)
			st.line.remove(w, nil)
		}
	}
}

// remove removes a waiter that found no pages. Waiters behind it may need fewer.
func (st *stage) remove(w *waiter, err error) {
	st.line.remove(w, err)
	st.serve()
}

// admission is an allocation of a model in progress.
type admission struct {
	placing
	model *Model
	pages uint64
	// serve allocates the pages and the offset of the order after its admission.
	serve func() (extent.Span, error)
	// done ends the wait in a queue when it is closed; nil: nothing ends it.
	done <-chan struct{}
	// noWait makes the order fail if it cannot be served at once.
	noWait bool
}

// admit charges the pages of an order to its model, after a wait in a queue if
// necessary. The caller holds no lock.
func (s *Elastic) admit(o *admission) error {
	m := o.model
	own := &search{shared: s, admission: o, stage: &m.stage, helpers: func() []*Model { return []*Model{m} }}
	if err := own.pass(); err != nil {
		return err
	}
	pool := &search{shared: s, admission: o, stage: &s.stage, helpers: func() []*Model { return s.helpersOf(m) }}
	err := pool.pass()
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		m.share.unbook(o.pages)
		m.stage.serve()
	}
	return err
}

// charge charges booked pages to a share.
func (s *Elastic) charge(share *share, pages uint64) {
	s.quota.charge(share, pages)
	s.peak = max(s.peak, s.quota.used)
}

// discharge removes pages that a model no longer uses from its charge, and serves the
// allocations that wait for pages.
func (s *Elastic) discharge(m *Model, pages uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quota.discharge(m.share, pages)
	m.stage.serve()
	s.stage.serve()
}

// neverFits returns an error if the present limits can never allow an order, and nil
// otherwise.
func (s *Elastic) neverFits(o *admission) error {
	reach := s.quota.reach(o.model.share)
	if o.pages <= reach {
		return nil
	}
	return s.outOfPhysical(o,
		"it can never fit: it takes %s of %v, and the limits allow the model %d at once",
		device.Count(o.pages, "page"), device.Size(s.scale.pageBytes), reach)
}

// short is the error of an order for which no pages were found.
func (s *Elastic) short(o *admission) error {
	q, share := &s.quota, o.model.share
	bound := "no maximum"
	if share.most != noBound {
		bound = "a maximum of " + device.Size(s.scale.bytes(share.most)).String()
	}
	return s.outOfPhysical(o,
		"of the limit of %v %v are in use, and %v kept for the guarantees of others; the model uses %v, of which %v are guaranteed, and has %s",
		device.Size(s.scale.bytes(q.limit)), device.Size(s.scale.bytes(q.used)), device.Size(s.scale.bytes(q.unused-share.unused())),
		device.Size(s.scale.bytes(share.used)), device.Size(s.scale.bytes(share.guaranteed)), bound)
}

func (s *Elastic) outOfPhysical(o *admission, why string, args ...any) error {
	m := o.model
	available := s.scale.bytes(s.quota.available(m.share))
	args = append([]any{m.id, device.Size(o.targets.bytes()), device.Size(available)}, args...)
	return device.Errorf(device.CodeOutOfPhysicalMemory, modelOp(o.op),
		"model %q: requested %v, available %v: "+why, args...).On(s.scale.engine.ID()).OfModel(m.id).
		Stating(device.FactRequestedBytes, o.targets.bytes()).Stating(device.FactAvailableBytes, available)
}

// over reports whether the caller no longer waits for the order.
func (o *admission) over() bool {
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}
