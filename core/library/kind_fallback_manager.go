package library

import (
	"fmt"
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/fallback"
)

// FallbackManager is a manager created by FallbackManagerCreate. The other methods are
// those of the embedded manager.
type FallbackManager struct {
	object
	*fallback.Manager
	// host is nil if the manager has no second device.
	device, host *Device
	// tracker is the handle of its tracker; 0: it has none.
	tracker uint64

	mu sync.Mutex
	// buffers has the handles of its buffers, so that its end does not search those of
	// other managers.
	buffers map[uint64]struct{}
}

// FallbackManager finds a fallback manager by its handle.
func (l *Library) FallbackManager(op string, id uint64) (*FallbackManager, error) {
	return find(l, l.registry.fallbackManagers, op, id)
}

func (m *FallbackManager) note(buffer uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.buffers == nil {
		m.buffers = make(map[uint64]struct{})
	}
	m.buffers[buffer] = struct{}{}
}

func (m *FallbackManager) forget(buffer uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.buffers, buffer)
}

func (m *FallbackManager) takeBuffers() map[uint64]struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	handles := m.buffers
	m.buffers = nil
	return handles
}

func (m *FallbackManager) hasEnded() bool                  { return m.HasEnded() }
func (m *FallbackManager) known() (uint64, *engine.Engine) { return m.id(), m.device.Engine }
func (m *FallbackManager) close(force bool) error          { return m.Close(force) }

// of returns true for both devices of the manager.
func (m *FallbackManager) of(d *Device) bool {
	return d != nil && (m.device == d || m.host == d)
}

func (m *FallbackManager) leak() leak { return m.alive("fallback_manager", m.device.Engine) }

func (m *FallbackManager) endByForce(l *Library, id uint64) error {
	return dropByForce(l.registry.fallbackManagers, id, m)
}

// dropped removes the handles of its tracker and of its buffers.
func (m *FallbackManager) dropped(l *Library) {
	l.registry.forgetTracker(m.tracker)
	for buffer := range m.takeBuffers() {
		// A buffer that was freed just before may have no handle any more.
		_, _ = l.registry.buffers.Remove(buffer)
	}
}

// addMemory lists its buffers.
func (m *FallbackManager) addMemory(l *Library, r *leakReport) {
	l.registry.buffers.Each(func(id uint64, b *FallbackBuffer) bool {
		if b.owner == m {
			r.addMember(id, b)
		}
		return true
	})
}

// snapshot adds the pool that the manager has on a device. The manager itself is added
// to its first device.
func (m *FallbackManager) snapshot(d *Device, s deviceSnapshot) {
	if p := m.PoolOn(d.Engine); p != nil {
		s.add(recordsOfPools, poolSnapshot{Snapshot: p.Snapshot(), Owner: "fallback_manager"})
	}
	if m.device == d {
		s.add("fallback_managers", m.FallbackStats())
	}
}

func (m *FallbackManager) ownerAt(d *Device, addr device.Addr) (Owner, bool) {
	p := m.PoolOn(d.Engine)
	if p == nil {
		return Owner{}, false
	}
	return ownerIn(p, addr)
}

// String describes the pressure callbacks of a manager.
func (m *FallbackManager) String() string {
	return fmt.Sprintf("pressure callback of fallback manager %#x", m.id())
}
