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

// Physical is the physical pages of one size that the spaces of a device share.
// It is a pool of its engine. All methods are safe for concurrent use. After
// Close every call that can fail fails with CodeInvalidState.
//
// A page is used (mapped, retiring, or on its way to be mapped), parked (freed and
// no work uses it any more, but still mapped where it was), idle (not mapped), or
// moving (being unmapped, created or released, with no lock held). The limit
// bounds all of them together.
type Physical struct {
	engine    *engine.Engine
	virtual   device.VirtualMemory
	config    PhysicalConfig
	pageBytes uint64
	ready     uint64

	worker worker
	// keepers are where what sleeps goes.
	keepers sleep.Keepers

	mu    mirror.Lock
	state state
	// shownAt is where the books can be read; nil: nowhere.
	shownAt *mirror.Pool
	// arrived is signalled when pages that were moving are not any more.
	arrived *sync.Cond
	// limitBytes is as it was set; 0: the device's capacity.
	limitBytes uint64
	// All in pages: created = used + parked + idle + moving, but for revived pages
	// that a failed allocation is about to park again.
	created, used, parked, idle, moving uint64
	// clean pages read as zeros; orphans have an owner that is gone.
	clean, orphans []device.Page
	// owners and spaces are in the order in which what they do not use is taken; came
	// counts them.
	owners roster.Ranked[*owner]
	spaces roster.Ranked[*space]
	came   uint64
	books  *track.Books
	// wanted says that pages have to be made ready.
	wanted bool
	// ticking says that the worker looks again when the window is over.
	ticking bool
	// lowIdle and lowParked are the least of idle + parked, and of parked, since
	// the worker looked last.
	lowIdle, lowParked uint64
}

type state uint8

const (
	stateOpen state = iota
	stateClosing
	stateClosed
)

// owner is who had pages last. What it has written nobody else may read, unless
// both opted out.
type owner struct {
	name       string
	unscrubbed bool
	// priority: what those of lower priority do not use is taken first.
	priority int32
	// came numbers the owners of a stock.
	came uint64
	// idle is its pages that are not mapped, as it left them.
	idle []device.Page
	// moved counts the pages that came to it from other owners.
	moved uint64
}

// NewPhysical makes an empty stock of pages and registers it with the engine. It
// takes nothing from the device yet. Errors: CodeUnsupportedDevice,
// CodeInvalidPageSize, CodeInvalidConfig, CodeOutOfPhysicalMemory for a limit
// above what the device has.
func NewPhysical(e *engine.Engine, c PhysicalConfig) (*Physical, error) {
	return newPhysical("vmm.new_physical", e, c, true)
}

// newPhysical has no worker of its own if hands is false: a test then does its
// steps by hand, with Settle and tick.
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
		limitBytes: c.LimitBytes, books: track.NewBooks(true, e.Totals()),
		keepers: sleep.NewKeepers(),
	}
	ph.owners.Compare = compareOwners
	ph.spaces.Compare = func(a, b *space) int { return compareOwners(a.owner, b.owner) }
	ph.arrived = sync.NewCond(&ph.mu)
	ph.worker.init(hands)
	if err := e.Register(ph); err != nil {
		ph.books.Close()
		return nil, err
	}
	return ph, nil
}

// PageBytes is the size of a page.
func (ph *Physical) PageBytes() uint64 { return ph.pageBytes }

// Engine is the engine that the pages come from.
func (ph *Physical) Engine() *engine.Engine { return ph.engine }

// Limit is the present limit in bytes: the device's capacity, or its own limit if that
// is less, where none is set; math.MaxUint64 where neither is known.
func (ph *Physical) Limit() uint64 {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	return ph.limitLocked()
}

// limitLocked is Limit. The caller holds mu.
func (ph *Physical) limitLocked() uint64 {
	if ph.limitBytes != 0 {
		return ph.limitBytes
	}
	return ph.engine.Capacity()
}

// limitPages is how many pages the limit allows.
func (ph *Physical) limitPages() uint64 { return ph.limitLocked() / ph.pageBytes }

// available is how many pages may still come into use.
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

// removeOwner forgets an owner that has no page mapped any more.
func (ph *Physical) removeOwner(o *owner) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.owners.Remove(o)
	if len(o.idle) > len(ph.orphans) {
		// The longer list stays where it is: others wait.
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

// spacesFrom lists the spaces, one of them, which may be nil, first.
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

// releaseAll gives back every page, also those that other threads have on their way.
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

// Close gives every page back to the device. It is CodeBusy, and changes nothing,
// while there are spaces. When the driver fails, the pages that it did not take
// stay, and Close may be called again.
func (ph *Physical) Close() error {
	const op = "vmm.close_physical"
	ph.mu.Lock()
	if ph.state != stateOpen {
		defer ph.mu.Unlock()
		return ph.closedError(op)
	}
	if n := ph.spaces.Len(); n > 0 {
		defer ph.mu.Unlock()
		return device.Errorf(device.CodeBusy, op, "%q has %d spaces, which use %d pages", ph.config.Name, n,
			ph.used).On(ph.engine.ID())
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
	ph.books.Close()
	ph.mu.Unlock()
	ph.engine.Unregister(ph)
	return nil
}

// compareOwners is the order in which what owners do not use is taken: the lowest
// priority first, equal ones by age.
func compareOwners(a, b *owner) int {
	return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.came, b.came))
}

// rank gives an owner a priority.
func (ph *Physical) rank(o *owner, priority int32) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	o.priority = priority
	ph.owners.Moved()
	ph.spaces.Moved()
}
