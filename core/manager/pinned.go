package manager

import "ferrum_mem/core/pool"

// pinnedStepBytes is how much page-locked memory a pool takes at a time, unless a
// request needs more, and how much it keeps without use: systems bound it tightly.
const pinnedStepBytes = 1 << 20

// pinnedSettings are those of a pool of page-locked memory that nobody has set up:
// like General's, but for the sizes.
func pinnedSettings(general pool.Config) pool.Config {
	c := pool.DefaultConfig()
	c.AlignmentBytes, c.Stats, c.Debug = general.AlignmentBytes, general.Stats, general.Debug
	c.InitialSizeBytes, c.GrowthIncrementBytes = pinnedStepBytes, pinnedStepBytes
	c.ReleaseThresholdBytes = pinnedStepBytes
	return c
}

// havePinnedHome makes the pool of a type of page-locked memory when it is first
// wanted; other types without settings share General's.
func (m *Manager) havePinnedHome(op string, kind MemoryType) error {
	if !kind.isPinnedOn(m.owner.engine) {
		return nil
	}
	m.mu.Lock()
	there := m.homes[kind] != nil
	m.mu.Unlock()
	if there {
		return nil
	}
	if err := m.begin(op); err != nil {
		return err
	}
	defer m.end()
	made, err := m.newHome(kind, pinnedSettings(m.config.PoolConfigs[General]))
	if err != nil {
		return err
	}
	m.mu.Lock()
	late := m.homes[kind] != nil
	if !late {
		m.homes[kind] = made
	}
	m.mu.Unlock()
	if late {
		m.logFailure("a second pool of page-locked memory could not be closed", made.pool.Close(true))
	}
	return nil
}

// trimPinned gives back page-locked memory that is cached, and says whether there
// was any.
func (m *Manager) trimPinned() bool {
	m.mu.Lock()
	homes := m.listHomesLocked()
	m.mu.Unlock()
	released := uint64(0)
	for _, h := range homes {
		if h.pinned {
			h.pool.Land()
			bytes, err := h.pool.ReleaseCached(^uint64(0))
			m.logFailure("page-locked memory could not be given back", err)
			released += bytes
		}
	}
	return released > 0
}
