package manager

import "ferrum_mem/core/internal/roster"

// closeHook is a function that is called when the manager is closed.
type closeHook struct{ tell func() }

// OnClose makes fn called once, after the manager was closed and before Close returns.
// Only the lock that excludes other calls of Close is held, so fn may call anything
// except Close of this manager. forget removes fn; fn may still be running then. It
// returns CodeInvalidHandle for a manager that is closing.
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
