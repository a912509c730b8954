package cuda

import (
	"time"

	"ferrum_mem/core/device"
)

// deadline limits how long one call may wait in total.
type deadline struct {
	timeout time.Duration
	until   time.Time
}

func (o *openDevice) newDeadline(op string, timeout time.Duration) (deadline, error) {
	if timeout < 0 && timeout != device.Forever {
		return deadline{}, o.ctx.errorf(device.CodeInvalidArgument, op,
			"timeout %d ns: want 0 or more, or %d for no limit", timeout.Nanoseconds(), device.Forever.Nanoseconds())
	}
	return deadline{timeout: timeout, until: time.Now().Add(timeout)}, nil
}

func (d deadline) forever() bool { return d.timeout == device.Forever }

// The vendor driver has no wait with a limit. So its state is polled: at once at first, and
// then at growing intervals.
const (
	firstPause = 2 * time.Microsecond
	lastPause  = time.Millisecond
)

// poll calls done until it returns true or the time has passed. It returns false if the
// time has passed.
func (d deadline) poll(done func() (bool, error)) (bool, error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if is, err := done(); is || err != nil {
			return is, err
		}
		left := time.Until(d.until)
		if left <= 0 {
			return false, nil
		}
		time.Sleep(min(pause, left))
	}
}
