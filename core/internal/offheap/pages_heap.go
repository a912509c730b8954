//go:build !linux || race

package offheap

import "unsafe"

// Pages states that large tables have no pages of their own in this build.
const Pages = false

// smallBytes is the size above which tables grow by an eighth.
const smallBytes = 4 << 10

// mapped always returns false here, so the code after it is never reached.
func mapped(int) bool { return false }

func roundToPages(bytes int) int { return bytes }

// probe checks nothing in this build.
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
