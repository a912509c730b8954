package library

import (
	"errors"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/handle"
)

// All that goes over everything that is alive (the close of a device, the stop, the
// count of what is left, the leak report, the snapshot, the search for an address) walks
// the kinds of the registry and knows none of them. What a kind is to these walks stands
// in a file of its own, kind_*.go, as the methods of its objects.

// member is an object with a handle, as the walks see it. What only some have is in the
// interfaces below. The methods wait for nothing, but those of ender and snapshotted.
type member interface {
	// isOver says that the object has ended or is ending: its handle is as good as dead.
	isOver() bool
	// known gives its handle and the device that it is of; nil: it is of none.
	known() (id uint64, e *engine.Engine)
	// of says whether it is of a device: that it ends with it; nil: whether it is of none.
	of(d *Device) bool
	// leak describes it as something that is alive, but for its handle.
	leak() leak
}

// ender is what a close by force ends. What is none ends with what it is a part of.
type ender interface {
	// endByForce ends it, whoever uses it, and takes its handle away.
	endByForce(l *Library, id uint64) error
}

// holder has memory that is given to callers.
type holder interface {
	// addMemory lists what is live of it.
	addMemory(l *Library, r *leakReport)
}

// snapshotted has records in the snapshot of each device that it is of.
type snapshotted interface {
	snapshot(d *Device, s deviceSnapshot)
}

// finder knows whom an address of a device belongs to.
type finder interface {
	ownerAt(d *Device, addr device.Addr) (Owner, bool)
}

// kind is one kind of objects. Its methods wait for nothing.
type kind interface {
	handles() handle.Kind
	// count is how many there are of a device or, with nil, of all and of none.
	count(only *Device) int
	// each visits all objects until visit returns false; visit keeps none of them.
	each(visit func(id uint64, m member) bool)
	traits() traits
}

// traits is how the walks treat a kind.
type traits struct {
	// listed is the place in a leak report.
	listed listing
	// calls says that an object may call the program: it ends before what the program's
	// callback may use.
	calls bool
	// records are the lists that it has in the snapshot of a device, which are there when
	// they are empty, too.
	records []string
}

// listing is the place of a kind in a leak report.
type listing int

const (
	// listedAfterMemory is for what holds none.
	listedAfterMemory listing = iota
	// listedFirst is for devices and holders of memory, which follows then.
	listedFirst
	// listedByHolder is for what a holder lists as its memory.
	listedByHolder
	// listedLast is for what there may be a flood of.
	listedLast
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
