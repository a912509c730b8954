package device

import "errors"

// CaptureState states what happens to work that is queued on a stream.
type CaptureState int

const (
	// CaptureNone: the work runs.
	CaptureNone CaptureState = iota
	// CaptureActive: the work is recorded in a graph, which runs later, possibly
	// several times.
	CaptureActive
	// CaptureInvalid: the work is dropped, because an error has invalidated the
	// capture. There will be no graph. The stream can be used again after the capture
	// was ended.
	CaptureInvalid
)

// Capture describes the capture that a stream takes part in.
type Capture struct {
	State CaptureState
	// ID is the same for all streams of one capture and unique in the process. It is 0
	// unless State is CaptureActive.
	ID uint64
}

// Capturer is the capability of a stream to record its work in a graph instead of
// running it. Info().Capture states whether the streams of the open device have it. The
// methods are safe for concurrent use.
//
// While a stream captures, its Idle, Synchronize and Close return CodeInvalidState, and
// so does Synchronize of its device. They change nothing, and the capture continues.
// RecordEvent and WaitEvent become edges of the graph. Done and Synchronize of such an
// event return CodeInvalidState, also after the capture has ended.
//
// Other code than this library can begin a capture on some streams at any moment, from
// another thread. No query of the capture state protects a call that follows it: the
// capture may begin in between, and a query of the work of a capturing stream invalidates
// the capture. RecordEvent is safe at any moment. So package device and its users never
// call Idle for such a stream, unless the caller has named the stream for just that query.
// Synchronize with a timeout other than 0 waits for an event that it records.
type Capturer interface {
	// Capture queries the stream. It costs about as much as Idle.
	Capture() (Capture, error)
	// MayCapture reports whether other code can begin a capture on the stream. It does not
	// call the device, and is false for a stream that is closed or whose device is lost.
	MayCapture() bool
}

// Edge is the capability of an event to report whether it is an edge of a graph, which
// never completes. Info().Capture states whether the events of the open device have it.
type Edge interface {
	// Captured reports whether the event was recorded in a capturing stream.
	Captured() bool
}

// Mark calls RecordEvent of a stream that does not capture. If a capture has begun just
// before, it returns CodeInvalidState, because the event would never complete.
func Mark(op string, s Stream) (Event, error) {
	event, err := s.RecordEvent()
	if err != nil {
		return nil, err
	}
	if edge, ok := event.(Edge); !ok || !edge.Captured() {
		return event, nil
	}
	refused := Errorf(CodeInvalidState, op, "the stream is capturing: its work runs when the graph is launched, so the work cannot be waited for")
	if err := event.Close(); err != nil {
		return nil, errors.Join(refused, err)
	}
	return nil, refused
}

// MayCapture reports whether other code can begin a capture on a stream at any moment. A
// stream without the capability never captures.
func MayCapture(s Stream) bool {
	capturer, ok := s.(Capturer)
	return ok && capturer.MayCapture()
}

// CaptureOf queries the capture of a stream. A stream without the capability never
// captures.
func CaptureOf(s Stream) (Capture, error) {
	if capturer, ok := s.(Capturer); ok {
		return capturer.Capture()
	}
	return Capture{}, nil
}
