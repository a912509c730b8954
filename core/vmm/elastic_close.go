package vmm

import (
	"errors"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/roster"
)

// Unregister takes a model out, while others run. What it had goes back to the
// pool, and is made zeros before others get it. It waits for the work that retiring
// ranges wait for, and for running calls of the model's reclaim callbacks, which
// are removed. It is CodeBusy, and changes nothing, while the model has live ranges
// or allocations that wait, unless force; then it waits for all work of the device,
// the ranges end, and the allocations fail. When the driver fails, what could not be
// given back is still the model's, and Unregister may be called again. Unknown is
// CodeModelNotFound.
func (s *Elastic) Unregister(id string, force bool) error {
	const op = "unregister"
	m, err := s.find(op, id)
	if err != nil {
		return err
	}
	return s.unregister(op, m, force)
}

func (s *Elastic) unregister(op string, m *Model, force bool) error {
	if err := s.detach(op, m, force); err != nil {
		return err
	}
	return s.finish(m)
}

// finish ends a model that was detached.
func (s *Elastic) finish(m *Model) error {
	err := m.space.finishClose()
	s.mu.Lock()
	var reclaims []*Reclaim
	if err == nil {
		s.strike(m)
		m.reclaims, reclaims = roster.List[*Reclaim]{}, m.reclaims.Copy()
	}
	m.settle(err != nil)
	s.mu.Unlock()
	inside := !s.scale.engine.MayWait()
	for _, r := range reclaims {
		r.registration.Remove(inside)
	}
	return err
}

// end unregisters a model by force, or waits while somebody else does: the callbacks of
// the model, which the other call may wait for, are not waited for here.
func (s *Elastic) end(op string, m *Model) error {
	for {
		err := s.unregister(op, m, true)
		if !errors.Is(err, device.CodeModelNotFound) {
			return err
		}
		s.mu.Lock()
		ended := m.leaving
		s.mu.Unlock()
		<-ended
		s.mu.Lock()
		struck := s.models[m.id] != m
		s.mu.Unlock()
		if struck {
			return nil
		}
	}
}

// detach makes a model one that nothing new comes to, or says why it stays as it is.
func (s *Elastic) detach(op string, m *Model, force bool) error {
	m.space.mu.Lock()
	defer m.space.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := m.check(op); err != nil {
		return err
	}
	if err := s.modelInUse(op, m); err != nil && !force {
		return err
	}
	s.detachLocked(op, m, force)
	return nil
}

// modelInUse is the error of a model that cannot be taken out without force; nil: it
// can. The caller holds the locks of its space and of the pool.
func (s *Elastic) modelInUse(op string, m *Model) error {
	if err := m.space.inUse(op); err != nil {
		return err
	}
	n := 0
	for _, waiters := range s.waitersOf(m) {
		n += len(waiters)
	}
	if n > 0 {
		return s.scale.fault(device.CodeBusy, op, "model %q has %d allocations that wait for memory", m.id, n).OfModel(m.id)
	}
	return nil
}

// detachLocked is the point of no return. The caller holds the mu of the model's
// space and of the pool.
func (s *Elastic) detachLocked(op string, m *Model, force bool) {
	m.gone, m.leaving = true, make(chan struct{})
	for line, waiters := range s.waitersOf(m) {
		for _, w := range waiters {
			line.remove(w, m.check(op))
		}
	}
	m.space.setClosing(force)
	s.stage.serve()
}

// waitersOf is who waits for a model, by line. The caller holds mu.
func (s *Elastic) waitersOf(m *Model) map[*line][]*waiter {
	found := map[*line][]*waiter{}
	for _, line := range []*line{&m.stage.line, &s.stage.line, &s.supply} {
		for _, w := range line.waiting {
			if w.share == m.share {
				found[line] = append(found[line], w)
			}
		}
	}
	return found
}

// IsOver says that the pool has ended or is ending: what Close does not refuse.
func (s *Elastic) IsOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state != stateOpen
}

// Close unregisters every model and gives everything back to the device. Without
// force it is CodeBusy, and changes nothing, while a model has live ranges or
// allocations that wait, or comes or goes: that is decided for all of them at once.
// When the driver fails, what it did not take is still there, and Close may be called
// again.
func (s *Elastic) Close(force bool) error {
	const op = "close"
	models, err := s.beginClose(op, force)
	if err != nil {
		return err
	}
	for _, m := range models {
		switch {
		case err != nil && !force:
			s.reattach(m)
		case err != nil:
		case force:
			err = s.end(op, m)
		default:
			err = s.finish(m)
		}
	}
	if err == nil {
		err = s.physical.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.state = stateOpen
		return err
	}
	s.state = stateClosed
	return nil
}

// reattach takes the detaching of a model back.
func (s *Elastic) reattach(m *Model) {
	m.space.reopen()
	s.mu.Lock()
	defer s.mu.Unlock()
	m.settle(true)
}

// beginClose refuses new models from its return on and gives those that are to end;
// without force they are detached.
func (s *Elastic) beginClose(op string, force bool) ([]*Model, error) {
	if force {
		return s.forceClose(op)
	}
	for {
		models, same, err := s.tryClose(op)
		if same {
			return models, err
		}
	}
}

// tryClose decides for all models at one moment; same is false, and nothing has
// changed, when models came or went before it. The locks of their spaces are taken as
// in tryStats.
func (s *Elastic) tryClose(op string) (models []*Model, same bool, err error) {
	s.mu.Lock()
	listed := s.ordered.Copy()
	s.mu.Unlock()
	for _, m := range listed {
		m.space.mu.Lock()
		defer m.space.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(listed, s.ordered.Copy()) {
		return nil, false, nil
	}
	if err := s.checkOpen(op); err != nil {
		return nil, true, err
	}
	for _, m := range s.models {
		if m.gone {
			return nil, true, s.scale.fault(device.CodeBusy, op, "model %q is being registered or unregistered", m.id).OfModel(m.id)
		}
	}
	for _, m := range listed {
		if err := s.modelInUse(op, m); err != nil {
			return nil, true, err
		}
	}
	s.state = stateClosing
	for _, m := range listed {
		s.detachLocked(op, m, false)
	}
	return listed, true, nil
}

// forceClose waits for models that are being registered: they find the pool closing.
func (s *Elastic) forceClose(op string) ([]*Model, error) {
	s.mu.Lock()
	if err := s.checkOpen(op); err != nil {
		s.mu.Unlock()
		return nil, err
	}
	s.state = stateClosing
	models := s.ordered.Copy()
	var coming []*Model
	for _, m := range s.models {
		if m.space == nil {
			coming = append(coming, m)
		}
	}
	s.mu.Unlock()
	for _, m := range coming {
		<-m.leaving
	}
	return models, nil
}
