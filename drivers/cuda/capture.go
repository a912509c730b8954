package cuda

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/dl"
)

var (
	_ device.Capturer = (*stream)(nil)
	_ device.Edge     = (*event)(nil)
)

// A stream captures for somebody else, who has its handle: an adopted one, one whose
// handle was asked for, or one that was made to wait for an event of a capture. Only
// these are asked, and before anything is asked that would spoil a capture. The driver
// takes a question about a stream or an event of a capture for an error in all modes, and
// spoils the capture (CUDA programming guide, "prohibited and unhandled operations").
//
// Where a stream that may capture has to be waited for, an event is recorded in it. That
// is free of danger at any moment, and whether the record lies in a capture is asked after
// it, so that no capture can begin between the question and the wait.

// errCapturing is in the errors of streams that capture.
var errCapturing = errors.New("the stream is capturing: its work runs with the graph, and cannot be asked after or waited for")

// mayNowCapture notes that somebody else may have the stream capture from now on.
func (s *stream) mayNowCapture() {
	if !s.mayCapture.Load() {
		s.list(true)
		s.mayCapture.Store(true)
	}
}

// list has the stream among those that may capture, or not: before its handle is given
// back it leaves them.
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

// capturing is a stream of which the driver says that it captures, or nil. The caller keeps
// the context.
func (d *Driver) capturing() *stream {
	all := &d.capturable
	all.mu.RLock()
	defer all.mu.RUnlock()
	for s := range all.streams {
		var status int32
		// Of a device that is lost there is no capture left, and no answer.
		number := d.api.isCapturing.Call(s.handle, dl.Pointer(&status))
		if number == resultCaptureImplicit || number == 0 && status != captureStatusNone {
			return s
		}
	}
	return nil
}

// Capture asks the driver. One before 11.3 does not number captures: it is CodeUnsupported
// while the stream captures.
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

// captureState is what the driver says of a stream's capture; id is 0 where it does not
// number them.
type captureState struct {
	status int32
	id     uint64
}

// captureState asks the driver. The caller keeps the context.
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
		// Only the first two answers are asked for, of which either form has the same.
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

// captures says whether the stream takes part in a capture, spoilt or not. The caller
// keeps the context.
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

// uncaptured refuses what the driver would refuse too while the stream captures, and
// spoil the capture. The caller keeps the context.
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

// recordEnd records an event at the end of the stream, and says in which capture that was:
// an answer from before the record alone could be old by then. The caller keeps the context.
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
		// A capture began or ended meanwhile: which side the record fell on is not known.
		before = after
	}
	return captureState{}, err
}

// mayWaitFor refuses to let a stream that captures wait for an event that is known to be
// from outside of its capture, which would be spoilt. The caller keeps the context.
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

// Captured says that the event is an edge of a graph.
func (e *event) Captured() bool { return e.capture.status != captureStatusNone }

// mayCapture says that a stream which waits for the event may join a capture by that.
func (e *event) mayCapture() bool { return e.Captured() || e.foreign }

// uncaptured refuses to ask after an event that belongs to a capture, or, where somebody
// else records it, may belong to one that is under way: the driver would refuse it as well,
// and spoil the capture. After the capture there is nothing left to spoil. The caller keeps
// the context.
func (e *event) uncaptured(op string) error {
	if e.Captured() {
		return e.owner.ctx.errorf(device.CodeInvalidState, op,
			"the event was recorded in a stream that was capturing: it is an edge of the graph, and passes with no work")
	}
	if !e.foreign {
		return nil
	}
	if s := e.owner.driver.capturing(); s != nil {
		return e.owner.ctx.errorf(device.CodeInvalidState, op,
			"the stream %#x of %v is capturing, and the event of somebody else's may have been recorded in that capture, "+
				"which a question would spoil: ask when the capture has ended", s.handle, s.owner.info.ID)
	}
	return nil
}

// leftOut is the error of a wait for a device of which some streams capture; nil: none does.
func (o *openDevice) leftOut(op string, capturing []*stream, of int) error {
	if len(capturing) == 0 {
		return nil
	}
	return o.ctx.errorf(device.CodeInvalidState, op,
		"%d of %d streams, such as %#x, are capturing and cannot be waited for; the others have run dry: %w",
		len(capturing), of, capturing[0].handle, errCapturing)
}
