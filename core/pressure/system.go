package pressure

import (
	"time"

	"ferrum_mem/core/device"
)

// The bounds of the system's own pressure, in hundredths of a percent of the
// last 10 s: the share in which at least one task waited for memory (some) and
// the share in which all did (full). A level is entered at its bound and left
// below half of it.
const (
	someMedium   = 1000
	someHigh     = 4000
	fullHigh     = 1000
	fullCritical = 4000
)

// EventHold is how long a level that an event of the control group has led to
// stays at least: as long as the stalls are averaged over.
const EventHold = 10 * time.Second

// SystemMeter turns readings of the system into a level with hysteresis. The
// zero value has seen nothing and is Low. It is not safe for concurrent use.
//
// Stalls lead to Medium from 10 % of some, to High from 40 % of some or 10 % of
// full, and to Critical from 40 % of full, whichever of machine and control group
// is worse. A rise of the control group's counts since the last reading leads to
// Medium (high), High (max) or Critical (oom, oom_kill), for EventHold after the
// last rise. A part that is not there says nothing.
type SystemMeter struct {
	stalled Level
	// events is the counts of the last reading that had some.
	events device.Events
	seen   bool
	// risen is when an event last led to a level, by level.
	risen [Critical + 1]time.Duration
	held  [Critical + 1]bool
}

// Next takes in a reading made at a moment of any clock that does not go back,
// and gives the level. The first reading of counts is where they start from.
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
