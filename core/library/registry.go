package library

import (
	"errors"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/handle"
	"ferrum_mem/core/manager"
)

// shelf is a kind with a handle table in the library.
type shelf[T member] struct {
	kind  handle.Kind
	table *handle.Table[T]
	is    traits
	// part reports whether an object belongs to another one and is skipped; nil: none
	// is.
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

// registry finds objects by handle. It has a table for each kind. The factory has the
// tables of blocks of managers, streams and events.
type registry struct {
	factory *manager.Factory

	devices          *handle.Table[*Device]
	pools            *handle.Table[*Pool]
	vpools           *handle.Table[*VPool]
	elasticPools     *handle.Table[*ElasticPool]
	managers         *handle.Table[*Manager]
	registrations    *handle.Table[*registration]
	monitors         *handle.Table[*Monitor]
	placements       *handle.Table[*Placement]
	fallbackManagers *handle.Table[*FallbackManager]
	buffers          *handle.Table[*FallbackBuffer]
	trackers         *handle.Table[*Tracker]
	genericPools     *handle.Table[*GenericPool]
	weights          *handle.Table[*Weights]
	tensorSets       *handle.Table[*TensorSet]
	tensors          *handle.Table[*Tensor]
	computes         *handle.Table[*Compute]
	ops              *handle.Table[*Op]
	sequences        *handle.Table[*Sequence]
	executors        *handle.Table[*Executor]
	kvCaches         *handle.Table[*KVCache]
	// kinds lists all kinds, including those of the factory. Only New writes it.
	kinds []kind
}

// init creates the tables.
func (g *registry) init() {
	g.factory = manager.NewFactory()
	g.devices = handle.New[*Device](handle.Device)
	g.pools = handle.New[*Pool](handle.Pool)
	g.vpools = handle.New[*VPool](handle.VirtualPool)
	g.elasticPools = handle.New[*ElasticPool](handle.ElasticPool)
	g.managers = handle.New[*Manager](handle.Manager)
	g.registrations = handle.New[*registration](handle.Registration)
	g.monitors = handle.New[*Monitor](handle.Monitor)
	g.placements = handle.New[*Placement](handle.Placement)
	g.fallbackManagers = handle.New[*FallbackManager](handle.FallbackManager)
	g.buffers = handle.New[*FallbackBuffer](handle.Buffer)
	g.trackers = handle.New[*Tracker](handle.Tracker)
	g.genericPools = handle.New[*GenericPool](handle.GenericPool)
	g.weights = handle.New[*Weights](handle.Weights)
	g.tensorSets = handle.New[*TensorSet](handle.TensorSet)
	g.tensors = handle.New[*Tensor](handle.Tensor)
	g.computes = handle.New[*Compute](handle.Compute)
	g.ops = handle.New[*Op](handle.Op)
	g.sequences = handle.New[*Sequence](handle.Sequence)
	g.executors = handle.New[*Executor](handle.Executor)
	g.kvCaches = handle.New[*KVCache](handle.KVCache)
	g.registerKinds()
}

// registerKinds sets the order of the kinds. They are counted, listed and queried in
// this order, and ended in the reverse order, so an object that uses others comes after
// them.
func (g *registry) registerKinds() {
	owns := traits{listed: listedFirst}
	calls := traits{calls: true}
	g.kinds = []kind{
		// Compute backends, layer types and passes of the program end after the devices that
		// use them.
		&shelf[*registration]{kind: handle.Registration, table: g.registrations,
			part: func(r *registration) bool { return r.program == nil }},
		&shelf[*Device]{kind: handle.Device, table: g.devices, is: owns},
		&shelf[*Pool]{kind: handle.Pool, table: g.pools,
			is: traits{listed: listedFirst, records: []string{recordsOfPools}}},
		&shelf[*VPool]{kind: handle.VirtualPool, table: g.vpools,
			is: traits{listed: listedFirst, records: []string{"virtual_pools"}}},
		&shelf[*ElasticPool]{kind: handle.ElasticPool, table: g.elasticPools,
			is: traits{listed: listedFirst, records: []string{"elastic_pools"}}},
		&shelf[*Manager]{kind: handle.Manager, table: g.managers,
			is:   traits{listed: listedFirst, records: []string{recordsOfPools, "managers"}},
			part: func(m *Manager) bool { return m.owner != nil }},
		&shelf[*FallbackManager]{kind: handle.FallbackManager, table: g.fallbackManagers,
			is: traits{listed: listedFirst, records: []string{recordsOfPools, "fallback_managers"}}},
		&shelf[*FallbackBuffer]{kind: handle.Buffer, table: g.buffers, is: traits{listed: listedByHolder}},
		&streams{g},
		&events{g},
		&shelf[*registration]{kind: handle.Registration, table: g.registrations, is: calls,
			part: func(r *registration) bool { return r.program != nil }},
		&shelf[*Monitor]{kind: handle.Monitor, table: g.monitors, is: calls},
		&shelf[*Placement]{kind: handle.Placement, table: g.placements, is: calls},
		&shelf[*Tracker]{kind: handle.Tracker, table: g.trackers,
			part: func(t *Tracker) bool { return t.owner != nil }},
		&shelf[*GenericPool]{kind: handle.GenericPool, table: g.genericPools},
		&shelf[*Weights]{kind: handle.Weights, table: g.weights, is: calls},
		&shelf[*TensorSet]{kind: handle.TensorSet, table: g.tensorSets, is: calls},
		&shelf[*KVCache]{kind: handle.KVCache, table: g.kvCaches, is: calls},
		&shelf[*Tensor]{kind: handle.Tensor, table: g.tensors, is: traits{calls: true, listed: listedLast}},
		&shelf[*Compute]{kind: handle.Compute, table: g.computes,
			is: traits{listed: listedFirst, records: []string{recordsOfPools, "managers"}}},
		&shelf[*Op]{kind: handle.Op, table: g.ops},
		&shelf[*Sequence]{kind: handle.Sequence, table: g.sequences},
		// A build calls the program. Its end comes before the wait for running callbacks.
		&shelf[*Executor]{kind: handle.Executor, table: g.executors, is: calls},
	}
}

// notInside rejects a forced end of a device from the progress callback of a build or a load there, for
// which the end would wait. Nothing has been ended then.
func (g *registry) notInside(op string, d *Device) (err error) {
	g.executors.Each(func(_ uint64, e *Executor) bool {
		if e.of(d) {
			err = e.built.notInside(op)
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	g.tensorSets.Each(func(_ uint64, s *TensorSet) bool {
		if s.of(d) {
			err = s.notInside(op)
		}
		return err == nil
	})
	return err
}

// endAll ends by force all objects of a device or, with nil, those of no device. It
// continues after an error, and returns all errors.
func (l *Library) endAll(d *Device) error {
	callers := l.endKinds(d, true)
	// The callbacks may use the objects that are ended next.
	l.running.awaitCallbacks(d)
	return errors.Join(callers, l.endKinds(d, false))
}

func (l *Library) endKinds(d *Device, calls bool) error {
	var failures []error
	for _, k := range slices.Backward(l.registry.kinds) {
		if k.traits().calls != calls {
			continue
		}
		k.each(func(id uint64, m member) bool {
			e, is := m.(ender)
			if !is || !m.of(d) {
				return is
			}
			// Another call may have ended it since.
			if err := e.endByForce(l, id); err != nil && !errors.Is(err, device.CodeInvalidHandle) {
				failures = append(failures, err)
			}
			return true
		})
	}
	return errors.Join(failures...)
}
