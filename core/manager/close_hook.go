package manager

import "ferrum_mem/core/internal/roster"

// closeHook is somebody who wants to know of the manager's end.
type closeHook struct{ tell func() }

// OnClose has fn called once when the manager has been closed, before Close
// returns, with no lock held but that which keeps others from closing it too: fn
// may call anything but Close of this manager. forget takes fn back; it may still
// be running then. A manager that is being closed is CodeInvalidHandle.
func (m *Manager) OnClose(fn func()) (forget func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.closing.Load() {
		return nil, m.closedError("manager.on_close")
	}
	hook := &closeHook{tell: fn}
	m.onClose.Add(hook)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.onClose.Remove(hook)
	}, nil
}

func (m *Manager) tellClosed() {
	m.mu.Lock()
	hooks := m.onClose.Copy()
	m.onClose = roster.List[*closeHook]{}
	m.mu.Unlock()
	for _, hook := range hooks {
		hook.tell()
	}
}
