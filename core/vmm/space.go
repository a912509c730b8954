package vmm

import (
	"sync"
	"time"

	"ferrum_mem/core/device"
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

	mu sync.Mutex
	// table is under mu but for its extent, which stays.
	table pageTable
	// changed is signalled when claimed pages are so no more.
	changed *sync.Cond
	// hand is where the search for parked pages to unmap goes on.
	hand uint64
	// patience is how long an allocation waits for address space that retires.
	patience time.Duration
	retirees retirees
	// peak is the most pages that were used at once.
	peak uint64
	// claims and unparking count the threads that have claimed pages for an
	// allocation, and to unmap them.
	claims, unparking int
	allocations       uint64
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
		physical: ph, left: c.left, patience: flightWait,
		table: pageTable{
			free: pageset.NewFreeRuns(pages),
			extent: extent.Extent{
				Kind: c.kind, Name: c.name, OfModel: c.kind == modelKind, Device: ph.engine.ID(), PageBytes: ph.pageBytes, Pages: pages,
			},
		},
	}
	s.changed = sync.NewCond(&s.mu)
	s.retirees.init()
	s.table.tags.Keep(c.name)
	if err := s.table.openTables(ph.engine); err != nil {
		return nil, err
	}
	if s.table.extent.Base, err = ph.virtual.Reserve(s.table.extent.Bytes(), ph.pageBytes); err != nil {
		s.table.detachTables().Free()
		return nil, device.Errorf(device.CodeOf(err), op, "capacity_bytes %d: %w", c.capacityBytes, err).On(ph.engine.ID()).
			Stating(device.FactRequestedBytes, c.capacityBytes)
	}
	s.owner = ph.addOwner(c.name, c.unscrubbed)
	if err := ph.addSpace(s); err != nil {
		ph.removeOwner(s.owner)
		s.table.detachTables().Free()
		if failure := ph.virtual.Unreserve(s.table.extent.Base, s.table.extent.Bytes()); failure != nil {
			err = device.Errorf(device.CodeOf(err), op, "%w (and the address space is lost: %v)", err, failure).On(ph.engine.ID())
		}
		return nil, err
	}
	return s, nil
}

// isMapped says whether every page that a range touches is live.
func (s *space) isMapped(b extent.Span) bool {
	r, err := s.table.extent.RunOf("is_mapped", b)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.table.state == stateClosed {
		return false
	}
	_, hole := s.table.live.FirstNotIn(r)
	return !hole
}

func (s *space) tagUses(to []track.TagUse) []track.TagUse {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.table.tags.Uses(to)
}

const modelKind = "model"
