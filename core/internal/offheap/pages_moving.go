//go:build linux && !race && ferrum_moving_tables

package offheap

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// smallBytes is 0: every table has its own pages.
const smallBytes = 0

// remap copies the contents to new pages.
func remap(base unsafe.Pointer, was, bytes int) (unsafe.Pointer, error) {
	moved, err := mapPages(bytes)
	if err == nil && was != 0 {
		copy(unsafe.Slice((*byte)(moved), was), unsafe.Slice((*byte)(base), was))
		unmap(base, was)
	}
	return moved, err
}

// unmap frees the memory and keeps the addresses reserved, so that nothing else is
// mapped there and every later access faults.
func unmap(base unsafe.Pointer, bytes int) {
	const flags = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_FIXED | unix.MAP_NORESERVE
	if _, err := unix.MmapPtr(-1, 0, base, uintptr(bytes), unix.PROT_NONE, flags); err != nil {
		panic("offheap: mmap: " + err.Error())
	}
}
