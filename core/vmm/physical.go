package vmm

import (
	"cmp"
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/internal/roster"
	"ferrum_mem/core/mirror"
	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm/sleep"
)

// Physical has the physical pages of one size that the spaces of a device share. It is
// a pool of its engine. All methods are safe for concurrent use. After Close every call
// that can fail fails with CodeInvalidState.
//
// A page is in one of four states. It is used: mapped, retiring, or about to be mapped.
// It is parked: freed, and no work uses it, but it is still mapped at its address. It
// is idle: not mapped. It is moving: being unmapped, created or released, with no lock
// held. The limit bounds the sum of all four.
type Physical struct {
	engine    *engine.Engine
	virtual   device.VirtualMemory
	mapper    mapper
	config    PhysicalConfig
	pageBytes uint64
	ready     uint64

	worker worker
	// keepers hold the contents of sleeping pages.
	keepers sleep.Keepers

	mu    mirror.Lock
	state state
	// shownAt is the place where the counters are published; nil: nowhere.
	shownAt *mirror.Pool
	// arrived is signalled when moving pages have become idle, used or released.
	arrived *sync.Cond
	// limitBytes is the limit as it was set; 0: the device's capacity.
	limitBytes uint64
	// Counts of pages: created = used + parked + idle + moving. The sum is wrong only
	// for revived pages that a failed allocation is about to park again.
	created, used, parked, idle, moving uint64
	// clean pages read as zeros. orphan pages have other contents and no owner.
	clean, orphans []device.Page
	// owners and spaces are in the order in which their unused pages are taken; came
	// counts the owners.
	owners   roster.Ranked[*owner]
	spaces   roster.Ranked[*space]
	came     uint64
	counters *track.Counters
	// wanted states that the worker has to make pages ready.
	wanted bool
	// ticking states that the worker checks again at the end of the window.
	ticking bool
	// lowIdle and lowParked are the lowest values of idle + parked, and of parked,
	// since the last check of the worker.
	lowIdle, lowParked uint64
}

type state uint8

const (
	stateOpen state = iota
	stateClosing
	stateClosed
)

// owner is the last user of pages. No other owner may read what it wrote, unless both
// are unscrubbed.
type owner struct {
	name       string
	unscrubbed bool
	// priority decides whose unused pages are taken first: the lowest goes first.
	priority int32
	// came numbers the owners of a Physical.
	came uint64
	// idle has the owner's unmapped pages, with the contents that the owner left.
	idle []device.Page
	// moved counts the pages that the owner got from other owners.
	moved uint64
}

// NewPhysical creates an empty Physical and registers it with the engine. It allocates
// nothing from the device yet. Errors: CodeUnsupportedDevice, CodeInvalidPageSize,
// CodeInvalidConfig, CodeOutOfPhysicalMemory for a limit above the device's memory.
func NewPhysical(e *engine.Engine, c PhysicalConfig) (*Physical, error) {
	return newPhysical("vmm.new_physical", e, c, true)
}

// newPhysical starts no worker if hands is false. A test then runs the steps itself,
// with Settle and tick.
func newPhysical(op string, e *engine.Engine, c PhysicalConfig, hands bool) (*Physical, error) {
	virtual, err := virtualOf(op, e)
	if err != nil {
		return nil, err
	}
	if err := c.check(op, e, virtual.Granularity()); err != nil {
		return nil, err
	}
	ph := &Physical{
		engine: e, virtual: virtual, config: c, pageBytes: c.PageBytes, ready: c.readyPages(),
		limitBytes: c.LimitBytes, counters: track.NewCounters(true, e.Totals()),
		keepers: sleep.NewKeepers(e.Device()), mapper: newMapper(virtual, c.Backing),
	}
	ph.owners.Compare = compareOwners
	ph.spaces.Compare = func(a, b *space) int { return compareOwners(a.owner, b.owner) }
	ph.arrived = sync.NewCond(&ph.mu)
	ph.worker.init(hands)
	if err := e.Register(ph); err != nil {
		ph.counters.Close()
		return nil, err
	}
	return ph, nil
}

// PageBytes returns the size of a page.
func (ph *Physical) PageBytes() uint64 { return ph.pageBytes }

// Engine returns the engine that the pages come from.
func (ph *Physical) Engine() *engine.Engine { return ph.engine }

// Limit returns the present limit in bytes. Without a limit of its own it is the
// device's capacity, or the device's limit if that is less; math.MaxUint64 if neither
// is known.
func (ph *Physical) Limit() uint64 {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	return ph.limitLocked()
}

// limitLocked implements Limit. The caller holds mu.
func (ph *Physical) limitLocked() uint64 {
	if ph.limitBytes != 0 {
		return ph.limitBytes
	}
	return ph.engine.Capacity()
}

// limitPages returns the limit in pages.
func (ph *Physical) limitPages() uint64 { return ph.limitLocked() / ph.pageBytes }

// available returns how many more pages may become used.
func (ph *Physical) available() uint64 {
	limit := ph.limitPages()
	return limit - min(ph.used, limit)
}

func (ph *Physical) addOwner(name string, unscrubbed bool) *owner {
	o := &owner{name: name, unscrubbed: unscrubbed}
	ph.mu.Lock()
	defer ph.mu.Unlock()
	o.came = ph.came
	ph.came++
	ph.owners.Add(o)
	return o
}

// removeOwner removes an owner that has no mapped page.
func (ph *Physical) removeOwner(o *owner) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.owners.Remove(o)
	if len(o.idle) > len(ph.orphans) {
		// Append the shorter list to the longer one, because other threads wait for mu.
		ph.orphans, o.idle = o.idle, ph.orphans
	}
	ph.orphans = append(ph.orphans, o.idle...)
	o.idle = nil
}

func (ph *Physical) addSpace(s *space) error {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	if ph.state != stateOpen {
		return ph.closedError(s.table.extent.Op("new"))
	}
	ph.spaces.Add(s)
	return nil
}

func (ph *Physical) removeSpace(s *space) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.spaces.Remove(s)
}

// spacesFrom lists the spaces, with first (which may be nil) at the front.
func (ph *Physical) spacesFrom(first *space) []*space {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	if first == nil {
		return ph.spaces.All()
	}
	spaces := append(make([]*space, 0, ph.spaces.Len()+1), first)
	for _, s := range ph.spaces.All() {
		if s != first {
			spaces = append(spaces, s)
		}
	}
	return spaces
}

func (ph *Physical) closedError(op string) error {
	return device.Errorf(device.CodeInvalidState, op, "%q is closed", ph.config.Name).On(ph.engine.ID())
}

// releaseAll releases every page. It waits for pages that other threads are moving.
func (ph *Physical) releaseAll() error {
	for {
		if _, err := ph.release(maxWanted); err != nil {
			return err
		}
		ph.mu.Lock()
		for ph.moving > 0 {
			ph.arrived.Wait()
		}
		left := ph.idle + ph.parked
		ph.mu.Unlock()
		if left == 0 {
			return nil
		}
	}
}

// Close releases every page to the device. It returns CodeBusy, and changes nothing,
// while there are spaces. If the driver fails, the pages that it did not release stay,
// and Close may be called again.
func (ph *Physical) Close() error {
	const op = "vmm.close_physical"
	ph.mu.Lock()
	if ph.state != stateOpen {
		defer ph.mu.Unlock()
		return ph.closedError(op)
	}
	if n := ph.spaces.Len(); n > 0 {
		defer ph.mu.Unlock()
		return device.Errorf(device.CodeBusy, op, "%q has %s with %s", ph.config.Name,
			device.Count(n, "space"), device.Count(ph.used, "page")).On(ph.engine.ID())
	}
	ph.state = stateClosing
	ph.mu.Unlock()
	ph.worker.stop()
	err := ph.releaseAll()
	ph.mu.Lock()
	if err != nil {
		ph.state = stateOpen
		ph.mu.Unlock()
		ph.worker.reopen()
		return err
	}
	ph.state = stateClosed
	ph.counters.Close()
	ph.mu.Unlock()
	ph.engine.Unregister(ph)
	return nil
}

// compareOwners orders owners for taking unused pages: the lowest priority first, and
// of equal priority the oldest first.
func compareOwners(a, b *owner) int {
	return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.came, b.came))
}

// rank sets the priority of an owner.
func (ph *Physical) rank(o *owner, priority int32) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	o.priority = priority
	ph.owners.Moved()
	ph.spaces.Moved()
}
