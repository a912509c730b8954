//go:build linux && !race && !ferrum_moving_tables

package offheap

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// smallBytes is how long a table on the Go heap may be. Pages of its own cost a
// table two system calls, a page that is half empty on average, and one of the
// few ten thousand mappings that a process may have.
const smallBytes = 4 << 10

// remap makes pages longer, in place or by moving them, without a copy; was 0
// makes new ones.
func remap(base unsafe.Pointer, was, bytes int) (unsafe.Pointer, error) {
	if was == 0 {
		return mapPages(bytes)
	}
	return unix.MremapPtr(base, uintptr(was), nil, uintptr(bytes), unix.MREMAP_MAYMOVE)
}

// unmap takes pages away. A process that is at its bound of mappings cannot, where
// that cuts one in two; a filter may forbid it. Then what they hold goes back, and
// their addresses stay.
func unmap(base unsafe.Pointer, bytes int) {
	for ; bytes > unmapBytes; bytes -= unmapBytes {
		unmapSome(unsafe.Add(base, bytes-unmapBytes), unmapBytes)
	}
	unmapSome(base, bytes)
}

// unmapBytes is how much is unmapped at a time: meanwhile no other thread of the
// process maps anything.
const unmapBytes = 8 << 20

func unmapSome(base unsafe.Pointer, bytes int) {
	if unix.MunmapPtr(base, uintptr(bytes)) != nil {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(base), uintptr(bytes), unix.MADV_DONTNEED)
	}
}
