package device

import "time"

// TimedStream is the capability of a stream to record events with the time. Its
// RecordEvent records no time, because the time has a cost.
type TimedStream interface {
	// RecordTimedEvent is RecordEvent for an event that Elapsed can measure.
	RecordTimedEvent() (Event, error)
}

// TimedEvent is an event that measures the time since another event, on a device
// without a clock to read.
type TimedEvent interface {
	Event
	// ElapsedSince returns the time from start, an event of the same device, to this
	// event. It is negative if this event completed first. Errors: CodeInvalidState if
	// one of them has not completed, CodeInvalidArgument for an event of another device
	// or without a time.
	ElapsedSince(start Event) (time.Duration, error)
}

// RecordTimed records an event at the present end of a stream's queue that Elapsed can
// measure.
func RecordTimed(s Stream) (Event, error) {
	if timed, ok := s.(TimedStream); ok {
		return timed.RecordTimedEvent()
	}
	return s.RecordEvent()
}

// Elapsed returns the time between two events of RecordTimed of one device. It is
// negative if end completed first. It returns CodeInvalidState if one of them has not
// completed.
func Elapsed(start, end Event) (time.Duration, error) {
	if timed, ok := end.(TimedEvent); ok {
		return timed.ElapsedSince(start)
	}
	from, err := start.PassedAt()
	if err != nil {
		return 0, err
	}
	to, err := end.PassedAt()
	if err != nil {
		return 0, err
	}
	return to - from, nil
}
