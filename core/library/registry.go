package library

import (
	"errors"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/handle"
)

// shelf is a kind with a handle table of the library's.
type shelf[T member] struct {
	kind  handle.Kind
	table *handle.Table[T]
	is    traits
	// part says of an object that it belongs to another one, and is left out; nil: none.
	part func(T) bool
}

func (s *shelf[T]) handles() handle.Kind { return s.kind }
func (s *shelf[T]) traits() traits       { return s.is }

func (s *shelf[T]) each(visit func(id uint64, m member) bool) {
	s.table.Each(func(id uint64, object T) bool {
		return s.part != nil && s.part(object) || visit(id, object)
	})
}

func (s *shelf[T]) count(only *Device) (n int) {
	s.each(func(_ uint64, m member) bool {
		if only == nil || m.of(only) {
			n++
		}
		return true
	})
	return n
}

// registerKinds puts the kinds into their order: they are counted, listed and asked in it, and
// end in the reverse one, so that what uses others comes after them.
func (l *Library) registerKinds() {
	owns := traits{listed: listedFirst}
	calls := traits{calls: true}
	l.kinds = []kind{
		&shelf[*Device]{kind: handle.Device, table: l.devices, is: owns},
		&shelf[*Pool]{kind: handle.Pool, table: l.pools,
			is: traits{listed: listedFirst, records: []string{recordsOfPools}}},
		&shelf[*VPool]{kind: handle.VirtualPool, table: l.vpools,
			is: traits{listed: listedFirst, records: []string{"virtual_pools"}}},
		&shelf[*ElasticPool]{kind: handle.ElasticPool, table: l.elasticPools,
			is: traits{listed: listedFirst, records: []string{"elastic_pools"}}},
		&shelf[*Manager]{kind: handle.Manager, table: l.managers,
			is: traits{listed: listedFirst, records: []string{recordsOfPools, "managers"}}},
		&shelf[*FallbackManager]{kind: handle.FallbackManager, table: l.fallbackManagers,
			is: traits{listed: listedFirst, records: []string{recordsOfPools, "fallback_managers"}}},
		&shelf[*FallbackBuffer]{kind: handle.Buffer, table: l.buffers, is: traits{listed: listedByHolder}},
		&streams{l},
		&events{l},
		&shelf[*registration]{kind: handle.Registration, table: l.registrations, is: calls},
		&shelf[*Monitor]{kind: handle.Monitor, table: l.monitors, is: calls},
		&shelf[*Placement]{kind: handle.Placement, table: l.placements, is: calls},
		&shelf[*Tracker]{kind: handle.Tracker, table: l.trackers,
			part: func(t *Tracker) bool { return t.owner != nil }},
		&shelf[*GenericPool]{kind: handle.GenericPool, table: l.genericPools},
	}
}

// endAll ends by force what is of a device or, with nil, of none. It goes on after an
// error, and gives all of them.
func (l *Library) endAll(d *Device) error {
	callers := l.endKinds(d, true)
	// They may use what is ended next.
	l.awaitCallbacks(d)
	return errors.Join(callers, l.endKinds(d, false))
}

func (l *Library) endKinds(d *Device, calls bool) error {
	var failures []error
	for _, k := range slices.Backward(l.kinds) {
		if k.traits().calls != calls {
			continue
		}
		k.each(func(id uint64, m member) bool {
			e, is := m.(ender)
			if !is || !m.of(d) {
				return is
			}
			// Somebody else may have ended it meanwhile.
			if err := e.endByForce(l, id); err != nil && !errors.Is(err, device.CodeInvalidHandle) {
				failures = append(failures, err)
			}
			return true
		})
	}
	return errors.Join(failures...)
}
