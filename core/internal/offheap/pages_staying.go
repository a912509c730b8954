//go:build linux && !race && !ferrum_moving_tables

package offheap

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// smallBytes is the largest size of a table on the Go heap. Own pages cost a table two
// system calls, a page that is half empty on average, and one of the few ten thousand
// mappings that a process may have.
const smallBytes = 4 << 10

// remap extends pages in place or moves them, without a copy; with was 0 it maps new
// ones.
func remap(base unsafe.Pointer, was, bytes int) (unsafe.Pointer, error) {
	if was == 0 {
		return mapPages(bytes)
	}
	return unix.MremapPtr(base, uintptr(was), nil, uintptr(bytes), unix.MREMAP_MAYMOVE)
}

// unmap unmaps pages. This fails if the process is at its limit of mappings and the
// call would split one, or if a filter forbids it. Then the memory is freed, and the
// addresses stay mapped.
func unmap(base unsafe.Pointer, bytes int) {
	for ; bytes > unmapBytes; bytes -= unmapBytes {
		unmapSome(unsafe.Add(base, bytes-unmapBytes), unmapBytes)
	}
	unmapSome(base, bytes)
}

// unmapBytes is the largest number of bytes that one call unmaps. During the call no
// other thread of the process can map memory.
const unmapBytes = 8 << 20

func unmapSome(base unsafe.Pointer, bytes int) {
	if unix.MunmapPtr(base, uintptr(bytes)) != nil {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(base), uintptr(bytes), unix.MADV_DONTNEED)
	}
}
