package library

import (
	"time"

	"ferrum_mem/core/manager"
)

// StreamCreate makes a stream on a device.
func (l *Library) StreamCreate(deviceID uint64) (uint64, error) {
	d, err := l.making("stream.create", deviceID)
	if err != nil {
		return 0, err
	}
	defer d.gate.leave()
	h, err := d.streams.CreateStream()
	return h.ID(), late(err, d)
}

// StreamDestroy destroys a stream: CodeBusy while work is queued, unless
// forced, which waits for it. The default one is CodeInvalidArgument.
func (l *Library) StreamDestroy(stream uint64, force bool) error {
	if _, err := l.started("stream.destroy"); err != nil {
		return err
	}
	if err := l.factory.DestroyStream(manager.StreamHandle(stream), force); err != nil {
		return l.orLog(err, force, stream)
	}
	if l.options.ThreadCaches != nil {
		l.options.ThreadCaches.ForgetStream(stream)
	}
	return nil
}

// StreamDefault gives a device's default stream, the same handle each time.
func (l *Library) StreamDefault(deviceID uint64) (uint64, error) {
	d, err := l.making("stream.default", deviceID)
	if err != nil {
		return 0, err
	}
	defer d.gate.leave()
	h, err := d.streams.DefaultStream()
	return h.ID(), late(err, d)
}

// StreamSynchronize waits until all work queued before the call is done, at
// most timeout (device.Forever: no limit, 0: only asks; then CodeTimeout), and
// returns the first failure of queued work since it was asked last.
func (l *Library) StreamSynchronize(stream uint64, timeout time.Duration) error {
	if _, err := l.started("stream.synchronize"); err != nil {
		return err
	}
	return l.factory.SynchronizeStream(manager.StreamHandle(stream), timeout)
}

// StreamIsReady says without waiting whether all work queued so far is done.
func (l *Library) StreamIsReady(stream uint64) (bool, error) {
	if _, err := l.started("stream.is_ready"); err != nil {
		return false, err
	}
	return l.factory.IsStreamReady(manager.StreamHandle(stream))
}

// StreamHostFunction queues a call of fn on a stream.
func (l *Library) StreamHostFunction(stream uint64, fn func()) error {
	if _, err := l.started("stream.host_function"); err != nil {
		return err
	}
	return l.factory.HostFunction(manager.StreamHandle(stream), fn)
}

// StreamWaitEvent makes all later work of the stream wait for the event.
func (l *Library) StreamWaitEvent(stream, event uint64) error {
	if _, err := l.started("stream.wait_event"); err != nil {
		return err
	}
	return l.factory.WaitEvent(manager.StreamHandle(stream), manager.EventHandle(event))
}

// EventRecord marks the present end of the stream's queue with a new event.
func (l *Library) EventRecord(stream uint64) (uint64, error) {
	if _, err := l.started("event.record"); err != nil {
		return 0, err
	}
	h, err := l.factory.RecordEvent(manager.StreamHandle(stream))
	return h.ID(), err
}

// EventDestroy forgets an event; streams that wait for it still do.
func (l *Library) EventDestroy(event uint64) error {
	if _, err := l.started("event.destroy"); err != nil {
		return err
	}
	return l.factory.DestroyEvent(manager.EventHandle(event))
}

// EventIsReady says without waiting whether the event's point has been passed.
func (l *Library) EventIsReady(event uint64) (bool, error) {
	if _, err := l.started("event.is_ready"); err != nil {
		return false, err
	}
	return l.factory.IsEventReady(manager.EventHandle(event))
}

// EventSynchronize waits until the event's point has been passed, at most
// timeout (device.Forever: no limit, 0: only asks); then CodeTimeout.
func (l *Library) EventSynchronize(event uint64, timeout time.Duration) error {
	if _, err := l.started("event.synchronize"); err != nil {
		return err
	}
	return l.factory.SynchronizeEvent(manager.EventHandle(event), timeout)
}

// EventElapsed is the time from start to end, negative when end was passed
// first. Not passed yet is CodeInvalidState, two devices CodeInvalidArgument.
func (l *Library) EventElapsed(start, end uint64) (time.Duration, error) {
	if _, err := l.started("event.elapsed"); err != nil {
		return 0, err
	}
	return l.factory.EventElapsed(manager.EventHandle(start), manager.EventHandle(end))
}
