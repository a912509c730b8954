package manager

import (
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool"
)

// The size that such a pool allocates at a time, unless a request needs more, and keeps
// unused. Systems have low limits for page-locked memory. Managed memory migrates in
// units of 2 MiB.
const (
	pinnedStepBytes  = 1 << 20
	managedStepBytes = 32 << 20
)

// otherSettings returns the settings of a pool of memory that is not device memory,
// when the caller has set none: those of General, with other sizes.
func otherSettings(general pool.Config, source engine.Source) pool.Config {
	step := uint64(pinnedStepBytes)
	if source == engine.SourceManaged {
		step = managedStepBytes
	}
	c := pool.DefaultConfig()
	c.AlignmentBytes, c.Stats, c.Debug = general.AlignmentBytes, general.Stats, general.Debug
	c.InitialSizeBytes, c.GrowthIncrementBytes = step, step
	c.ReleaseThresholdBytes = step
	return c
}

// haveOwnHome creates the pool of a type whose memory is not device memory at its first
// use. Other types without settings share the pool of General.
func (m *Manager) haveOwnHome(op string, kind MemoryType) error {
	source := kind.sourceOn(m.owner.engine)
	if source == engine.SourceDevice {
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
	made, err := m.newHome(kind, otherSettings(m.config.PoolConfigs[General], source))
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
		m.logFailure("a second pool of a memory type could not be closed", made.pool.Close(true))
	}
	return nil
}

// trimPinned releases cached page-locked memory, and reports whether there was any.
func (m *Manager) trimPinned() bool {
	m.mu.Lock()
	homes := m.listHomes()
	m.mu.Unlock()
	released := uint64(0)
	for _, h := range homes {
		if h.source == engine.SourcePinned {
			h.pool.CompleteFrees()
			bytes, err := h.pool.ReleaseCached(^uint64(0))
			m.logFailure("page-locked memory could not be released", err)
			released += bytes
		}
	}
	return released > 0
}
