package vmm

import (
	"sync"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm/extent"
	"ferrum_mem/core/vmm/pageset"
)

// space is a piece of address space and what is mapped in it. A page of it is
//
//   - free: nobody has it, and nothing is mapped there;
//   - parked: nobody has it, but the physical page that was freed last is still
//     mapped there. An allocation takes both together, without a call to the
//     device; whoever needs the physical page elsewhere has it unmapped first;
//   - live: it is an allocation's;
//   - retiring: it was freed, and queued work may still use it;
//   - claimed: some thread maps or unmaps it right now, without a lock;
//   - asleep: it is an allocation's that sleeps, and nothing is mapped there.
//
// The free map has the free and the parked ones. All methods are safe for
// concurrent use.
type space struct {
	physical *Physical
	owner    *owner
	// left is told, under mu, how many pages were used and are not any more,
	// because a range was freed or has landed; nil: nobody asks. It may take locks
	// below mu only.
	left func(pages uint64)

	// extent is where its pages lie.
	extent extent.Extent

	mu    sync.Mutex
	state state
	// changed is signalled when claimed pages are so no more.
	changed *sync.Cond
	free    *pageset.FreeRuns
	live    pageset.Set
	parked  pageset.Set
	// stuck are parked pages without access, left by a rollback that failed.
	stuck pageset.Set
	// hand is where the search for parked pages to unmap goes on.
	hand uint64

	// numbers has the physical page behind each page that has one, allocated the
	// number of its allocation in records plus 1.
	numbers         []device.Page
	numberMemory    offheap.Table[device.Page]
	allocated       []uint32
	allocatedMemory offheap.Table[uint32]
	records         records
	// users is which streams use the pages of allocations.
	users pageset.Users

	tags track.Tags
	// patience is how long an allocation waits for address space that retires.
	patience time.Duration
	retirees
	sleeper
	// retiring and used (live, retiring and claimed by allocations) count pages.
	retiring, used, peak uint64
	// claims and unparking count the threads that have claimed pages for an
	// allocation, and to unmap them.
	claims, unparking int
	// requested is what the live pages were asked for with.
	requested   uint64
	allocations uint64
}

// spaceConfig are the settings of a space.
type spaceConfig struct {
	kind string
	// name is the owner's and the tag of allocations that have none.
	name          string
	capacityBytes uint64
	unscrubbed    bool
	left          func(pages uint64)
}

// newSpace reserves address space, with no memory behind it.
func newSpace(ph *Physical, c spaceConfig) (*space, error) {
	op := c.kind + ".new"
	pages, err := capacityPages(op, ph.engine, c.capacityBytes, ph.pageBytes)
	if err != nil {
		return nil, err
	}
	s := &space{
		physical: ph, left: c.left, free: pageset.NewFreeRuns(pages), patience: flightWait,
		extent: extent.Extent{
			Kind: c.kind, Name: c.name, OfModel: c.kind == modelKind, Device: ph.engine.ID(), PageBytes: ph.pageBytes, Pages: pages,
		},
	}
	s.changed = sync.NewCond(&s.mu)
	s.retirees.init()
	s.tags.Keep(c.name)
	if err := s.openTables(); err != nil {
		return nil, err
	}
	if s.extent.Base, err = ph.virtual.Reserve(s.extent.Bytes(), ph.pageBytes); err != nil {
		s.detachTables().Free()
		return nil, device.Errorf(device.CodeOf(err), op, "capacity_bytes %d: %w", c.capacityBytes, err).On(ph.engine.ID()).
			Stating(device.FactRequestedBytes, c.capacityBytes)
	}
	s.owner = ph.addOwner(c.name, c.unscrubbed)
	if err := ph.addSpace(s); err != nil {
		ph.removeOwner(s.owner)
		s.detachTables().Free()
		if failure := ph.virtual.Unreserve(s.extent.Base, s.extent.Bytes()); failure != nil {
			err = device.Errorf(device.CodeOf(err), op, "%w (and the address space is lost: %v)", err, failure).On(ph.engine.ID())
		}
		return nil, err
	}
	return s, nil
}

func (s *space) openTables() error {
	err := s.live.Open(s.extent.Pages)
	if err == nil {
		err = s.parked.Open(s.extent.Pages)
	}
	if err == nil {
		err = s.stuck.Open(s.extent.Pages)
	}
	if err == nil {
		err = s.sleeper.open(&s.extent, s.physical.engine)
	}
	if err == nil {
		err = s.numberMemory.Grow(&s.numbers, int(s.extent.Pages))
	}
	if err == nil {
		err = s.allocatedMemory.Grow(&s.allocated, int(s.extent.Pages))
	}
	if err == nil {
		err = s.users.Open(s.extent.Pages, s.physical.engine.Device().DefaultStream())
	}
	if err != nil {
		s.detachTables().Free()
		return err
	}
	s.numbers, s.allocated = s.numbers[:s.extent.Pages], s.allocated[:s.extent.Pages]
	return nil
}

// detachTables takes the memory of the tables, for the caller to free without a lock.
func (s *space) detachTables() offheap.Detached {
	return append(s.sleeper.detach(), s.live.Detach(), s.parked.Detach(), s.stuck.Detach(),
		s.numberMemory.Detach(&s.numbers), s.allocatedMemory.Detach(&s.allocated), s.records.detach(), s.users.Detach())
}

// tableBytes is the address space that the tables have for themselves; only what
// was written has memory.
func (s *space) tableBytes() uint64 {
	return s.live.Bytes() + s.parked.Bytes() + s.stuck.Bytes() + s.sleeper.bytes() +
		uint64(s.numberMemory.Bytes()) + uint64(s.allocatedMemory.Bytes()) + s.records.bytes() + s.users.Bytes()
}

// isMapped says whether every page that a range touches is live.
func (s *space) isMapped(b extent.Span) bool {
	r, err := s.extent.RunOf("is_mapped", b)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == stateClosed {
		return false
	}
	_, hole := s.live.FirstNotIn(r)
	return !hole
}

func (s *space) tagUses(to []track.TagUse) []track.TagUse {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tags.Uses(to)
}

const modelKind = "model"
