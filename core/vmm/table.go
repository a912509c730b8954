package vmm

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm/extent"
	"ferrum_mem/core/vmm/pageset"
)

// pageTable is the state of the pages of a space: which pages are free, live, parked,
// stuck or asleep, the physical page of each, and its allocation. It does not touch the
// memory, does not wait and has no claims. The space decides on changes. All methods
// require the lock of the space.
type pageTable struct {
	// extent is the address range of the pages.
	extent extent.Extent
	state  state
	free   *pageset.FreeRuns
	live   pageset.Set
	parked pageset.Set
	// stuck has parked pages that an undo could not unmap. They may lack access rights, and
	// may have the contents of another owner, so they are zeroed before their next use.
	stuck pageset.Set
	// numbers has the physical page of each page that has one. allocated has the number
	// of its allocation in records plus 1.
	numbers         []device.Page
	numberMemory    offheap.Table[device.Page]
	allocated       []uint32
	allocatedMemory offheap.Table[uint32]
	records         records
	// users records which streams use the pages of allocations.
	users pageset.Users
	tags  track.Tags
	sleeper
	// retiring and used count pages. used is live + retiring + claimed by allocations.
	retiring, used uint64
	// requested is the requested size of the live pages in bytes.
	requested uint64
}

// detachTables detaches the memory of the tables. The caller frees it without a lock.
func (t *pageTable) detachTables() offheap.Detached {
	return append(t.sleeper.detach(), t.live.Detach(), t.parked.Detach(), t.stuck.Detach(),
		t.numberMemory.Detach(&t.numbers), t.allocatedMemory.Detach(&t.allocated), t.records.detach(), t.users.Detach())
}

// tableBytes returns the address space that the tables reserve; only written parts have
// memory.
func (t *pageTable) tableBytes() uint64 {
	return t.live.Bytes() + t.parked.Bytes() + t.stuck.Bytes() + t.sleeper.bytes() +
		uint64(t.numberMemory.Bytes()) + uint64(t.allocatedMemory.Bytes()) + t.records.bytes() + t.users.Bytes()
}

func (t *pageTable) openTables(counters *engine.Engine) error {
	err := t.live.Open(t.extent.Pages)
	if err == nil {
		err = t.parked.Open(t.extent.Pages)
	}
	if err == nil {
		err = t.stuck.Open(t.extent.Pages)
	}
	if err == nil {
		err = t.sleeper.open(&t.extent, counters)
	}
	if err == nil {
		err = t.numberMemory.Grow(&t.numbers, int(t.extent.Pages))
	}
	if err == nil {
		err = t.allocatedMemory.Grow(&t.allocated, int(t.extent.Pages))
	}
	if err == nil {
		err = t.users.Open(t.extent.Pages, counters.Device().DefaultStream())
	}
	if err != nil {
		t.detachTables().Free()
		return err
	}
	t.numbers, t.allocated = t.numbers[:t.extent.Pages], t.allocated[:t.extent.Pages]
	return nil
}
