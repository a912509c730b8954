package host

import "golang.org/x/sys/unix"

// mapNoReserve keeps untouched memory out of the system's commit accounting;
// the capacity is what bounds it.
const mapNoReserve = unix.MAP_NORESERVE

// adviseHuge fails where the kernel has no transparent huge pages; memory works
// without them.
func adviseHuge(memory []byte) { _ = unix.Madvise(memory, unix.MADV_HUGEPAGE) }
