package library

import (
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
