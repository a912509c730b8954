//go:build !linux

package sleep

import "math"

// lockedLimit returns math.MaxUint64: the memory of the machine is not known here, and
// only the device bounds the page-locked memory.
func lockedLimit() uint64 { return math.MaxUint64 }
