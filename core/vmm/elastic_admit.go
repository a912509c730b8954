package vmm

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm/extent"
)

// How an allocation of an elastic pool gets its pages.
//
// It passes two stages: its model's maximum, then the limit of the pool. Where it
// cannot pass at once it stands in line there. The first in a line has its turn:
// its thread looks for room (elastic_search.go), and until it has enough or gives
// up, what comes free goes to it and to nobody who came later. The exception are
// allocations within their model's guarantee: what is kept free for them could be
// had by nobody else in the line, so they pass whenever it is there. A third line,
// for the case that the device has less than the limit allows, is in
// elastic_supply.go.
//
// Every number that decides is under Elastic.mu, and whoever changes one serves the
// lines before the lock is let go: no wake-up can be lost. A turn ends in bounded
// time, so each waiter comes to its own.

// stage is one of the bounds that an allocation has to pass.
type stage struct {
	line line
	// over is how many pages are beyond the bound if a share has so many more.
	over func(s *share, pages uint64) uint64
	// enter notes that a share has them.
	enter func(s *share, pages uint64)
	// guaranteed says that those within their guarantee wait for nobody.
	guaranteed bool
}

func (st *stage) mayPass(w *waiter, first bool) bool {
	return (first || (st.guaranteed && w.share.within(w.pages))) && st.over(w.share, w.pages) == 0
}

// pass lets a waiter through that does not stand in line, if that is fair.
func (st *stage) pass(w *waiter) bool {
	if !st.mayPass(w, st.line.empty()) {
		return false
	}
	st.enter(w.share, w.pages)
	return true
}

// serve lets through who may pass now.
func (st *stage) serve() {
	for _, w := range slices.Clone(st.line.waiting) {
		if st.mayPass(w, w == st.line.first()) {
			st.enter(w.share, w.pages)
			st.line.remove(w, nil)
		}
	}
}

// giveUp ends a waiter that found no room. Those behind it may need less.
func (st *stage) giveUp(w *waiter, err error) {
	st.line.remove(w, err)
	st.serve()
}

// order is an allocation of a model on its way.
type order struct {
	placing
	model *Model
	pages uint64
	// serve gets it its pages and its place, once it is admitted.
	serve func() (extent.Span, error)
	// done ends its wait in line when it is closed; nil: nothing does.
	done <-chan struct{}
	// noWait says that it is served at once or not at all.
	noWait bool
}

// admit enters the pages of an order as used by its model, after a wait in line if
// need be. The caller holds no lock.
func (s *Elastic) admit(o *order) error {
	m := o.model
	own := &search{shared: s, order: o, stage: &m.stage, helpers: func() []*Model { return []*Model{m} }}
	if err := own.pass(); err != nil {
		return err
	}
	pool := &search{shared: s, order: o, stage: &s.stage, helpers: func() []*Model { return s.helpersOf(m) }}
	err := pool.pass()
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		m.share.unbook(o.pages)
		m.stage.serve()
	}
	return err
}

// enter charges booked pages to a share.
func (s *Elastic) enter(share *share, pages uint64) {
	s.quota.charge(share, pages)
	s.peak = max(s.peak, s.quota.used)
}

// discharge takes pages of a model out of the books that it uses no more, and
// serves who waits for them.
func (s *Elastic) discharge(m *Model, pages uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quota.discharge(m.share, pages)
	m.stage.serve()
	s.stage.serve()
}

// neverFits says why an order can never be served under the present limits; nil:
// it may be.
func (s *Elastic) neverFits(o *order) error {
	reach := s.quota.reach(o.model.share)
	if o.pages <= reach {
		return nil
	}
	return s.outOfPhysical(o,
		"it can never fit: it takes %d pages of %d bytes, and the limits allow the model %d at once",
		o.pages, s.scale.pageBytes, reach)
}

// short is the error of an order for which no room was found.
func (s *Elastic) short(o *order) error {
	q, share := &s.quota, o.model.share
	bound := "no maximum"
	if share.most != noBound {
		bound = "a maximum of " + decimal(s.scale.bytes(share.most))
	}
	return s.outOfPhysical(o,
		"of the limit of %d bytes %d are in use, and %d kept for the guarantees of others; the model uses %d, of which %d are guaranteed, and has %s",
		s.scale.bytes(q.limit), s.scale.bytes(q.used), s.scale.bytes(q.unused-share.unused()),
		s.scale.bytes(share.used), s.scale.bytes(share.guaranteed), bound)
}

func (s *Elastic) outOfPhysical(o *order, why string, args ...any) error {
	m := o.model
	available := s.scale.bytes(s.quota.available(m.share))
	args = append([]any{m.id, o.at.Size, available}, args...)
	return device.Errorf(device.CodeOutOfPhysicalMemory, modelOp(o.op),
		"model %q: requested %d bytes, available %d: "+why, args...).On(s.scale.engine.ID()).OfModel(m.id).
		Stating(device.FactRequestedBytes, o.at.Size).Stating(device.FactAvailableBytes, available)
}

// over says that nobody waits for the order any more.
func (o *order) over() bool {
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}
