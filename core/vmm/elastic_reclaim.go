package vmm

import (
	"fmt"
	"math"
	"slices"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
)

// Reclaim is a registered reclaim callback of a model.
type Reclaim struct {
	model        *Model
	registration *engine.Registration
}

// OnReclaim registers a callback that frees memory of a model when pages are short. fn
// gets the number of bytes that would help and returns the number that it freed. It
// runs on its own worker, one call at a time, with no lock held, and may call the
// library, usually to free ranges of its model. An allocation waits for a call at most
// for the deadline (0: 100 ms). A slower call continues, and the memory that it frees
// goes to the allocations that wait then. The pool calls only the callbacks of a model
// above its guarantee, or of a model that needs pages itself and is at its maximum.
// Errors: CodeModelNotFound, CodeInvalidArgument for a negative deadline.
func (s *Elastic) OnReclaim(id string, deadline time.Duration, fn func(neededBytes uint64) uint64) (*Reclaim, error) {
	const op = "on_reclaim"
	m, err := s.find(op, id)
	if err != nil {
		return nil, err
	}
	registration, err := s.scale.engine.NewReclaim(engine.ReclaimConfig{Deadline: deadline}, m.counting(fn))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := m.check(op); err != nil {
		registration.Remove(true)
		return nil, err
	}
	r := &Reclaim{model: m, registration: registration}
	m.reclaims.Add(r)
	return r, nil
}

// counting wraps a callback so that its calls and the bytes that it reports as freed
// are counted. The callback itself counts, because the waiting allocation may succeed
// or give up before the call ends.
func (m *Model) counting(fn func(neededBytes uint64) uint64) func(uint64) uint64 {
	count := func(calls, freed uint64) {
		m.shared.mu.Lock()
		defer m.shared.mu.Unlock()
		m.counts.ReclaimCalls += calls
		m.counts.ReclaimedBytes += min(freed, math.MaxUint64-m.counts.ReclaimedBytes)
	}
	return func(needed uint64) uint64 {
		count(1, 0)
		freed := fn(needed)
		count(0, freed)
		return freed
	}
}

// Remove ends the registration: the callback is not called again. It waits for a
// running call, unless inside states that it is called from that call. A second Remove
// only waits. Unregistering the model removes its callbacks.
func (r *Reclaim) Remove(inside bool) {
	s := r.model.shared
	s.mu.Lock()
	r.model.reclaims.Remove(r)
	s.mu.Unlock()
	r.registration.Remove(inside)
}

// HasEnded reports whether the model was unregistered; its callback is then not called
// again.
func (r *Reclaim) HasEnded() bool {
	s := r.model.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.models[r.model.id] != r.model
}

// callbacks lists the reclaim callbacks of a model.
func (m *Model) callbacks() []*Reclaim {
	m.shared.mu.Lock()
	defer m.shared.mu.Unlock()
	return m.reclaims.Copy()
}

// helpersOf lists the models whose pages would help a model: those above their
// guarantee, in the order in which the pool requests their pages, and the model itself.
func (s *Elastic) helpersOf(m *Model) []*Model {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := make(map[*share]*Model, s.ordered.Len())
	for m := range s.ordered.All() {
		of[m.share] = m
	}
	var helpers []*Model
	for _, share := range s.quota.reclaimOrder() {
		helpers = append(helpers, of[share])
	}
	if !slices.Contains(helpers, m) {
		helpers = append(helpers, m)
	}
	return helpers
}

// ask calls a callback for that many pages, unless the number is 0. It stops waiting
// when enough is closed. The caller holds no lock.
func (s *Elastic) ask(r *Reclaim, pages uint64, enough <-chan struct{}) {
	if pages == 0 {
		return
	}
	m := r.model
	freed, inTime := r.registration.Ask(s.scale.bytes(pages), enough)
	if !inTime {
		s.scale.engine.Log(engine.Warning, fmt.Sprintf("model %q: a reclaim callback for %v did not return in time",
			m.id, device.Size(s.scale.bytes(pages))))
		return
	}
	s.scale.engine.Log(engine.Debug, fmt.Sprintf("model %q: requested %v, a reclaim callback freed %v",
		m.id, device.Size(s.scale.bytes(pages)), device.Size(freed)))
}

func (m *Model) noteWait(waited time.Duration) {
	m.shared.mu.Lock()
	defer m.shared.mu.Unlock()
	m.counts.Waits++
	m.counts.WaitedNs += uint64(waited)
}
