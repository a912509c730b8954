package cuda

import (
	"sync"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/dl"
)

// event is an event of the driver without timing, which costs the device nothing, and
// for which a thread sleeps rather than spins.
type event struct {
	owner *openDevice

	// using is held for reading while the handle is in use, and for writing when it
	// is destroyed.
	using  sync.RWMutex
	handle uintptr
	closed bool
}

var _ device.Event = (*event)(nil)

// RecordEvent marks the present end of the queue.
func (s *stream) RecordEvent() (device.Event, error) {
	e, err := s.record("cuda.record_event")
	if err != nil {
		return nil, err
	}
	return e, nil
}

func (s *stream) record(op string) (*event, error) {
	o := s.owner
	e := &event{owner: o}
	err := s.use(op, func() error {
		err := o.call(op, "", &o.api.eventCreate, dl.Pointer(&e.handle), eventBlockingSync|eventDisableTiming)
		if err != nil {
			return err
		}
		if err := o.call(op, "", &o.api.eventRecord, e.handle, s.handle); err != nil {
			_ = o.takeBack(op, "", &o.api.eventDestroy, e.handle)
			return err
		}
		o.mu.Lock()
		o.events[e] = struct{}{}
		o.mu.Unlock()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// use runs body while the event is open, in its device's context.
func (e *event) use(op string, body func() error) error {
	e.using.RLock()
	defer e.using.RUnlock()
	if e.closed || e.handle == 0 {
		return e.owner.errorf(device.CodeInvalidState, op, "the event or its device is closed")
	}
	return e.owner.within(op, body)
}

// WaitEvent makes later work wait for an event of any CUDA device.
func (s *stream) WaitEvent(waited device.Event) error {
	const op = "cuda.wait_event"
	if waited == nil {
		return s.owner.errorf(device.CodeNullPointer, op, "event: must not be nil")
	}
	e, ok := waited.(*event)
	if !ok || e == nil {
		return s.owner.errorf(device.CodeUnsupported, op, "event: of type %T, which is another backend's", waited)
	}
	e.using.RLock()
	defer e.using.RUnlock()
	if e.closed || e.handle == 0 {
		return s.owner.errorf(device.CodeInvalidState, op, "the event or its device is closed")
	}
	return s.use(op, func() error {
		return s.owner.call(op, "", &s.owner.api.streamWait, s.handle, e.handle, 0)
	})
}

func (e *event) Done() (bool, error) {
	done := false
	err := e.use("cuda.event_done", func() (err error) {
		done, err = e.owner.ready("cuda.event_done", &e.owner.api.eventQuery, e.handle)
		return err
	})
	return done, err
}

func (e *event) Synchronize(timeout time.Duration) error {
	const op = "cuda.synchronize_event"
	limit, err := e.owner.newDeadline(op, timeout)
	if err != nil {
		return err
	}
	return e.await(op, limit)
}

func (e *event) await(op string, limit deadline) error {
	if limit.forever() {
		return e.use(op, func() error {
			return e.owner.call(op, "", &e.owner.api.eventSynchronize, e.handle)
		})
	}
	done, err := limit.poll(e.Done)
	if err == nil && !done {
		return e.owner.errorf(device.CodeTimeout, op, "the event has not been passed after %v", limit.timeout)
	}
	return err
}

// PassedAt is CodeUnsupported: events are made without timing.
func (e *event) PassedAt() (time.Duration, error) {
	return 0, e.owner.errorf(device.CodeUnsupported, "cuda.event_passed_at",
		"events of this driver are made without timing")
}

// Close destroys the event; streams that wait for it still do.
func (e *event) Close() error {
	const op = "cuda.close_event"
	o := e.owner
	if err := o.outsideHostFunction(op); err != nil {
		return err
	}
	e.using.Lock()
	defer e.using.Unlock()
	o.gate.RLock()
	defer o.gate.RUnlock()
	if e.closed {
		return o.errorf(device.CodeInvalidState, op, "the event is closed already")
	}
	e.closed = true
	return e.destroy(op)
}

// leave destroys the event with its device, which the caller is about to close.
func (e *event) leave(op string) {
	e.using.Lock()
	defer e.using.Unlock()
	_ = e.destroy(op)
}

// destroy gives the driver's event back, if that has not been done. The caller holds
// e.using and keeps the context.
func (e *event) destroy(op string) error {
	if e.handle == 0 {
		return nil
	}
	o, handle := e.owner, e.handle
	e.handle = 0
	o.mu.Lock()
	delete(o.events, e)
	o.mu.Unlock()
	return o.returned(o.current(op, func() error { return o.call(op, "", &o.api.eventDestroy, handle) }))
}
