//go:build unix

package mapping

import (
	"math"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// HugePageBytes is the size from which ranges are aligned for, and advised to
// have, huge pages: the size of one on amd64 and, with 4 KiB pages, on arm64.
const HugePageBytes = 2 << 20

// Calls is what the backend needs from the system to have memory. Tests put
// in one that fails.
type Calls struct {
	// Reserve maps size bytes of anonymous memory, readable and writable, none
	// of which exists before it is touched.
	Reserve func(size uint64) (address uint64, err error)
	// Release unmaps a range; its memory goes back to the system at once.
	Release func(address, size uint64) error
	// Lock keeps a range in memory, until it is released.
	Lock func(address, size uint64) error
	// AdviseHuge asks for huge pages; the system may ignore it.
	AdviseHuge func(address, size uint64)
	// IsMapped says whether something is mapped throughout a range.
	IsMapped func(address, size uint64) bool
	// Populate has the system put memory behind a range that is whole pages; it is
	// never more than advice. The bytes stay as they are.
	Populate func(address, size uint64)
	// Virtual is nil where the system has no memory apart from addresses.
	Virtual *VirtualCalls
}

// System is those of the system that this process runs on.
func System() Calls {
	return Calls{
		Reserve: func(size uint64) (uint64, error) {
			p, err := unix.MmapPtr(-1, 0, nil, uintptr(size), unix.PROT_READ|unix.PROT_WRITE,
				unix.MAP_PRIVATE|unix.MAP_ANON|mapNoReserve)
			return uint64(uintptr(p)), err
		},
		Release: func(address, size uint64) error {
			return unix.MunmapPtr(Pointer(address), uintptr(size))
		},
		Lock: func(address, size uint64) error {
			return unix.Mlock(unsafe.Slice((*byte)(Pointer(address)), size))
		},
		AdviseHuge: func(address, size uint64) {
			adviseHuge(unsafe.Slice((*byte)(Pointer(address)), size))
		},
		IsMapped: func(address, size uint64) bool {
			page := uint64(unix.Getpagesize())
			start := address &^ (page - 1)
			// It writes nothing: that is left to the system, and only for files.
			return unix.Msync(unsafe.Slice((*byte)(Pointer(start)), address-start+size), unix.MS_ASYNC) == nil
		},
		Populate: func(address, size uint64) {
			populate(unsafe.Slice((*byte)(Pointer(address)), size))
		},
		Virtual: SystemVirtual(),
	}
}

// Range is where something was mapped.
type Range struct {
	Base, Size uint64
	// MapBase and MapSize are the mapping around it: larger than the range only where
	// its unaligned ends could not be cut off.
	MapBase, MapSize uint64
}

// Aligned maps more than size and cuts off what lies before and after the
// first aligned address. An end that cannot be cut off is kept and unmapped
// with the range: untouched, it costs address space only.
func (m *Calls) Aligned(size, align uint64, reserve func(uint64) (uint64, error)) (Range, error) {
	if size > math.MaxInt64-min(align, math.MaxInt64) {
		return Range{}, syscall.ENOMEM
	}
	start, err := reserve(size + align)
	if err != nil {
		return Range{}, err
	}
	end := start + size + align
	base := (start + align - 1) / align * align
	if base > start && m.Release(start, base-start) == nil {
		start = base
	}
	if end > base+size && m.Release(base+size, end-base-size) == nil {
		end = base + size
	}
	return Range{Base: base, Size: size, MapBase: start, MapSize: end - start}, nil
}
