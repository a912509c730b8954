//go:build unix

package host

import (
	"math"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapper is what the backend needs from the system to have memory. Tests put
// in one that fails.
type mapper struct {
	// reserve maps size bytes of anonymous memory, readable and writable, none
	// of which exists before it is touched.
	reserve func(size uint64) (address uint64, err error)
	// release unmaps a range; its memory goes back to the system at once.
	release func(address, size uint64) error
	// lock keeps a range in memory, until it is released.
	lock func(address, size uint64) error
	// adviseHuge asks for huge pages; it is only ever a wish.
	adviseHuge func(address, size uint64)
	// isMapped says whether something is mapped throughout a range.
	isMapped func(address, size uint64) bool
	// populate has the system put memory behind a range that is whole pages; it is
	// only ever a wish. The bytes stay as they are.
	populate func(address, size uint64)
	// virtual is nil where the system has no memory apart from addresses.
	virtual *virtualMapper
}

func systemMapper() mapper {
	return mapper{
		reserve: func(size uint64) (uint64, error) {
			p, err := unix.MmapPtr(-1, 0, nil, uintptr(size), unix.PROT_READ|unix.PROT_WRITE,
				unix.MAP_PRIVATE|unix.MAP_ANON|mapNoReserve)
			return uint64(uintptr(p)), err
		},
		release: func(address, size uint64) error {
			return unix.MunmapPtr(pointer(address), uintptr(size))
		},
		lock: func(address, size uint64) error {
			return unix.Mlock(unsafe.Slice((*byte)(pointer(address)), size))
		},
		adviseHuge: func(address, size uint64) {
			adviseHuge(unsafe.Slice((*byte)(pointer(address)), size))
		},
		isMapped: func(address, size uint64) bool {
			page := uint64(unix.Getpagesize())
			start := address &^ (page - 1)
			// It writes nothing: that is left to the system, and only for files.
			return unix.Msync(unsafe.Slice((*byte)(pointer(start)), address-start+size), unix.MS_ASYNC) == nil
		},
		populate: func(address, size uint64) {
			populate(unsafe.Slice((*byte)(pointer(address)), size))
		},
		virtual: systemVirtualMapper(),
	}
}

// mappedRange is where something was mapped.
type mappedRange struct {
	base, size uint64
	// mapBase and mapSize are the mapping around it: larger than the range only where
	// its unaligned ends could not be cut off.
	mapBase, mapSize uint64
}

// aligned maps more than size and cuts off what lies before and after the
// first aligned address. An end that cannot be cut off is kept and unmapped
// with the segment: untouched, it costs address space only.
func (m *mapper) aligned(size, align uint64, reserve func(uint64) (uint64, error)) (mappedRange, error) {
	if size > math.MaxInt64-min(align, math.MaxInt64) {
		return mappedRange{}, syscall.ENOMEM
	}
	start, err := reserve(size + align)
	if err != nil {
		return mappedRange{}, err
	}
	end := start + size + align
	base := (start + align - 1) / align * align
	if base > start && m.release(start, base-start) == nil {
		start = base
	}
	if end > base+size && m.release(base+size, end-base-size) == nil {
		end = base + size
	}
	return mappedRange{base: base, size: size, mapBase: start, mapSize: end - start}, nil
}
