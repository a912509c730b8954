package vmm

import (
	"math"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm/extent"
	"ferrum_mem/core/vmm/pageset"
	"ferrum_mem/core/vmm/sleep"
)

// Contents that are kept in place. On a device whose memory is memory of the process, a copy
// in host memory needs as much memory as the pages, and a wake has to wait for new memory
// and to copy. So where the device can do it (device.ContentKeeper), the bytes of private
// pages stay at their addresses when the pages are unmapped, without access. The pages and
// their bytes leave the counters of the pool and of the device, and the bytes count as host
// memory, as those of a copy do. A wake maps pages to the bytes: nothing is copied, and no
// memory is taken from the system.

// mapper maps and unmaps the pages of ranges that sleep or wake.
type mapper struct {
	virtual device.VirtualMemory
	// keeper keeps contents in place; nil: the device cannot do it.
	keeper device.ContentKeeper
}

func newMapper(virtual device.VirtualMemory, backing device.Backing) mapper {
	m := mapper{virtual: virtual}
	if keeper, is := virtual.(device.ContentKeeper); is && keeper.KeepsContents(backing) {
		m.keeper = keeper
	}
	return m
}

// keeps states whether the contents of a Sleep stay in place.
func (m *mapper) keeps(backing SleepBacking) bool { return backing == SleepToHost && m.keeper != nil }

// mostBytes returns how long a chunk of a Sleep may be. Contents in place are cut only where
// the tag changes.
func (m *mapper) mostBytes(backing SleepBacking, k *sleep.Keepers) uint64 {
	if m.keeps(backing) {
		return math.MaxUint64
	}
	return k.MostBytes(backing == SleepToHost)
}

// unmap unmaps pages. With a mark, their contents stay in place.
func (m *mapper) unmap(e *extent.Extent, r pageset.Run, mark uint32) error {
	if mark != 0 {
		return m.keeper.UnmapKeeping(e.Addr(r.Start), r.Pages*e.PageBytes, mark)
	}
	return m.virtual.Unmap(e.Addr(r.Start), r.Pages*e.PageBytes)
}

// mapPages maps pages. With a mark, they get the contents that are in place.
func (m *mapper) mapPages(e *extent.Extent, first uint64, pages []device.Page, mark uint32) error {
	if mark != 0 {
		return m.keeper.MapKept(e.Addr(first), pages, mark)
	}
	return m.virtual.Map(e.Addr(first), pages)
}

// drop drops contents that are in place.
func (m *mapper) drop(e *extent.Extent, r pageset.Run, mark uint32) error {
	return m.keeper.DropKept(e.Addr(r.Start), r.Pages*e.PageBytes, mark)
}
