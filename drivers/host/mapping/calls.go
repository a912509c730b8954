//go:build unix

package mapping

import (
	"math"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"ferrum_mem/core/device"
)

// HugePageBytes is the size from which on ranges are aligned for huge pages and advised to
// use them: the size of a huge page on amd64 and, with pages of 4 KiB, on arm64.
const HugePageBytes = 2 << 20

// Calls are the system calls by which the backend gets memory. Tests replace them by calls
// that fail.
type Calls struct {
	// Reserve maps size bytes of anonymous memory, readable and writable. A page gets
	// memory when it is first touched.
	Reserve func(size uint64) (address uint64, err error)
	// Release unmaps a range and releases its memory to the system at once.
	Release func(address, size uint64) error
	// Lock keeps a range in memory until the range is released.
	Lock func(address, size uint64) error
	// AdviseHuge requests huge pages. The system may ignore the request.
	AdviseHuge func(address, size uint64)
	// IsMapped states whether a whole range is mapped.
	IsMapped func(address, size uint64) bool
	// Allows states that the program can access a range, or false if the system does not answer
	// that. The contents do not change, but pages without memory get memory.
	Allows func(address, size uint64, access device.Access) bool
	// Populate lets the system allocate the memory of a range of whole pages. It is only
	// advice. The contents do not change.
	Populate func(address, size uint64)
	// Virtual is nil if the system cannot separate memory from address space.
	Virtual *VirtualCalls
}

// System returns the calls of the system that this process runs on.
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
			if start == 0 || size > math.MaxInt64-page {
				return false // the system maps no memory at the first page, and none that is so large
			}
			// The call writes nothing: it only lets the system write, and only for files.
			return unix.Msync(unsafe.Slice((*byte)(Pointer(start)), address-start+size), unix.MS_ASYNC) == nil
		},
		Allows: func(address, size uint64, access device.Access) bool {
			page := uint64(unix.Getpagesize())
			start := address &^ (page - 1)
			if start == 0 || size > math.MaxInt64-page {
				return false
			}
			return allows(unsafe.Slice((*byte)(Pointer(start)), address-start+size), access)
		},
		Populate: func(address, size uint64) {
			populate(unsafe.Slice((*byte)(Pointer(address)), size))
		},
		Virtual: SystemVirtual(),
	}
}

// Range is a mapped range.
type Range struct {
	Base, Size uint64
	// MapBase and MapSize are the mapping that contains the range. The mapping is larger
	// than the range only if its unaligned ends could not be unmapped.
	MapBase, MapSize uint64
}

// Aligned maps more than size and unmaps the parts before and after the aligned range. An
// end that cannot be unmapped is kept and unmapped with the range. It is never touched, so
// it costs only address space.
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
