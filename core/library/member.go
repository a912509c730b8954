package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/handle"
)

// Traversals of all live objects: the close of a device, the stop, the count of
// remaining objects, the leak report, the snapshot and the search for an address. They
// iterate over the kinds of the registry and have no code for a single kind. What
// differs between kinds is in the files kind_*.go, as methods of their objects.

// member is an object with a handle, as traversals use it. Optional methods are in the
// interfaces below. The methods do not wait, except those of ender and snapshotted.
type member interface {
	// hasEnded reports whether the object has ended or is ending. Its handle must then be
	// treated as invalid.
	hasEnded() bool
	// known returns its handle and the engine of its device; nil: it belongs to no
	// device.
	known() (id uint64, e *engine.Engine)
	// of reports whether the object belongs to a device and so ends with it; nil:
	// whether it belongs to none.
	of(d *Device) bool
	// leak describes it as a live object, without its handle.
	leak() leak
}

// ender is an object that a forced close ends. Other objects end with the object that
// they belong to.
type ender interface {
	// endByForce ends it, even if it is in use, and removes its handle.
	endByForce(l *Library, id uint64) error
}

// holder is an object with memory that callers allocate.
type holder interface {
	// addMemory lists its live memory.
	addMemory(l *Library, r *leakReport)
}

// snapshotted is an object with records in the snapshot of each of its devices.
type snapshotted interface {
	snapshot(d *Device, s deviceSnapshot)
}

// finder finds the owner of an address of a device.
type finder interface {
	ownerAt(d *Device, addr device.Addr) (Owner, bool)
}

// kind is one kind of objects. Its methods do not wait.
type kind interface {
	handles() handle.Kind
	// count returns the number of objects of a device or, with nil, of all devices and
	// of none.
	count(only *Device) int
	// each calls visit for all objects until visit returns false. visit must not keep
	// the object.
	each(visit func(id uint64, m member) bool)
	traits() traits
}

// traits states how traversals treat a kind.
type traits struct {
	// listed is its position in a leak report.
	listed listing
	// calls states that an object may call the program. It ends before the objects that
	// the program's callback may use.
	calls bool
	// records names its lists in the snapshot of a device. They are present even if
	// they are empty.
	records []string
}

// listing is the position of a kind in a leak report.
type listing int

const (
	// listedAfterMemory is for objects without memory.
	listedAfterMemory listing = iota
	// listedFirst is for devices and holders of memory; the memory follows.
	listedFirst
	// listedByHolder is for objects that a holder lists as its memory.
	listedByHolder
	// listedLast is for kinds that may have very many objects.
	listedLast
)
