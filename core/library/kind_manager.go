package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/track"
)

// openManager is a manager that was made by ManagerCreate.
type openManager struct {
	object
	manager *manager.Manager
	device  *openDevice
}

func (m *openManager) isOver() bool                    { return m.manager.IsOver() }
func (m *openManager) known() (uint64, *engine.Engine) { return m.id(), m.device.engine }
func (m *openManager) of(d *openDevice) bool           { return m.device == d }
func (m *openManager) leak() leak                      { return m.alive("manager", m.device.engine) }
func (m *openManager) close(force bool) error          { return m.manager.Close(force) }
func (m *openManager) endByForce(l *Library, id uint64) error {
	return dropByForce(l, l.managers, id, m)
}

func (m *openManager) addMemory(_ *Library, r *leakReport) {
	now, deviceID := track.Now(), m.device.engine.ID().String()
	pools := m.manager.Pools()
	m.manager.EachBlock(func(b manager.HandleInfo) bool {
		r.add(leak{
			Kind: "memory", Device: deviceID, Handle: b.Handle.ID(), Address: uint64(b.Addr),
			Bytes: b.SizeBytes, Tag: b.Tag, AgeNS: age(now, b.AllocatedAt), CallSite: r.callSite(b.Addr, pools...),
		})
		return true
	})
}

// snapshot adds the manager and its pools.
func (m *openManager) snapshot(_ *openDevice, s deviceSnapshot) {
	for _, p := range m.manager.Pools() {
		s.add(recordsOfPools, poolSnapshot{Snapshot: p.Snapshot(), Owner: "manager"})
	}
	stats := m.manager.Statistics()
	s.add("managers", managerSnapshot{
		LiveBlocks: stats.LiveBlocks.Current, MemoryTypes: m.manager.LiveByType(), Statistics: stats,
		Adopted: m.manager.Adopted(),
	})
}

func (m *openManager) ownerAt(_ *openDevice, addr device.Addr) (Owner, bool) {
	for _, p := range m.manager.Pools() {
		if owner, found := ownerIn(p, addr); found {
			owner.Manager = m.id()
			return owner, true
		}
	}
	return Owner{}, false
}
