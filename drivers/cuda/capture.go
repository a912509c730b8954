package cuda

import (
	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/dl"
)

var _ device.Capturer = (*stream)(nil)

// A stream captures for somebody else, who has its handle: an adopted one, one whose
// handle was asked for, or one that was made to wait for an event of a capture. Only
// these are asked.

// Capture asks the driver. One before 11.3 does not number captures: it is CodeUnsupported
// while the stream captures.
func (s *stream) Capture() (device.Capture, error) {
	const op = "cuda.capture"
	o := s.owner
	var answer struct {
		id     uint64
		status int32
	}
	err := s.use(op, func() error {
		if !o.info.Capture {
			captures, err := s.captures(op)
			if captures {
				err = o.errorf(device.CodeUnsupported, op, "the driver lacks %v", o.driver.lacking[groupCaptureInfo])
			}
			return err
		}
		if !s.mayCapture.Load() {
			return nil
		}
		return o.call(op, "", &o.api.captureInfo, s.handle, dl.Pointer(&answer.status), dl.Pointer(&answer.id), 0, 0, 0)
	})
	if err != nil {
		return device.Capture{}, err
	}
	switch answer.status {
	case captureStatusNone:
		return device.Capture{}, nil
	case captureStatusActive:
		return device.Capture{State: device.CaptureActive, ID: answer.id}, nil
	}
	return device.Capture{State: device.CaptureInvalid}, nil
}

// captures says whether the stream takes part in a capture, spoilt or not. The caller
// keeps the context.
func (s *stream) captures(op string) (bool, error) {
	o := s.owner
	if !s.mayCapture.Load() || !o.api.isCapturing.Found() {
		return false, nil
	}
	var status int32
	if err := o.call(op, "", &o.api.isCapturing, s.handle, dl.Pointer(&status)); err != nil {
		return false, err
	}
	return status != captureStatusNone, nil
}

// uncaptured refuses what the driver would refuse too while the stream captures, and
// spoil the capture. The caller keeps the context.
func (s *stream) uncaptured(op string) error {
	captures, err := s.captures(op)
	if err == nil && captures {
		err = s.owner.errorf(device.CodeInvalidState, op,
			"the stream is capturing: its work runs with the graph, and cannot be asked after or waited for")
	}
	return err
}

// uncaptured refuses to ask after an event that belongs to a capture: the driver would
// refuse it as well, and spoil the capture.
func (e *event) uncaptured(op string) error {
	if e.captured {
		return e.owner.errorf(device.CodeInvalidState, op,
			"the event was recorded in a stream that was capturing: it is an edge of the graph, and passes with no work")
	}
	return nil
}
