package memcheck

import "ferrum_mem/core/device"

// What the memory around and of blocks is filled with.
const (
	// ZoneByte fills the zones around a block.
	ZoneByte = 0xFD
	// FreshByte fills a block that is handed out.
	FreshByte = 0xCD
	// FreedByte fills a block that was freed.
	FreedByte = 0xDD
)

const (
	// zoneBytes is the least length of a zone.
	zoneBytes = 128
	// zoneLookBytes bounds how much of a zone is filled and looked at, from the
	// block on: a large alignment makes a zone as large.
	zoneLookBytes = 64 << 10
)

// span is a range of memory.
type span struct {
	start device.Addr
	size  uint64
}

// before and behind are the looked-at parts of a block's zones.
func (r *record) before() span {
	size := min(uint64(r.user-r.base), zoneLookBytes)
	return span{start: r.user - device.Addr(size), size: size}
}

func (r *record) behind() span {
	start := r.user + device.Addr(r.requested)
	return span{start: start, size: min(uint64(r.base)+r.size-uint64(start), zoneLookBytes)}
}

// inside is the bytes that the caller may use.
func (r *record) inside() span { return span{start: r.user, size: r.requested} }
