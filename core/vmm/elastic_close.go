package vmm

import (
	"errors"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/roster"
)

// Unregister removes a model while others run. Its memory returns to the pool and is
// zeroed before another model gets it. Unregister waits for the work that retiring
// ranges wait for, and for running calls of the model's reclaim callbacks, which it
// removes. Without force it returns CodeBusy, and changes nothing, while the model has
// live ranges or waiting allocations. With force it waits for all work of the device,
// ends the ranges and fails the waiting allocations. If the driver fails, the model
// keeps what could not be released, and Unregister may be called again. It returns
// CodeModelNotFound for an unknown id.
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

// finish destroys a detached model.
func (s *Elastic) finish(m *Model) error {
	err := m.space.finishClose()
	s.mu.Lock()
	var reclaims []*Reclaim
	if err == nil {
		s.removeModel(m)
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

// end unregisters a model by force, or waits while another call does. It does not wait
// here for the callbacks of the model, because the other call may wait for them.
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

// detach makes a model reject new allocations, or returns the reason why the model
// stays as it is.
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

// modelInUse returns an error if a model cannot be removed without force, and nil
// otherwise. The caller holds the locks of its space and of the pool.
func (s *Elastic) modelInUse(op string, m *Model) error {
	if err := m.space.inUse(op); err != nil {
		return err
	}
	n := 0
	for _, waiters := range m.waiters() {
		n += len(waiters)
	}
	if n > 0 {
		return s.scale.fault(device.CodeBusy, op, "model %q has %s waiting for memory", m.id, device.Count(n, "allocation")).OfModel(m.id)
	}
	return nil
}

// detachLocked marks the model as ending. The caller holds the mu of the model's space
// and of the pool.
func (s *Elastic) detachLocked(op string, m *Model, force bool) {
	m.gone, m.leaving = true, make(chan struct{})
	for line, waiters := range m.waiters() {
		for _, w := range waiters {
			line.remove(w, m.check(op))
		}
	}
	m.space.setClosing(force)
	s.stage.serve()
}

// waiters lists the waiters of the model by queue. The caller holds Elastic.mu.
func (m *Model) waiters() map[*line][]*waiter {
	found := map[*line][]*waiter{}
	for _, line := range []*line{&m.stage.line, &m.shared.stage.line, &m.shared.supply} {
		for _, w := range line.waiting {
			if w.share == m.share {
				found[line] = append(found[line], w)
			}
		}
	}
	return found
}

// HasEnded reports whether the pool is closed or closing. Close accepts a pool in these
// states.
func (s *Elastic) HasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state != stateOpen
}

// Close unregisters every model and releases all memory to the device. Without force it
// returns CodeBusy, and changes nothing, while a model has live ranges or waiting
// allocations, or is being registered or unregistered; one check under all locks
// decides for all models. If the driver fails, the pool keeps the memory that was not
// released, and Close may be called again.
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

// reattach undoes the detach of a model.
func (s *Elastic) reattach(m *Model) {
	m.space.reopen()
	s.mu.Lock()
	defer s.mu.Unlock()
	m.settle(true)
}

// beginClose makes the pool reject new models and returns the models to destroy.
// Without force these are detached.
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

// tryClose checks all models at one moment. same is false, and nothing has changed, if
// models were added or removed before that moment. It takes the locks of the spaces as
// tryStats does.
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

// forceClose waits for models that are being registered; their registration fails
// because the pool is closing.
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
