package vmm

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm/extent"
	"ferrum_mem/core/vmm/pageset"
)

// pageTable is what is known of the pages of a space: which are free, live, parked, stuck or
// asleep, what lies behind each, and whose it is. It knows nothing of the memory itself, of
// waiting, or of claims under way: the space decides what is to change, under its lock, which
// all methods want held.
type pageTable struct {
	// extent is where the pages lie.
	extent extent.Extent
	state  state
	free   *pageset.FreeRuns
	live   pageset.Set
	parked pageset.Set
	// stuck are parked pages without access, left by a rollback that failed.
	stuck pageset.Set
	// numbers has the physical page behind each page that has one, allocated the
	// number of its allocation in records plus 1.
	numbers         []device.Page
	numberMemory    offheap.Table[device.Page]
	allocated       []uint32
	allocatedMemory offheap.Table[uint32]
	records         records
	// users is which streams use the pages of allocations.
	users pageset.Users
	tags  track.Tags
	sleeper
	// retiring and used (live, retiring and claimed by allocations) count pages.
	retiring, used uint64
	// requested is what the live pages were asked for with.
	requested uint64
}

// detachTables takes the memory of the tables, for the caller to free without a lock.
func (t *pageTable) detachTables() offheap.Detached {
	return append(t.sleeper.detach(), t.live.Detach(), t.parked.Detach(), t.stuck.Detach(),
		t.numberMemory.Detach(&t.numbers), t.allocatedMemory.Detach(&t.allocated), t.records.detach(), t.users.Detach())
}

// tableBytes is the address space that the tables have for themselves; only what
// was written has memory.
func (t *pageTable) tableBytes() uint64 {
	return t.live.Bytes() + t.parked.Bytes() + t.stuck.Bytes() + t.sleeper.bytes() +
		uint64(t.numberMemory.Bytes()) + uint64(t.allocatedMemory.Bytes()) + t.records.bytes() + t.users.Bytes()
}

func (t *pageTable) openTables(books *engine.Engine) error {
	err := t.live.Open(t.extent.Pages)
	if err == nil {
		err = t.parked.Open(t.extent.Pages)
	}
	if err == nil {
		err = t.stuck.Open(t.extent.Pages)
	}
	if err == nil {
		err = t.sleeper.open(&t.extent, books)
	}
	if err == nil {
		err = t.numberMemory.Grow(&t.numbers, int(t.extent.Pages))
	}
	if err == nil {
		err = t.allocatedMemory.Grow(&t.allocated, int(t.extent.Pages))
	}
	if err == nil {
		err = t.users.Open(t.extent.Pages, books.Device().DefaultStream())
	}
	if err != nil {
		t.detachTables().Free()
		return err
	}
	t.numbers, t.allocated = t.numbers[:t.extent.Pages], t.allocated[:t.extent.Pages]
	return nil
}
