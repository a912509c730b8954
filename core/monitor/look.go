package monitor

import (
	"time"

	"ferrum_mem/core/device"
)

// startLooking starts the worker unless it runs or is disabled. The caller holds
// changing.
func (m *Monitor) startLooking() {
	if m.looker != nil || m.config.Interval < 0 {
		return
	}
	ticks, end := m.config.Ticks(m.config.Interval)
	stop := make(chan struct{})
	m.looker = &looker{stop: stop, done: device.Go("monitor look", func() {
		defer end()
		for {
			select {
			case <-stop:
				return
			case <-ticks:
				m.Look()
			}
		}
	})}
}

// stopLooking stops the worker and waits for its end. The caller holds changing, which
// the worker never takes.
func (m *Monitor) stopLooking() {
	if m.looker != nil {
		close(m.looker.stop)
		<-m.looker.done
		m.looker = nil
	}
}

// Look queries every device and the system, and notifies the callback of changes. It
// does nothing without a callback.
func (m *Monitor) Look() {
	m.mu.Lock()
	listening := m.callback != nil
	m.mu.Unlock()
	if !listening {
		return
	}
	for _, w := range m.listWatched() {
		w.engine.SegmentsChanged()
		system := m.readSystem(w)
		m.mu.Lock()
		m.takeSystem(w, system)
		m.settle()
		m.mu.Unlock()
	}
}

// readSystem returns the system's pressure for a device's memory; nil if there is none
// or it is ignored.
func (m *Monitor) readSystem(w *watched) *device.SystemPressure {
	pressed, ok := w.engine.Device().(device.SystemPressured)
	if !ok || m.config.IgnoreSystem {
		return nil
	}
	reading := pressed.SystemPressure()
	return &reading
}

// takeSystem records a reading of the system's pressure; nil: there is none. The caller
// holds mu.
func (m *Monitor) takeSystem(w *watched, reading *device.SystemPressure) {
	if reading == nil {
		return
	}
	at := now()
	w.system = w.meter.Next(*reading, at)
	w.reading, w.readAt = reading, at
}

// systemWithin reads the system's pressure for a device if the last reading is older
// than maxAge.
func (m *Monitor) systemWithin(w *watched, maxAge time.Duration) {
	m.mu.Lock()
	fresh := w.reading != nil && maxAge > 0 && now()-w.readAt <= maxAge
	m.mu.Unlock()
	if fresh {
		return
	}
	reading := m.readSystem(w)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.takeSystem(w, reading)
	m.settle()
}
