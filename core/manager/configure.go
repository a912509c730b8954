package manager

import "ferrum_mem/core/pool"

// ConfigurePool sets the pool settings for later allocations of a memory type. Blocks
// stay in their pool, which is closed when the last of them has been freed and is no
// longer in use. New blocks come from a pool with the new settings. Types without
// settings follow General. Errors: those for the settings of CreateMemoryManager; then
// nothing has changed.
func (m *Manager) ConfigurePool(kind MemoryType, settings pool.Config) error {
	const op = "manager.configure_pool"
	if err := kind.check(op, m.owner.engine); err != nil {
		return err
	}
	if err := m.begin(op); err != nil {
		return err
	}
	defer m.end()
	made, err := m.newHome(kind, settings)
	if err != nil {
		return err
	}
	m.mu.Lock()
	if old := m.homes[kind]; old != nil {
		m.former = append(m.former, old)
	}
	m.homes[kind] = made
	m.mu.Unlock()
	m.closeFormer()
	return nil
}

// begin counts a call that uses the list of pools.
func (m *Manager) begin(op string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closing.Load() {
		return m.closedError(op)
	}
	m.calls++
	return nil
}

func (m *Manager) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls--
	m.changed.Broadcast()
}

// closeFormer closes the replaced pools that have no live blocks and no blocks in
// flight. It does not wait: the next call checks a pool again that is still in use.
// Each pool that is being checked counts as a call in progress.
func (m *Manager) closeFormer() {
	for _, h := range m.takeUnused() {
		h.pool.CompleteFrees()
		h.pool.Flush()
		var err error
		idle := h.pool.Statistics().Active.Current == 0
		if idle {
			err = h.pool.Close(false)
		}
		m.mu.Lock()
		h.ending = false
		m.calls--
		m.changed.Broadcast()
		if idle && err == nil {
			m.dropHome(h)
		}
		m.mu.Unlock()
		m.logFailure("a replaced pool could not be closed", err)
	}
}

func (m *Manager) takeUnused() []*home {
	m.mu.Lock()
	defer m.mu.Unlock()
	var unused []*home
	for _, h := range m.former {
		if h.users == 0 && !h.ending && !m.closing.Load() {
			h.ending = true
			m.calls++
			unused = append(unused, h)
		}
	}
	return unused
}
