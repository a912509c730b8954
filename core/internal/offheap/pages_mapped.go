//go:build linux && !race

package offheap

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"ferrum_mem/core/device"
)

// mapped reports whether a table of that many bytes has its own pages.
func mapped(bytes int) bool { return bytes > smallBytes }

// probe returns CodeResourceExhausted if the system would not provide that many bytes
// now. It keeps no memory.
func probe(bytes int) error {
	base, err := mapPages(bytes)
	if err != nil {
		return device.Errorf(device.CodeResourceExhausted, opGrow, "the system did not provide %v more: %w", device.Size(bytes), err)
	}
	unmap(base, bytes)
	return nil
}

// mapHuge is mapPages with an alignment to a huge page, for sizes of at least one huge
// page, and with the advice to use huge pages.
func mapHuge(bytes int) (unsafe.Pointer, error) {
	if bytes < hugeBytes {
		return mapPages(bytes)
	}
	base, err := mapPages(bytes + hugeBytes)
	if err != nil {
		return nil, err
	}
	front := int(-uintptr(base) % hugeBytes)
	if front > 0 {
		unmap(base, front)
	}
	at := unsafe.Add(base, front)
	unmap(unsafe.Add(at, bytes), hugeBytes-front)
	// Without huge pages the block is only slower.
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(at), uintptr(bytes), unix.MADV_HUGEPAGE)
	return at, nil
}
