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

// Drained is Idle where that tells of all the work that is queued, and false where it
// cannot be known.
func Drained(s Stream) (bool, error) {
	idle, err := s.Idle()
	return idle && !TakesForeignWork(s), err
}

// MarkEnd marks the present end of a stream's queue: what uses memory until now has
// ended when the event has passed. It is nil without an error when there is nothing to
// wait for: the stream has run dry, or is closed, before which it ran dry. Errors: those
// of the stream, CodeInvalidState while it captures.
func MarkEnd(op string, s Stream) (Event, error) {
	drained, err := Drained(s)
	if err == nil && drained {
		return nil, nil
	}
	var event Event
	if err == nil {
		event, err = Mark(op, s)
	}
	if err != nil && IsClosed(s, err) {
		return nil, nil
	}
	return event, err
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
