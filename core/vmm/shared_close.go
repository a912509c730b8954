package vmm

import (
	"errors"
	"slices"

	"ferrum_mem/core/device"
)

// Unregister takes a model out, while others run. What it had goes back to the
// pool, and is made zeros before others get it. It waits for the work that retiring
// ranges wait for, and for running calls of the model's reclaim callbacks, which
// are removed. It is CodeBusy, and changes nothing, while the model has live ranges
// or allocations that wait, unless force; then it waits for all work of the device,
// the ranges end, and the allocations fail. When the driver fails, what could not be
// given back is still the model's, and Unregister may be called again. Unknown is
// CodeModelNotFound.
func (s *Shared) Unregister(id string, force bool) error {
	const op = "unregister"
	m, err := s.find(op, id)
	if err != nil {
		return err
	}
	return s.unregister(op, m, force)
}

func (s *Shared) unregister(op string, m *Model, force bool) error {
	if err := s.detach(op, m, force); err != nil {
		return err
	}
	err := m.space.close(op, force)
	s.mu.Lock()
	var reclaims []*Reclaim
	if err != nil {
		m.gone = false
	} else {
		s.strike(m)
		m.reclaims, reclaims = nil, m.reclaims
	}
	close(m.leaving)
	s.mu.Unlock()
	inside := !s.engine.MayWait()
	for _, r := range reclaims {
		r.registration.Remove(inside)
	}
	return err
}

// end unregisters a model, or waits while somebody else does: the callbacks of the
// model, which the other call may wait for, are not waited for here.
func (s *Shared) end(op string, m *Model, force bool) error {
	for {
		err := s.unregister(op, m, force)
		if !errors.Is(err, device.CodeModelNotFound) {
			return err
		}
		s.mu.Lock()
		leaving := m.leaving
		s.mu.Unlock()
		<-leaving
		s.mu.Lock()
		struck := s.models[m.id] != m
		s.mu.Unlock()
		if struck {
			return nil
		}
	}
}

// detach makes a model one that nothing new comes to.
func (s *Shared) detach(op string, m *Model, force bool) error {
	if !force {
		if err := m.space.checkIdle(op); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := m.check(op); err != nil {
		return err
	}
	waiting := s.waitersOf(m)
	if len(waiting) > 0 && !force {
		return s.fault(device.CodeBusy, op, "model %q has %d allocations that wait for memory", m.id, len(waiting))
	}
	m.gone, m.leaving = true, make(chan struct{})
	for line, waiters := range waiting {
		for _, w := range waiters {
			line.leave(w, m.check(op))
		}
	}
	s.stage.serve()
	return nil
}

// waitersOf is who waits for a model, by line. The caller holds mu.
func (s *Shared) waitersOf(m *Model) map[*line][]*waiter {
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

// checkIdle says that pages are live.
func (s *space) checkIdle(op string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live.count+s.asleep.count == 0 {
		return nil
	}
	return s.inUse(op)
}

// IsOver says that the pool has ended or is ending: what Close does not refuse.
func (s *Shared) IsOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state != stateOpen
}

// Close unregisters every model and gives everything back to the device. Without
// force it is CodeBusy, and changes nothing, while a model has live ranges or
// allocations that wait. When the driver fails, what it did not take is still
// there, and Close may be called again.
func (s *Shared) Close(force bool) error {
	const op = "close"
	models, err := s.beginClose(op, force)
	if err != nil {
		return err
	}
	for _, m := range models {
		if err = s.end(op, m, force); err != nil {
			break
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

// beginClose refuses new models.
func (s *Shared) beginClose(op string, force bool) ([]*Model, error) {
	s.mu.Lock()
	models := slices.Clone(s.ordered)
	s.mu.Unlock()
	for _, m := range models {
		if force {
			continue
		}
		if err := m.space.checkIdle(op); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkOpen(op); err != nil {
		return nil, err
	}
	for _, m := range s.ordered {
		if n := len(s.waitersOf(m)); n > 0 && !force {
			return nil, s.fault(device.CodeBusy, op, "model %q has allocations that wait for memory", m.id)
		}
	}
	s.state = stateClosing
	return slices.Clone(s.ordered), nil
}
