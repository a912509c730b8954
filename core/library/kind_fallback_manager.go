package library

import (
	"fmt"
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/fallback"
)

// openFallbackManager is a manager that was made by FallbackManagerCreate.
type openFallbackManager struct {
	object
	manager *fallback.Manager
	// host is nil without falling back.
	device, host *openDevice
	// tracker is the handle of its tracker; 0: it has none.
	tracker uint64

	mu sync.Mutex
	// buffers are the handles of its buffers: it ends without a look at those of others.
	buffers map[uint64]struct{}
}

func (m *openFallbackManager) note(buffer uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.buffers == nil {
		m.buffers = make(map[uint64]struct{})
	}
	m.buffers[buffer] = struct{}{}
}

func (m *openFallbackManager) forget(buffer uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.buffers, buffer)
}

func (m *openFallbackManager) takeBuffers() map[uint64]struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	handles := m.buffers
	m.buffers = nil
	return handles
}

func (m *openFallbackManager) isOver() bool                    { return m.manager.IsOver() }
func (m *openFallbackManager) known() (uint64, *engine.Engine) { return m.id(), m.device.engine }
func (m *openFallbackManager) close(force bool) error          { return m.manager.Close(force) }

// of says that a manager is of both its devices.
func (m *openFallbackManager) of(d *openDevice) bool {
	return d != nil && (m.device == d || m.host == d)
}

func (m *openFallbackManager) leak() leak { return m.alive("fallback_manager", m.device.engine) }

func (m *openFallbackManager) endByForce(l *Library, id uint64) error {
	return dropByForce(l, l.fallbackManagers, id, m)
}

// dropped takes away the handles of its tracker and of its buffers.
func (m *openFallbackManager) dropped(l *Library) {
	l.forgetTracker(m.tracker)
	for buffer := range m.takeBuffers() {
		// One that was freed a moment ago may be gone.
		_, _ = l.buffers.Remove(buffer)
	}
}

// addMemory lists its buffers.
func (m *openFallbackManager) addMemory(l *Library, r *leakReport) {
	l.buffers.Each(func(id uint64, b *openBuffer) bool {
		if b.owner == m {
			r.addMember(id, b)
		}
		return true
	})
}

// snapshot adds what the manager holds of a device, and the manager to its first one.
func (m *openFallbackManager) snapshot(d *openDevice, s deviceSnapshot) {
	if p := m.manager.PoolOn(d.engine); p != nil {
		s.add(recordsOfPools, poolSnapshot{Snapshot: p.Snapshot(), Owner: "fallback_manager"})
	}
	if m.device == d {
		s.add("fallback_managers", m.manager.ManagerStats())
	}
}

func (m *openFallbackManager) ownerAt(d *openDevice, addr device.Addr) (Owner, bool) {
	p := m.manager.PoolOn(d.engine)
	if p == nil {
		return Owner{}, false
	}
	return ownerIn(p, addr)
}

// String names the pressure callbacks of a manager.
func (m *openFallbackManager) String() string {
	return fmt.Sprintf("pressure callback of fallback manager %#x", m.id())
}

// hasEnded says that nothing is done with the manager any more.
func (m *openFallbackManager) hasEnded() bool { return m.isOver() }
