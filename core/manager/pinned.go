package manager

import (
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool"
)

// What a pool takes at a time, unless a request needs more, and keeps without use:
// systems bound page-locked memory tightly, and managed memory is moved by 2 MiB.
const (
	pinnedStepBytes  = 1 << 20
	managedStepBytes = 32 << 20
)

// otherSettings are those of a pool of memory that is not the device's own and that
// nobody has set up: like General's, but for the sizes.
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

// haveOwnHome makes the pool of a type whose memory is not the device's own when it is
// first wanted; other types without settings share General's.
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

// trimPinned gives back page-locked memory that is cached, and says whether there
// was any.
func (m *Manager) trimPinned() bool {
	m.mu.Lock()
	homes := m.listHomes()
	m.mu.Unlock()
	released := uint64(0)
	for _, h := range homes {
		if h.source == engine.SourcePinned {
			h.pool.Land()
			bytes, err := h.pool.ReleaseCached(^uint64(0))
			m.logFailure("page-locked memory could not be given back", err)
			released += bytes
		}
	}
	return released > 0
}
