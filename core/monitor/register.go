package monitor

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
)

// Register makes the monitor watch a manager and its device until Unregister or the
// close of the manager. Errors: CodeAlreadyExists for a registered manager,
// CodeInvalidHandle for a manager that is closing, CodeInvalidState after Close.
func (m *Monitor) Register(added Manager) error {
	const op = "monitor.register"
	m.changing.Lock()
	defer m.changing.Unlock()
	e := added.Engine()
	if err := m.mayRegister(op, added); err != nil {
		return err
	}
	made := &entry{manager: added}
	forget, err := added.OnClose(func() { m.drop(made) })
	if err != nil {
		return err
	}
	made.forget = forget
	w := m.find(e)
	if w == nil {
		w = &watched{engine: e}
		if m.listens() {
			if err := m.listen(w); err != nil {
				forget()
				return err
			}
		}
	}
	made.device = w
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries.Add(made)
	m.byManager[added] = made
	w.managers++
	if w.managers == 1 {
		m.watched = append(m.watched, w)
	}
	m.settle()
	return nil
}

func (m *Monitor) mayRegister(op string, added Manager) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return closedError(op)
	}
	if m.byManager[added] != nil {
		return device.Errorf(device.CodeAlreadyExists, op,
			"this manager of %v is registered already", added.Engine().ID()).On(added.Engine().ID())
	}
	return nil
}

// find returns the watched device of an engine, or nil.
func (m *Monitor) find(e *engine.Engine) *watched {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.watched {
		if w.engine == e {
			return w
		}
	}
	return nil
}

// Unregister ends the watch of one manager. It returns CodeNotFound for a manager that
// is not registered.
func (m *Monitor) Unregister(gone Manager) error {
	m.mu.Lock()
	found := m.byManager[gone]
	if found == nil {
		m.mu.Unlock()
		return device.Errorf(device.CodeNotFound, "monitor.unregister",
			"this manager of %v is not registered", gone.Engine().ID()).On(gone.Engine().ID())
	}
	m.mu.Unlock()
	found.forget()
	m.drop(found)
	return nil
}

// UnregisterDevice ends the watch of all managers of a device. It returns CodeNotFound
// if none is registered.
func (m *Monitor) UnregisterDevice(e *engine.Engine) error {
	m.mu.Lock()
	var found []*entry
	for other := range m.entries.All() {
		if other.device.engine == e {
			found = append(found, other)
		}
	}
	m.mu.Unlock()
	if len(found) == 0 {
		return device.Errorf(device.CodeNotFound, "monitor.unregister_device",
			"no manager of %v is registered", e.ID()).On(e.ID())
	}
	for _, gone := range found {
		gone.forget()
		m.drop(gone)
	}
	return nil
}

// drop removes an entry, if it is still there, and with the last entry its device.
func (m *Monitor) drop(gone *entry) {
	m.changing.Lock()
	defer m.changing.Unlock()
	m.mu.Lock()
	if !m.entries.Remove(gone) {
		m.mu.Unlock()
		return
	}
	delete(m.byManager, gone.manager)
	w := gone.device
	w.managers--
	last := w.managers == 0
	if last {
		m.watched = slices.DeleteFunc(slices.Clone(m.watched), func(other *watched) bool { return other == w })
	}
	m.settle()
	m.mu.Unlock()
	if last {
		m.unlisten(w)
	}
}

// Close removes all entries and waits for a running callback, unless inside states that
// it is called from that callback. A second Close does nothing.
func (m *Monitor) Close(inside bool) {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.replaceCallback(nil, inside)
	m.mu.Lock()
	entries := m.entries.Copy()
	m.mu.Unlock()
	for _, gone := range entries {
		gone.forget()
		m.drop(gone)
	}
	if inside {
		m.dispatcher.Stop()
	} else {
		m.dispatcher.Close()
	}
}
