package cuda

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

var (
	_ device.Capturer = (*stream)(nil)
	_ device.Edge     = (*event)(nil)
)

// A stream can capture for other code only if that code has the stream's handle: an adopted
// stream, a stream whose handle was queried, or a stream that was made to wait for an event
// of a capture. Only for these streams is the capture state queried. In all capture modes,
// the vendor driver treats a query of a stream or an event of a capture, or a wait for its
// context, as an error and invalidates the capture (CUDA programming guide, "prohibited and
// unhandled operations").
//
// A query of the capture state does not make a following call safe: another thread may
// begin a capture in between. So a stream that may capture is not queried. To learn about
// its work, or to wait for it, an event is recorded in it, which is safe at any moment. The
// query whether the record lies in a capture comes after the record. Only three calls
// cannot do that: Idle, and Synchronize with the timeout 0, for which an event that was
// just recorded would come too late, and the wait for an external stream that was destroyed
// (settleGone). They query the capture state first. The program must not begin a capture
// meanwhile, so the core makes these calls only for a stream that its caller has named
// (device.Capturer).

// errCapturing is wrapped by the errors about streams that capture.
var errCapturing = errors.New("the stream is capturing: its work runs when the graph is launched, so the work cannot be queried or waited for")

// mayNowCapture records that code outside this library may let the stream capture from now
// on.
func (s *stream) mayNowCapture() {
	if !s.mayCapture.Load() {
		s.list(true)
		s.mayCapture.Store(true)
	}
}

// list adds the stream to the streams that may capture, or removes it. A stream leaves the
// list before its handle is released.
func (s *stream) list(listed bool) {
	all := &s.owner.driver.capturable
	all.mu.Lock()
	defer all.mu.Unlock()
	if !listed {
		delete(all.streams, s)
		return
	}
	if all.streams == nil {
		all.streams = make(map[*stream]struct{})
	}
	all.streams[s] = struct{}{}
}

// capturing returns a stream for which the vendor driver reports a capture, or nil. The
// caller keeps the context.
func (d *Driver) capturing() *stream {
	all := &d.capturable
	all.mu.RLock()
	defer all.mu.RUnlock()
	for s := range all.streams {
		var status int32
		// A lost device has no capture, and a query of it fails.
		number := d.api.isCapturing.Call(s.handle, dl.Pointer(&status))
		if number == resultCaptureImplicit || number == 0 && status != captureStatusNone {
			return s
		}
	}
	return nil
}

// Capture queries the vendor driver. A driver before 11.3 gives captures no numbers: the
// call returns CodeUnsupported while the stream captures.
func (s *stream) Capture() (device.Capture, error) {
	const op = "cuda.capture"
	if !s.mayCapture.Load() {
		return device.Capture{}, s.check(op)
	}
	o := s.owner
	var now captureState
	err := s.use(op, func() (err error) {
		now, err = s.captureState(op)
		if err == nil && now.status != captureStatusNone && !o.info.Capture {
			err = o.ctx.errorf(device.CodeUnsupported, op, "the driver lacks %v", o.driver.lacking[groupCaptureInfo])
		}
		return err
	})
	if err != nil {
		return device.Capture{}, err
	}
	switch now.status {
	case captureStatusNone:
		return device.Capture{}, nil
	case captureStatusActive:
		return device.Capture{State: device.CaptureActive, ID: now.id}, nil
	}
	return device.Capture{State: device.CaptureInvalid}, nil
}

// MayCapture states whether code outside this library can begin a capture on the stream. A
// stream that was destroyed cannot capture.
func (s *stream) MayCapture() bool {
	c := &s.owner.ctx
	return s.mayCapture.Load() && !s.closed.Load() && !s.drained.Load() && c.api.isCapturing.Found() &&
		!c.closed.Load() && c.lost.Load() == nil
}

// captureState is the capture state of a stream as the vendor driver reports it. id is 0 if
// the driver gives captures no numbers.
type captureState struct {
	status int32
	id     uint64
}

// captureState queries the vendor driver. The caller keeps the context.
func (s *stream) captureState(op string) (now captureState, err error) {
	o := s.owner
	if !s.mayCapture.Load() || !o.ctx.api.isCapturing.Found() {
		return now, nil
	}
	var answer struct {
		id     uint64
		status int32
	}
	if o.info.Capture {
		// Both forms of the call return the first two values alike, and only these are
		// used.
		status, id := dl.Pointer(&answer.status), dl.Pointer(&answer.id)
		if o.ctx.api.captureInfo.Found() {
			err = o.ctx.call(op, "", &o.ctx.api.captureInfo, s.handle, status, id, 0, 0, 0)
		} else {
			err = o.ctx.call(op, "", &o.ctx.api.captureInfo3, s.handle, status, id, 0, 0, 0, 0)
		}
	} else {
		err = o.ctx.call(op, "", &o.ctx.api.isCapturing, s.handle, dl.Pointer(&answer.status))
	}
	if err != nil {
		return now, err
	}
	if answer.status != captureStatusActive {
		answer.id = 0
	}
	return captureState{status: answer.status, id: answer.id}, nil
}

// captures states whether the stream takes part in a capture, which may be invalidated. The
// caller keeps the context.
func (s *stream) captures(op string) (bool, error) {
	o := s.owner
	if !s.mayCapture.Load() || !o.ctx.api.isCapturing.Found() {
		return false, nil
	}
	var status int32
	if err := o.ctx.call(op, "", &o.ctx.api.isCapturing, s.handle, dl.Pointer(&status)); err != nil {
		return false, err
	}
	return status != captureStatusNone, nil
}

// uncaptured returns an error for a stream that captures. The vendor driver would reject
// the next call too, and would invalidate the capture. The caller keeps the context.
func (s *stream) uncaptured(op string) error {
	captures, err := s.captures(op)
	if err == nil && captures {
		err = s.capturingError(op)
	}
	return err
}

func (s *stream) capturingError(op string) error {
	return s.owner.ctx.errorf(device.CodeInvalidState, op, "%w", errCapturing)
}

// recordEnd records an event at the end of the stream and returns the capture that contains
// the record. One query before the record would not be enough, because a capture can begin
// or end in between. The caller keeps the context.
func (s *stream) recordEnd(op string, handle uintptr) (capture captureState, err error) {
	o := s.owner
	before, err := s.captureState(op)
	for err == nil {
		if err = o.ctx.call(op, "", &o.ctx.api.eventRecord, handle, s.handle); err != nil {
			break
		}
		var after captureState
		if after, err = s.captureState(op); err != nil || after == before {
			return after, err
		}
		// A capture began or ended between the queries, so it is unknown whether the record
		// is in it.
		before = after
	}
	return captureState{}, err
}

// mayWaitFor returns an error if the stream captures and the event is known to be outside
// that capture, because the wait would invalidate the capture. The caller keeps the
// context.
func (s *stream) mayWaitFor(op string, e *event) error {
	if e.foreign {
		return nil
	}
	now, err := s.captureState(op)
	if err != nil || now.status == captureStatusNone || now == e.capture {
		return err
	}
	return s.owner.ctx.errorf(device.CodeInvalidState, op,
		"the stream is capturing, and the event was recorded outside of that capture: the graph cannot wait for it")
}

// Captured states whether the event is an edge of a graph.
func (e *event) Captured() bool { return e.capture.status != captureStatusNone }

// mayCapture states whether a stream may join a capture by waiting for the event.
func (e *event) mayCapture() bool { return e.Captured() || e.foreign }

// uncaptured returns an error for an event that belongs to a capture. It also does so for
// an external event while a stream captures, because the event may belong to that capture.
// The vendor driver would reject a query of such an event and invalidate the capture. After
// the capture has ended, a query does no harm. The caller keeps the context.
func (e *event) uncaptured(op string) error {
	if e.Captured() {
		return e.owner.ctx.errorf(device.CodeInvalidState, op,
			"the event was recorded in a stream that was capturing: it is an edge of the graph and never completes by itself")
	}
	if !e.foreign {
		return nil
	}
	if s := e.owner.driver.capturing(); s != nil {
		return e.owner.ctx.errorf(device.CodeInvalidState, op,
			"the stream %#x of %v is capturing, and the external event may have been recorded in that capture, "+
				"which a query would invalidate: query the event after the capture has ended", s.handle, s.owner.info.ID)
	}
	return nil
}

// leftOut returns the error of a wait for a device of which some streams capture, or nil if
// none does.
func (o *openDevice) leftOut(op string, capturing []*stream, of int) error {
	if len(capturing) == 0 {
		return nil
	}
	return o.ctx.errorf(device.CodeInvalidState, op,
		"%d of %d streams, such as %#x, are capturing and cannot be waited for; the others are drained: %w",
		len(capturing), of, capturing[0].handle, errCapturing)
}
