package mapping

import (
	"golang.org/x/sys/unix"

	"ferrum_mem/core/device"
)

// mapNoReserve excludes untouched memory from the system's commit accounting. The capacity
// bounds the memory instead.
const mapNoReserve = unix.MAP_NORESERVE

// adviseHuge ignores the error of a kernel without transparent huge pages, because memory
// works without them.
func adviseHuge(memory []byte) { _ = unix.Madvise(memory, unix.MADV_HUGEPAGE) }

// populate requests the pages as for a write or, before Linux 5.14, that they are read
// ahead.
func populate(memory []byte) {
	if unix.Madvise(memory, unix.MADV_POPULATE_WRITE) != nil {
		_ = unix.Madvise(memory, unix.MADV_WILLNEED)
	}
}

// allows faults the pages in as for a read or a write, which fails if one is not mapped so. Linux
// has the call since 5.14.
func allows(memory []byte, access device.Access) bool {
	advice := unix.MADV_POPULATE_WRITE
	if access == device.AccessRead {
		advice = unix.MADV_POPULATE_READ
	}
	return unix.Madvise(memory, advice) == nil
}
