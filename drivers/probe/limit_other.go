//go:build darwin || freebsd

package probe

import (
	"os"
	"time"

	"ferrum_mem/core/device"
)

// endAfter ends this process from a timer.
func endAfter(limit time.Duration) error {
	time.AfterFunc(limit, func() { os.Exit(device.ProbeExitLate) })
	return nil
}
