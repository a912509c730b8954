package sleep

import (
	"math"
	"syscall"
)

// lockedLimit returns half of the memory of the machine; math.MaxUint64 if it is not
// known.
func lockedLimit() uint64 {
	var info syscall.Sysinfo_t
	if err := syscall.Sysinfo(&info); err != nil || info.Totalram == 0 {
		return math.MaxUint64
	}
	return uint64(info.Totalram) * uint64(info.Unit) / 2
}
