package vmm

import (
	"sync"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm/extent"
	"ferrum_mem/core/vmm/pageset"
)

// space is reserved address space and the memory that is mapped in it. A page of it is
// in one of these states:
//
//   - free: no allocation has it, and no physical page is mapped there;
//   - parked: no allocation has it, but its last physical page is still mapped there.
//     An allocation takes both together, without a driver call. If the physical page is
//     needed elsewhere, it is unmapped first;
//   - live: it belongs to an allocation;
//   - retiring: it was freed, and queued work may still use it;
//   - claimed: a thread maps or unmaps it now, without a lock;
//   - asleep: it belongs to a sleeping allocation, and no physical page is mapped
//     there.
//
// The free map has the free and the parked pages. All methods are safe for concurrent
// use.
type space struct {
	physical *Physical
	owner    *owner
	// left is called under mu with the number of pages that are not used any more,
	// because a range was freed or has completed retiring; nil: no call. It may take
	// only locks that come after mu.
	left func(pages uint64)

	mu sync.Mutex
	// mu guards table, except its extent, which never changes.
	table pageTable
	// changed is signalled when claimed pages have been released from their claim.
	changed *sync.Cond
	// hand is the page where the search for parked pages to unmap continues.
	hand uint64
	// patience is the longest time that an allocation waits for retiring address
	// space.
	patience time.Duration
	retirees retirees
	// peak is the highest number of used pages.
	peak uint64
	// claims counts the threads that have claimed pages for an allocation, unparking
	// those that have claimed pages to unmap them.
	claims, unparking int
	allocations       uint64
}

// spaceConfig has the settings of a space.
type spaceConfig struct {
	kind string
	// name is the name of the owner, and the tag of allocations without a tag.
	name          string
	capacityBytes uint64
	unscrubbed    bool
	left          func(pages uint64)
}

// newSpace reserves address space without memory.
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
			err = device.Errorf(device.CodeOf(err), op, "%w (and the address space could not be released: %v)", err, failure).On(ph.engine.ID())
		}
		return nil, err
	}
	return s, nil
}

// isMapped reports whether every page that a range touches is live.
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
