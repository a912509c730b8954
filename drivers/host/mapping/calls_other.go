//go:build unix && !linux

package mapping

import (
	"golang.org/x/sys/unix"

	"ferrum_mem/core/device"
)

// mapNoReserve is 0 on systems that do not account untouched anonymous memory, or that have
// no such flag.
const mapNoReserve = 0

// adviseHuge does nothing, because the system has no such advice.
func adviseHuge([]byte) {}

// populate requests that the pages are read ahead.
func populate(memory []byte) { _ = unix.Madvise(memory, unix.MADV_WILLNEED) }

// allows does not know it.
func allows([]byte, device.Access) bool { return false }
