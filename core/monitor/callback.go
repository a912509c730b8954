package monitor

import (
	"sync"

	"ferrum_mem/core/pressure"
)

// SetCallback registers fn for every change of the levels. fn gets the devices with the
// level of each, in order of registration. A device that is added or removed is a
// change, too. fn replaces the previous callback; nil only removes it. The call waits
// for a running call of the previous callback, unless inside states that it is called
// from that call. Afterwards the previous callback is not called again.
//
// fn runs on a worker, one call at a time, with no lock held; it may call anything. A
// panic of fn is logged, and fn is called again for later changes. Errors:
// CodeInvalidState after Close.
func (m *Monitor) SetCallback(fn func([]DeviceLevel), inside bool) error {
	m.mu.Lock()
	closed := m.closed
	m.mu.Unlock()
	if closed {
		return closedError("monitor.set_callback")
	}
	var made *callback
	if fn != nil {
		made = &callback{fn: fn, idle: sync.NewCond(&m.mu)}
	}
	return m.replaceCallback(made, inside)
}

func (m *Monitor) replaceCallback(made *callback, inside bool) error {
	former, err := m.swapCallback(made)
	if err != nil || former == nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for former.running && !inside {
		former.idle.Wait()
	}
	return nil
}

// swapCallback replaces the callback, and begins or ends to listen.
func (m *Monitor) swapCallback(made *callback) (former *callback, err error) {
	m.changing.Lock()
	defer m.changing.Unlock()
	if made != nil {
		if err := m.listenToAll(); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	former = m.callback
	if former != nil {
		former.removed, former.pending = true, nil
	}
	if made != nil && m.closed {
		made = nil
	}
	m.callback = made
	if made != nil {
		made.told = m.levels()
	}
	m.mu.Unlock()
	if made == nil {
		m.unlistenToAll()
	}
	return former, nil
}

// listens reports whether the monitor listens to devices. The caller holds changing.
func (m *Monitor) listens() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.callback != nil
}

// listenToAll adds a listener to each device without one. After an error it removes the
// listeners that it has added. The caller holds changing.
func (m *Monitor) listenToAll() error {
	var begun []*watched
	for _, w := range m.listWatched() {
		if w.listener != nil {
			continue
		}
		if err := m.listen(w); err != nil {
			for _, other := range begun {
				m.unlisten(other)
			}
			return err
		}
		begun = append(begun, w)
	}
	m.startLooking()
	return nil
}

func (m *Monitor) unlistenToAll() {
	m.stopLooking()
	for _, w := range m.listWatched() {
		m.unlisten(w)
	}
}

// listen registers with the engine for changes. The caller holds changing.
func (m *Monitor) listen(w *watched) error {
	m.mu.Lock()
	w.heard = false
	m.mu.Unlock()
	listener, level, err := w.engine.OnPressureBy(m.config.Profile, func(level pressure.Level) { m.levelChanged(w, level) })
	if err != nil {
		return err
	}
	system := m.readSystem(w)
	m.mu.Lock()
	defer m.mu.Unlock()
	w.listener = listener
	if !w.heard {
		w.bytes = level
	}
	m.takeSystem(w, system)
	return nil
}

// unlisten ends listen. The caller holds changing. It waits for a running call of hear,
// which waits only for mu.
func (m *Monitor) unlisten(w *watched) {
	if w.listener != nil {
		w.listener.Remove(false)
		w.listener = nil
	}
}

// levelChanged records a change of the level by bytes, on the engine's worker.
func (m *Monitor) levelChanged(w *watched, level pressure.Level) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w.bytes, w.heard = level, true
	m.settle()
}
