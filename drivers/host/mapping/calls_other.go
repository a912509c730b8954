//go:build unix && !linux

package mapping

import "golang.org/x/sys/unix"

// mapNoReserve is nothing where untouched anonymous memory is not accounted, or
// where there is no such flag.
const mapNoReserve = 0

// adviseHuge does nothing where the system has no such advice.
func adviseHuge([]byte) {}

// populate asks for the pages to be read ahead.
func populate(memory []byte) { _ = unix.Madvise(memory, unix.MADV_WILLNEED) }
