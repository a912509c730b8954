package mapping

import "golang.org/x/sys/unix"

// mapNoReserve keeps untouched memory out of the system's commit accounting;
// the capacity is what bounds it.
const mapNoReserve = unix.MAP_NORESERVE

// adviseHuge fails where the kernel has no transparent huge pages; memory works
// without them.
func adviseHuge(memory []byte) { _ = unix.Madvise(memory, unix.MADV_HUGEPAGE) }

// populate asks for the pages as a write would get them, or, before Linux 5.14, that
// they be read ahead.
func populate(memory []byte) {
	if unix.Madvise(memory, unix.MADV_POPULATE_WRITE) != nil {
		_ = unix.Madvise(memory, unix.MADV_WILLNEED)
	}
}
