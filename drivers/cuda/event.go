package cuda

import (
	"cmp"
	"errors"
	"math"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

var (
	_ device.TimedEvent  = (*event)(nil)
	_ device.TimedStream = (*stream)(nil)
)

// RecordEvent records an event at the current end of the queue. PassedAt and ElapsedSince
// do not work with this event.
func (s *stream) RecordEvent() (device.Event, error) {
	return s.recordFor("cuda.record_event", false)
}

// RecordTimedEvent is like RecordEvent, for an event that ElapsedSince can measure.
func (s *stream) RecordTimedEvent() (device.Event, error) {
	return s.recordFor("cuda.record_timed_event", true)
}

func (s *stream) recordFor(op string, timed bool) (device.Event, error) {
	e, err := s.record(op, timed)
	if err != nil {
		return nil, err
	}
	return e, nil
}

func (s *stream) record(op string, timed bool) (*event, error) {
	o := s.owner
	e := &event{owner: o, timed: timed}
	err := s.order(op, func() (err error) {
		if e.handle, err = o.events.take(op, timed); err != nil {
			return err
		}
		if e.capture, err = s.recordEnd(op, e.handle); err != nil {
			if !o.events.spare.Put(e.handle, timed) {
				o.ctx.undo(op, "", &o.ctx.api.eventDestroy, e.handle)
			}
			return err
		}
		o.events.enter(e)
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
	if e.gone() {
		return e.owner.ctx.errorf(device.CodeInvalidState, op, "the event or its device is closed")
	}
	return e.owner.ctx.within(op, body)
}

// WaitEvent makes later work of the stream wait for an event of any CUDA device.
func (s *stream) WaitEvent(waited device.Event) error {
	const op = "cuda.wait_event"
	if waited == nil {
		return s.owner.ctx.errorf(device.CodeNullPointer, op, "event: must not be nil")
	}
	e, ok := waited.(*event)
	if !ok || e == nil {
		return s.owner.ctx.errorf(device.CodeUnsupported, op, "event: of type %T, which is another backend's", waited)
	}
	e.using.RLock()
	defer e.using.RUnlock()
	if e.gone() {
		return s.owner.ctx.errorf(device.CodeInvalidState, op, "the event or its device is closed")
	}
	return s.order(op, func() error {
		if e.mayCapture() {
			// The stream may join a capture here. The lock keeps its state from being
			// queried meanwhile.
			s.joining.Lock()
			defer s.joining.Unlock()
			s.mayNowCapture()
		}
		if err := s.mayWaitFor(op, e); err != nil {
			return err
		}
		return afterCapture(s.owner.callWith(e.owner, op, "", &s.owner.ctx.api.streamWait, s.handle, e.handle, 0))
	})
}

// afterCapture explains the error of a call with an event that exists. Driver 580 returns
// "invalid argument" for an event that was last recorded in a capture that has ended.
func afterCapture(err error) error {
	var typed *device.Error
	if errors.As(err, &typed) && typed.Native == resultInvalidValue && typed.Code == device.CodeDevice {
		typed.Code = device.CodeInvalidState
		typed.Message += "; the event was last recorded in a capture, which has ended"
	}
	return err
}

func (e *event) Done() (bool, error) {
	done := false
	err := e.use("cuda.event_done", func() (err error) {
		if err = e.uncaptured("cuda.event_done"); err == nil {
			done, err = e.owner.ctx.ready("cuda.event_done", &e.owner.ctx.api.eventQuery, e.handle)
			err = afterCapture(err)
		}
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
			if err := e.uncaptured(op); err != nil {
				return err
			}
			return afterCapture(e.owner.ctx.call(op, "", &e.owner.ctx.api.eventSynchronize, e.handle))
		})
	}
	done, err := limit.poll(e.Done)
	if err == nil && !done {
		return e.owner.ctx.errorf(device.CodeTimeout, op, "the event has not completed after %v", limit.timeout)
	}
	return err
}

// PassedAt returns CodeUnsupported: the vendor driver only measures the time between two
// events.
func (e *event) PassedAt() (time.Duration, error) {
	return 0, e.owner.ctx.errorf(device.CodeUnsupported, "cuda.event_passed_at",
		"the driver has no clock to read: it measures from one timed event to another")
}

// ElapsedSince queries the vendor driver, which answers in single precision: the resolution
// is about 60 ns for one second, and proportionally coarser for longer times.
func (e *event) ElapsedSince(start device.Event) (time.Duration, error) {
	const op = "cuda.event_elapsed"
	o := e.owner
	from, ok := start.(*event)
	if !ok || from == nil || from.owner != o {
		return 0, o.ctx.errorf(device.CodeInvalidArgument, op, "start: of type %T, which is not an event of this device", start)
	}
	if !from.timed || !e.timed {
		return 0, o.ctx.errorf(device.CodeInvalidArgument, op, "an event was recorded without timing")
	}
	first, second := from, e
	if first.number > second.number {
		first, second = second, first
	}
	first.using.RLock()
	defer first.using.RUnlock()
	if second != first {
		second.using.RLock()
		defer second.using.RUnlock()
	}
	if from.gone() || e.gone() {
		return 0, o.ctx.errorf(device.CodeInvalidState, op, "an event or its device is closed")
	}
	var milliseconds float32
	err := o.ctx.within(op, func() error {
		if err := cmp.Or(from.uncaptured(op), e.uncaptured(op)); err != nil {
			return err
		}
		f := either(&o.ctx.api.eventElapsed, &o.ctx.api.eventElapsed2)
		number := f.Call(dl.Pointer(&milliseconds), from.handle, e.handle)
		if number == resultNotReady {
			return o.ctx.errorf(device.CodeInvalidState, op, "an event has not completed yet")
		}
		if number != 0 {
			return afterCapture(o.ctx.failure(op, f, number, ""))
		}
		return nil
	})
	return time.Duration(math.Round(float64(milliseconds) * float64(time.Millisecond))), err
}

// Close keeps the vendor driver's event as a spare one. Streams that wait for the event
// still wait for what was recorded when they began to wait. If Close fails, the event stays
// open.
func (e *event) Close() error {
	const op = "cuda.close_event"
	o := e.owner
	if err := o.ctx.outsideHostFunction(op); err != nil {
		return err
	}
	e.using.Lock()
	defer e.using.Unlock()
	o.ctx.gate.RLock()
	defer o.ctx.gate.RUnlock()
	if e.closed {
		return o.ctx.errorf(device.CodeInvalidState, op, "the event is closed already")
	}
	isKept := e.handle == 0 || e.foreign || !e.shared && o.ctx.lost.Load() == nil && o.events.spare.Put(e.handle, e.timed)
	if !isKept {
		err := o.ctx.current(op, func() error { return o.ctx.call(op, "", &o.ctx.api.eventDestroy, e.handle) })
		if err := o.ctx.returned(err); err != nil {
			return err
		}
	}
	e.closed = true
	e.release()
	return nil
}

// gone states whether the event has no event of the vendor driver any more. The caller
// holds e.using.
func (e *event) gone() bool { return e.closed || e.handle == 0 }

// release removes the vendor driver's event from this one and returns it. 0: there was
// none. The caller holds e.using for writing.
func (e *event) release() uintptr {
	handle := e.handle
	e.handle = 0
	e.owner.events.mu.Lock()
	delete(e.owner.events.known, e)
	e.owner.events.mu.Unlock()
	return handle
}

// enter adds an event to the known events of its device.
func (d *deviceEvents) enter(e *event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last++
	e.number = d.last
	d.known[e] = struct{}{}
}
