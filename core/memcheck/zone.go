package memcheck

import "ferrum_mem/core/device"

// The values with which memory in and around blocks is filled.
const (
	// ZoneByte fills the zones around a block.
	ZoneByte = 0xFD
	// FreshByte fills a block that is allocated.
	FreshByte = 0xCD
	// FreedByte fills a block that was freed.
	FreedByte = 0xDD
)

const (
	// zoneBytes is the shortest length of a zone.
	zoneBytes = 128
	// zoneLookBytes is the number of bytes of a zone, next to the block, that are
	// filled and checked. The rest is not: with a large alignment a zone is as long as
	// the alignment.
	zoneLookBytes = 64 << 10
)

// span is a range of memory.
type span struct {
	start device.Addr
	size  uint64
}

// before returns the checked part of the zone before a block.
func (r *record) before() span {
	size := min(uint64(r.user-r.base), zoneLookBytes)
	return span{start: r.user - device.Addr(size), size: size}
}

func (r *record) behind() span {
	start := r.user + device.Addr(r.requested)
	return span{start: start, size: min(uint64(r.base)+r.size-uint64(start), zoneLookBytes)}
}

// inside returns the bytes that the caller may use.
func (r *record) inside() span { return span{start: r.user, size: r.requested} }
