package device

import "errors"

// SharedQueue is the capability of a stream whose queue also receives external work
// that Idle does not report. Only an event recorded in it marks its end.
type SharedQueue interface {
	// TakesForeignWork reports whether this stream receives such work.
	TakesForeignWork() bool
}

// TakesForeignWork queries a stream; a stream without the capability receives no such
// work.
func TakesForeignWork(s Stream) bool {
	shared, ok := s.(SharedQueue)
	return ok && shared.TakesForeignWork()
}

// WorkLeaver is the capability of a stream that may be closed while external work in
// its queue has not run. Until that work has run, Idle of the closed stream returns
// false, and RecordEvent returns an event for it.
type WorkLeaver interface {
	// LeavesWork reports whether this stream may leave such work.
	LeavesWork() bool
}

// LeavesWork queries a stream; a stream without the capability leaves no work.
func LeavesWork(s Stream) bool {
	leaver, ok := s.(WorkLeaver)
	return ok && leaver.LeavesWork()
}

// Drained returns Idle if Idle reports all queued work, and false if that cannot be
// known. It does not query a stream on which other code can begin a capture.
func Drained(s Stream) (bool, error) {
	if MayCapture(s) {
		return false, nil
	}
	idle, err := s.Idle()
	return idle && !TakesForeignWork(s), err
}

// IsDry reports, like Drained, whether a stream has no queued work. Streams of a lost
// device have none.
func IsDry(s Stream) (bool, error) {
	dry, err := Drained(s)
	if errors.Is(err, CodeDeviceLost) {
		return true, nil
	}
	return dry, err
}

// CountedQueue is the capability of a stream that counts its work in memory that C code
// can read.
type CountedQueue interface {
	// QueueCounts returns the addresses of two 64-bit counters. They change atomically
	// as long as the stream is open. If they are equal, and completed was read first,
	// no work is queued.
	QueueCounts() (completed, submitted uintptr)
}

// endTries bounds how often MarkEnd tries again because a capture of the stream begins
// or ends during the call.
const endTries = 4

// MarkEnd records an event at the present end of a stream's queue. When the event has
// completed, all uses of memory until now have ended. It returns nil without an error
// if there is nothing to wait for: the stream is drained; it is closed and all its work
// has completed; or its device is lost and runs no more work. A stream that captures, or
// on which other code can begin a capture, is queried only for its capture state, because
// other queries may invalidate the capture.
// Errors: those of the stream, CodeInvalidState while it captures.
func MarkEnd(op string, s Stream) (event Event, err error) {
	for range endTries {
		var capture Capture
		if capture, err = CaptureOf(s); err == nil && capture.State != CaptureNone {
			return nil, Errorf(CodeInvalidState, op, "the stream is capturing: its work runs when the graph is launched, so the work cannot be waited for")
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
		// A capture began or ended between two queries.
	}
	return nil, err
}

// markQueue implements MarkEnd for an open stream that does not capture.
func markQueue(op string, s Stream) (Event, error) {
	if drained, err := Drained(s); err != nil || drained {
		return nil, err
	}
	return Mark(op, s)
}

// HasEnded reports whether a stream rejected a call because it will run no more work:
// its device is lost, or it was closed, which drained it. A present or recent capture is
// another reason to reject a call.
func HasEnded(s Stream, refused error) bool {
	return errors.Is(refused, CodeDeviceLost) || errors.Is(refused, CodeInvalidState) && IsClosed(s)
}

// IsClosed reports whether a stream is closed. It does not query the work of a stream that
// may capture.
func IsClosed(s Stream) bool {
	var err error
	if capturer, ok := s.(Capturer); ok {
		_, err = capturer.Capture()
	} else {
		_, err = s.Idle()
	}
	return errors.Is(err, CodeInvalidState)
}
