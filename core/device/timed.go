package device

import "time"

// TimedStream is the capability of a stream whose RecordEvent keeps no time, because
// that costs something, to mark points with the time.
type TimedStream interface {
	// RecordTimedEvent is RecordEvent for an event that Elapsed can measure.
	RecordTimedEvent() (Event, error)
}

// TimedEvent is an event that knows its distance from another one, where the device
// has no clock to read.
type TimedEvent interface {
	Event
	// ElapsedSince is the time from start, an event of the same device, to this one;
	// negative where this one was passed first. One that has not been passed yet is
	// CodeInvalidState, an event of another device or without the time
	// CodeInvalidArgument.
	ElapsedSince(start Event) (time.Duration, error)
}

// RecordTimed marks the present end of a stream's queue with an event that Elapsed can
// measure.
func RecordTimed(s Stream) (Event, error) {
	if timed, ok := s.(TimedStream); ok {
		return timed.RecordTimedEvent()
	}
	return s.RecordEvent()
}

// Elapsed is the time from one event of RecordTimed to another of the same device,
// negative where end was passed first. Not passed yet is CodeInvalidState.
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
