package devicetest

import (
	"time"

	"ferrum_mem/core/device"
)

// enter takes the lock, counts the call and returns an error if the call fails. The
// caller unlocks in any case.
func (e *Event) enter(call Call) error {
	if err := e.dev.enter(call); err != nil {
		return err
	}
	if e.closed {
		return device.Errorf(device.CodeInvalidState, "devicetest."+string(call),
			"the event is closed").On(e.dev.info.ID)
	}
	return nil
}

// Done reports whether the event has completed.
func (e *Event) Done() (bool, error) {
	err := e.enter(EventDone)
	defer e.dev.driver.mu.Unlock()
	if err == nil {
		err = e.uncaptured(EventDone)
	}
	if err != nil {
		return false, err
	}
	return e.passed, nil
}

// Synchronize waits until the event has completed.
func (e *Event) Synchronize(timeout time.Duration) error {
	err := e.enter(EventSynchronize)
	defer e.dev.driver.mu.Unlock()
	if err == nil {
		err = e.uncaptured(EventSynchronize)
	}
	if err != nil {
		return err
	}
	return e.dev.driver.wait(timeout, "devicetest.event_synchronize", func() bool { return e.passed })
}

// PassedAt returns the device's clock at the completion of the event.
func (e *Event) PassedAt() (time.Duration, error) {
	err := e.enter(EventPassedAt)
	defer e.dev.driver.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if !e.passed {
		return 0, device.Errorf(device.CodeInvalidState, "devicetest.event_passed_at",
			"the event has not been passed").On(e.dev.info.ID)
	}
	return e.at, nil
}

// Close destroys the event.
func (e *Event) Close() error {
	err := e.enter(EventClose)
	defer e.dev.driver.mu.Unlock()
	if err != nil {
		return err
	}
	e.closed = true
	e.dev.openEvents--
	return nil
}
