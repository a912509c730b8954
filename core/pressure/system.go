package pressure

import (
	"time"

	"ferrum_mem/core/device"
)

// The bounds of the system's own pressure, in hundredths of a percent of the last 10 s:
// "some" is the share of time in which at least one task waited for memory, and "full"
// the share in which all tasks did. A level begins at its bound and falls when the share
// is below half of it.
const (
	someMedium   = 1000
	someHigh     = 4000
	fullHigh     = 1000
	fullCritical = 4000
)

// EventHold is the shortest time for which a level stays that an event of the control
// group caused. It is the time over which stalls are averaged.
const EventHold = 10 * time.Second

// SystemMeter converts readings of the system to a level with hysteresis. The zero value
// has no reading; its level is Low. It is not safe for concurrent use.
//
// Stalls cause Medium from 10 % of some, High from 40 % of some or 10 % of full, and
// Critical from 40 % of full. The worse of machine and control group counts. If the
// counts of the control group have risen since the last reading, they cause Medium
// (high), High (max) or Critical (oom, oom_kill), for EventHold after the last rise. A
// part that cannot be read has no effect.
type SystemMeter struct {
	stalled Level
	// events has the counts of the last reading that had some.
	events device.Events
	seen   bool
	// risen is the time of the last event that caused a level, by level.
	risen [Critical + 1]time.Duration
	held  [Critical + 1]bool
}

// Next takes a reading and returns the level. now is the time of the reading, on any
// clock that does not go back. The first reading of the counts only sets their start.
func (m *SystemMeter) Next(r device.SystemPressure, now time.Duration) Level {
	var some, full uint32
	for _, reading := range []device.StallReading{r.Machine, r.Group} {
		if reading.Err == nil {
			some = max(some, reading.Stalls.Some.Avg10)
			full = max(full, reading.Stalls.Full.Avg10)
		}
	}
	for m.stalled > Low && stallLevel(some*2, full*2) < m.stalled {
		m.stalled--
	}
	m.stalled = max(m.stalled, stallLevel(some, full))
	if r.Events.Err == nil {
		m.count(r.Events.Events, now)
	}
	level := m.stalled
	for held := Medium; held <= Critical; held++ {
		if m.held[held] && now-m.risen[held] < EventHold {
			level = max(level, held)
		}
	}
	return level
}

func (m *SystemMeter) count(events device.Events, now time.Duration) {
	before := m.events
	m.events = events
	if !m.seen {
		m.seen = true
		return
	}
	rise := func(level Level, risen bool) {
		if risen {
			m.risen[level], m.held[level] = now, true
		}
	}
	rise(Medium, events.High > before.High)
	rise(High, events.Max > before.Max)
	rise(Critical, events.OOM > before.OOM || events.OOMKill > before.OOMKill)
}

func stallLevel(some, full uint32) Level {
	switch {
	case full >= fullCritical:
		return Critical
	case full >= fullHigh, some >= someHigh:
		return High
	case some >= someMedium:
		return Medium
	}
	return Low
}
