package streams

import (
	"time"

	"ferrum_mem/core/device"
)

// deadline limits how long one call may wait in total.
type deadline struct {
	op      string
	timeout time.Duration
	// timer runs from the first wait on.
	timer *time.Timer
}

func newDeadline(op string, timeout time.Duration) (*deadline, error) {
	if timeout < 0 && timeout != device.Forever {
		return nil, device.Errorf(device.CodeInvalidArgument, op,
			"timeout %d ns: want 0 or more, or %d for no limit", timeout.Nanoseconds(), device.Forever.Nanoseconds())
	}
	return &deadline{op: op, timeout: timeout}, nil
}

// wait states whether the channel was closed in time.
func (d *deadline) wait(passed <-chan struct{}) bool {
	switch {
	case d.timeout == device.Forever:
		<-passed
		return true
	case d.timeout == 0:
		select {
		case <-passed:
			return true
		default:
			return false
		}
	}
	if d.timer == nil {
		d.timer = time.NewTimer(d.timeout)
	}
	select {
	case <-passed:
		return true
	case <-d.timer.C:
		return false
	}
}

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
}
