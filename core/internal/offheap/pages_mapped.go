//go:build linux && !race

package offheap

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"ferrum_mem/core/device"
)

// mapped says whether a table of so many bytes has pages of its own.
func mapped(bytes int) bool { return bytes > smallBytes }

// probe fails where the system would not give a table so many bytes now:
// CodeResourceExhausted. Nothing is kept.
func probe(bytes int) error {
	base, err := mapPages(bytes)
	if err != nil {
		return device.Errorf(device.CodeResourceExhausted, opGrow, "the system gives no %d bytes more: %w", bytes, err)
	}
	unmap(base, bytes)
	return nil
}

// mapHuge is mapPages from a multiple of a huge page on, for a length of at least
// one, with the advice to use such pages.
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
	// Without huge pages it is only slower.
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(at), uintptr(bytes), unix.MADV_HUGEPAGE)
	return at, nil
}
