package vmm

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm/extent"
)

// place finds an offset and physical pages for an admitted order. The limit allows the
// pages, but the device may have less memory. Then the engine's reclaim path in
// Physical.fetch has failed, and the order waits in a queue here. The first in the
// queue has the turn: it calls the callbacks of the models above their guarantee. Until
// its turn ends no other allocation takes the pages that they free.
func (s *Elastic) place(o *admission) (extent.Span, error) {
	w, err := s.joinSupply(o, false)
	if err != nil {
		return extent.Span{}, err
	}
	if w == nil {
		at, short := o.serve()
		if !isShort(short) {
			return at, short
		}
		if w, err = s.joinSupply(o, true); err != nil {
			return extent.Span{}, err
		}
		if w == nil {
			return extent.Span{}, s.scale.deviceShort(o, short)
		}
	}
	select {
	case <-w.ended:
		return extent.Span{}, w.err
	case <-w.turn:
	case <-o.done:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.supply.remove(w, nil)
		return extent.Span{}, s.short(o)
	}
	at, err := s.placeInTurn(o, w)
	s.mu.Lock()
	s.supply.remove(w, nil)
	s.mu.Unlock()
	if isShort(err) {
		err = s.scale.deviceShort(o, err)
	}
	return at, err
}

// isShort reports whether an allocation failed because physical memory was missing.
func isShort(err error) bool {
	return errors.Is(err, device.CodeOutOfMemory) || errors.Is(err, device.CodeOutOfPhysicalMemory)
}

// joinSupply puts an order in the queue if it must, or if other orders wait there.
// Otherwise it returns nil without an error. A thread that may not wait never joins.
func (s *Elastic) joinSupply(o *admission, must bool) (*waiter, error) {
	mayWait := s.scale.engine.MayWait() && !o.noWait
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := o.model.check(o.op); err != nil {
		return nil, err
	}
	if !mayWait || (!must && s.supply.empty()) {
		return nil, nil
	}
	w := newWaiter(o.model.share, o.pages)
	// The pages are already charged.
	w.guaranteed = o.model.share.excess() == 0
	s.supply.join(w)
	return w, nil
}

func (s *Elastic) placeInTurn(o *admission, w *waiter) (extent.Span, error) {
	at, err := o.serve()
	if !isShort(err) {
		return at, err
	}
	for _, m := range s.helpersOf(o.model) {
		for _, r := range m.callbacks() {
			s.ask(r, m.excess(o.pages), w.ended)
			if at, err = o.serve(); !isShort(err) {
				return at, err
			}
		}
	}
	return extent.Span{}, err
}

// excess returns the number of pages of a model above its guarantee, at most pages.
func (m *Model) excess(pages uint64) uint64 {
	m.shared.mu.Lock()
	defer m.shared.mu.Unlock()
	return min(pages, m.share.excess())
}

// deviceShort is the error of an order that the limit allows and the device cannot
// serve.
func (u *scale) deviceShort(o *admission, err error) error {
	available := uint64(0)
	if info, err := u.engine.MemoryInfo(); err == nil {
		available = info.FreeBytes
	}
	return device.Errorf(device.CodeOutOfPhysicalMemory, modelOp(o.op),
		"model %q: requested %v, available %v: the device has less than the limit allows: %w",
		o.model.id, device.Size(o.targets.bytes()), device.Size(available), err).On(u.engine.ID()).OfModel(o.model.id).
		Stating(device.FactRequestedBytes, o.targets.bytes()).Stating(device.FactAvailableBytes, available)
}
