package device

import "errors"

// CaptureState says what becomes of the work that is queued on a stream.
type CaptureState int

const (
	// CaptureNone: it runs.
	CaptureNone CaptureState = iota
	// CaptureActive: it is recorded in a graph, which runs later and more than once.
	CaptureActive
	// CaptureInvalid: nothing, as an error has spoilt the capture. There will be no
	// graph, and the stream is of no use before the capture is ended.
	CaptureInvalid
)

// Capture is what a stream says of the capture that it takes part in.
type Capture struct {
	State CaptureState
	// ID is the same for all streams of one capture, and that of no other capture of the
	// process. 0 unless State is CaptureActive.
	ID uint64
}

// Capturer is the capability of a stream whose work can be recorded in a graph instead
// of being run; Info().Capture says whether the streams of the open device have it. The
// methods are safe for concurrent use.
//
// While a stream captures, Idle, Synchronize and Close of it are CodeInvalidState, as is
// Synchronize of its device. They change nothing, and the capture goes on. RecordEvent
// and WaitEvent become edges of the graph: Done and Synchronize of such an event are
// CodeInvalidState, also when the capture has ended.
type Capturer interface {
	// Capture asks the stream, and costs about what Idle costs.
	Capture() (Capture, error)
}

// Edge is the capability of an event to tell whether it is an edge of a graph, which no
// work passes. Info().Capture says whether the events of the open device have it.
type Edge interface {
	// Captured says whether the event was recorded in a stream that was capturing.
	Captured() bool
}

// Mark is RecordEvent of a stream that does not capture: where a capture has begun just
// before, it is CodeInvalidState, as nothing would ever pass the event.
func Mark(op string, s Stream) (Event, error) {
	event, err := s.RecordEvent()
	if err != nil {
		return nil, err
	}
	if edge, ok := event.(Edge); !ok || !edge.Captured() {
		return event, nil
	}
	refused := Errorf(CodeInvalidState, op, "the stream has begun to capture: its work runs with the graph, and cannot be waited for")
	if err := event.Close(); err != nil {
		return nil, errors.Join(refused, err)
	}
	return nil, refused
}

// CaptureOf asks a stream whether it captures; one without the capability does not.
func CaptureOf(s Stream) (Capture, error) {
	if capturer, ok := s.(Capturer); ok {
		return capturer.Capture()
	}
	return Capture{}, nil
}
