package cuda

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

var _ device.Stream = (*stream)(nil)

func (o *openDevice) newStream(op string, priority int) (*stream, error) {
	s := &stream{owner: o}
	err := o.ctx.within(op, func() error {
		return o.ctx.call(op, "", &o.ctx.api.streamCreate, dl.Pointer(&s.handle), streamNonBlocking, uintptr(priority))
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *stream) check(op string) error {
	if s.closed.Load() {
		return s.owner.ctx.errorf(device.CodeInvalidState, op, "the stream is closed")
	}
	return nil
}

// use runs body while the stream is open, in the device's context.
func (s *stream) use(op string, body func() error) error {
	return s.useAs(op, relaxed, body)
}

// order is like use, for calls that only order work. On an external stream, which may be
// the legacy default stream, a capture can forbid these calls too.
func (s *stream) order(op string, body func() error) error {
	how := asItIs
	if s.foreign {
		how = relaxed
	}
	return s.useAs(op, how, body)
}

func (s *stream) useAs(op string, how entry, body func() error) error {
	s.using.RLock()
	defer s.using.RUnlock()
	if err := s.check(op); err != nil {
		return err
	}
	return s.owner.ctx.enter(op, how, body)
}

// Idle queries the vendor driver. A failure of queued work is an error here as well.
func (s *stream) Idle() (bool, error) {
	const op = "cuda.idle"
	if s.drained.Load() {
		return true, s.check(op)
	}
	idle := false
	err := s.use(op, func() (err error) {
		s.joining.RLock()
		defer s.joining.RUnlock()
		if err = s.uncaptured(op); err == nil {
			idle, err = s.owner.ctx.ready(op, &s.owner.ctx.api.streamQuery, s.handle)
		}
		return err
	})
	return idle, err
}

// ready queries whether a stream or an event has completed.
func (c *driverContext) ready(op string, query *dl.Function, handle uintptr) (bool, error) {
	number := query.Call(handle)
	if number == resultNotReady {
		return false, nil
	}
	if number != 0 {
		return false, c.failure(op, query, number, "")
	}
	return true, nil
}

// Synchronize waits for the work queued so far. For the work of a destroyed external stream
// it waits only if the timeout has no limit (settleGone). Work that fails on the device
// makes its context unusable: then the device is lost. After a panic of a host function the
// call returns CodeInternal.
func (s *stream) Synchronize(timeout time.Duration) error {
	const op = "cuda.synchronize"
	limit, err := s.owner.newDeadline(op, timeout)
	if err != nil {
		return err
	}
	if err := s.await(op, limit); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	failure := s.failure
	s.failure = nil
	return failure
}

// await waits for the current end of the queue. Without a limit the vendor driver waits.
// With a limit an event is recorded at the end and queried repeatedly. For a stream that
// may capture, an event is recorded in both cases.
func (s *stream) await(op string, limit deadline) error {
	if s.mayCapture.Load() && limit.timeout != 0 && !s.drained.Load() {
		err := s.awaitMark(op, limit)
		if err != nil && limit.forever() {
			err = s.use(op, func() error { return s.settleGone(op, err) })
		}
		return err
	}
	if limit.forever() && !s.drained.Load() {
		return s.use(op, func() error {
			if err := s.uncaptured(op); err != nil {
				return err
			}
			return s.owner.ctx.call(op, "", &s.owner.ctx.api.streamSynchronize, s.handle)
		})
	}
	if idle, err := s.Idle(); idle || err != nil {
		return err
	}
	return s.awaitMark(op, limit)
}

// awaitMark records an event at the end of the queue and waits for it. The event does not
// become part of a graph, unless a capture begins at that moment.
func (s *stream) awaitMark(op string, limit deadline) error {
	if err := s.use(op, func() error { return s.uncaptured(op) }); err != nil {
		return err
	}
	end, err := s.record(op, false)
	if err != nil {
		return err
	}
	defer func() { _ = end.Close() }()
	if end.Captured() {
		return s.capturingError(op)
	}
	return end.await(op, limit)
}

// Close drains the stream. For the default stream, which ends with its device, it returns
// CodeInvalidArgument.
func (s *stream) Close() error {
	const op = "cuda.close_stream"
	o := s.owner
	if s == o.defaultStream {
		return o.ctx.errorf(device.CodeInvalidArgument, op, "the default stream ends when its device closes")
	}
	if err := o.ctx.outsideHostFunction(op); err != nil {
		return err
	}
	s.using.Lock()
	defer s.using.Unlock()
	o.ctx.gate.RLock()
	defer o.ctx.gate.RUnlock()
	if err := s.check(op); err != nil {
		return err
	}
	if err := o.ctx.returned(s.destroy(op)); err != nil {
		return err
	}
	o.mu.Lock()
	delete(o.streams, s)
	o.mu.Unlock()
	return nil
}

// end destroys the stream together with its device, which the caller is closing.
func (s *stream) end() {
	s.using.Lock()
	defer s.using.Unlock()
	s.list(false)
	s.closed.Store(true)
	s.owner.ctx.owe("a stream", &s.owner.ctx.api.streamSynchronize, s.handle)
	s.owner.ctx.owe("a stream", &s.owner.ctx.api.streamDestroy, s.handle)
}

// destroy waits for the stream and destroys it. If the wait fails, the stream stays as it
// was, unless the device is lost. The caller holds s.using and keeps the context.
func (s *stream) destroy(op string) error {
	o := s.owner
	s.list(false)
	err := o.ctx.current(op, func() error {
		// An owed call may use this stream.
		if err := o.ctx.payFirst(op); err != nil || s.drained.Load() {
			return err
		}
		err := s.uncaptured(op)
		if err == nil && s.foreign {
			err = s.settle(op)
		}
		if s.foreign {
			return s.settleGone(op, err)
		}
		if err != nil && o.ctx.lost.Load() == nil {
			return err
		}
		if err := o.ctx.call(op, "", &o.ctx.api.streamSynchronize, s.handle); err != nil && o.ctx.lost.Load() == nil {
			return err
		}
		return o.ctx.call(op, "", &o.ctx.api.streamDestroy, s.handle)
	})
	s.closed.Store(err == nil || o.ctx.lost.Load() != nil)
	if !s.closed.Load() && s.mayCapture.Load() {
		s.list(true)
	}
	return err
}
