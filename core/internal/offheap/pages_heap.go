//go:build !linux || race

package offheap

import "unsafe"

// Pages says that large tables have pages of their own in this build.
const Pages = false

// smallBytes is where tables begin to grow by an eighth.
const smallBytes = 4 << 10

// mapped is never true here, so what follows it is never called.
func mapped(int) bool { return false }

func roundToPages(bytes int) int { return bytes }

// probe knows nothing in this build.
func probe(int) error { return nil }

func remap(unsafe.Pointer, int, int) (unsafe.Pointer, error) {
	panic("offheap: tables are on the Go heap in this build")
}

func mapHuge(int) (unsafe.Pointer, error) {
	panic("offheap: blocks are on the Go heap in this build")
}

func unmap(unsafe.Pointer, int) {
	panic("offheap: tables are on the Go heap in this build")
}
