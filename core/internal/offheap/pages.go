//go:build linux && !race

package offheap

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Pages states that large tables have their own pages in this build.
const Pages = true

var pageBytes = os.Getpagesize()

func roundToPages(bytes int) int { return (bytes + pageBytes - 1) &^ (pageBytes - 1) }

func mapPages(bytes int) (unsafe.Pointer, error) {
	return unix.MmapPtr(-1, 0, nil, uintptr(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
}
