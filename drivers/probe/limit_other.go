//go:build darwin || freebsd

package probe

import (
	"os"
	"time"

	"ferrum_mem/core/device"
)

// endAfter starts a timer that ends this process.
func endAfter(limit time.Duration) error {
	time.AfterFunc(limit, func() { os.Exit(device.ProbeExitLate) })
	return nil
}
