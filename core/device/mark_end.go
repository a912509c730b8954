package device

import "errors"

// SharedQueue is the capability of a stream into whose queue somebody else puts work
// that Idle does not tell of: only an event recorded there marks its end.
type SharedQueue interface {
	// TakesForeignWork says whether this stream is one.
	TakesForeignWork() bool
}

// TakesForeignWork asks a stream; one without the capability does not.
func TakesForeignWork(s Stream) bool {
	shared, ok := s.(SharedQueue)
	return ok && shared.TakesForeignWork()
}

// WorkLeaver is the capability of a stream that may be closed while what somebody else has
// queued there has yet to run. Until it has, Idle of the closed stream is false, and
// RecordEvent gives an event for it.
type WorkLeaver interface {
	// LeavesWork says whether this stream is one.
	LeavesWork() bool
}

// LeavesWork asks a stream; one without the capability does not.
func LeavesWork(s Stream) bool {
	leaver, ok := s.(WorkLeaver)
	return ok && leaver.LeavesWork()
}

// Drained is Idle where that tells of all the work that is queued, and false where it
// cannot be known.
func Drained(s Stream) (bool, error) {
	idle, err := s.Idle()
	return idle && !TakesForeignWork(s), err
}

// IsDry says whether a stream has no work queued, as Drained; that of a lost device runs
// no more.
func IsDry(s Stream) (bool, error) {
	dry, err := Drained(s)
	if errors.Is(err, CodeDeviceLost) {
		return true, nil
	}
	return dry, err
}

// CountedQueue is the capability of a stream that counts its work where code outside of Go
// can read it.
type CountedQueue interface {
	// QueueCounts is where two numbers of 64 bits are, which change atomically, as long as
	// the stream is open. No work is queued if they are equal, completed being read first.
	QueueCounts() (completed, submitted uintptr)
}

// endTries bounds how often an end is marked of a stream whose capture ends at that
// moment, again and again.
const endTries = 4

// MarkEnd marks the present end of a stream's queue: what uses memory until now has
// ended when the event has passed. It is nil without an error when there is nothing to
// wait for: the stream has run dry, or is closed, and all that was queued by then is done,
// or its device is lost and runs nothing any more. A stream that captures is asked nothing but that:
// another question may spoil the capture. Errors: those of the stream, CodeInvalidState
// while it captures.
func MarkEnd(op string, s Stream) (event Event, err error) {
	for range endTries {
		var capture Capture
		if capture, err = CaptureOf(s); err == nil && capture.State != CaptureNone {
			return nil, Errorf(CodeInvalidState, op, "the stream is capturing: its work runs with the graph, and cannot be waited for")
		}
		if err == nil {
			event, err = markQueue(op, s)
		}
		if err == nil {
			return event, nil
		}
		if HasEnded(s, err) {
			return nil, nil
		}
		if !errors.Is(err, CodeInvalidState) {
			break
		}
		// A capture has begun or ended between two questions.
	}
	return nil, err
}

// markQueue is MarkEnd for a stream that is open and does not capture.
func markQueue(op string, s Stream) (Event, error) {
	if drained, err := Drained(s); err != nil || drained {
		return nil, err
	}
	return Mark(op, s)
}

// HasEnded says whether a stream refused a call because it will run nothing any more:
// its device is lost, or it is closed, before which it ran dry.
func HasEnded(s Stream, refused error) bool {
	return errors.Is(refused, CodeDeviceLost) || IsClosed(s, refused)
}

// IsClosed says whether a stream refused a call because it is closed, and not because
// it captures, or did so a moment ago.
func IsClosed(s Stream, refused error) bool {
	if !errors.Is(refused, CodeInvalidState) {
		return false
	}
	capturer, ok := s.(Capturer)
	if !ok {
		return true
	}
	_, err := capturer.Capture()
	return errors.Is(err, CodeInvalidState)
}
