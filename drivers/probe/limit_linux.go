package probe

import (
	"time"

	"golang.org/x/sys/unix"
)

// endAfter sets a system timer that ends this process with SIGALRM.
func endAfter(limit time.Duration) error {
	_, err := unix.Setitimer(unix.ITIMER_REAL, unix.Itimerval{Value: unix.NsecToTimeval(limit.Nanoseconds())})
	return err
}
