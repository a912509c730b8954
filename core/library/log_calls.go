package library

import "ferrum_mem/core/device"

// SetLog sets the receiver of log messages of at least minLevel (LogDebug to LogError);
// nil removes the receiver. fn runs on a worker, one call at a time, with no lock held.
//
// It works at any time, also while the library is stopped. With wait it returns when
// the previous receiver has received what was queued for it and will not be called
// again; so wait must be false inside a receiver. Without wait, queued messages go to
// the new receiver.
func (l *Library) SetLog(minLevel int32, fn func(level int32, message string), wait bool) error {
	if minLevel < LogDebug || minLevel > LogError {
		return device.Errorf(device.CodeInvalidArgument, "library.set_log",
			"minimum_level %d: want %d (debug) to %d (error)", minLevel, LogDebug, LogError)
	}
	var next *receiver
	if fn != nil {
		next = &receiver{minimum: minLevel, deliver: fn}
	}
	l.log.choose(next, wait)
	return nil
}

// Log queues a message for the receiver of the log. It works at any time. An unknown
// level counts as LogError.
func (l *Library) Log(level int32, message string) {
	if level < LogDebug || level > LogError {
		level = LogError
	}
	l.log.printf(level, "%s", message)
}

// ReportDefect queues the report of a panic for the receiver of the log. where names
// the code that panicked.
func (l *Library) ReportDefect(where string, value any, stack []byte) {
	l.log.printf(LogError, "defect of the library in %s: %v\n%s", where, value, stack)
}
