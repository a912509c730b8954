package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/track"
)

// Manager is a manager created by ManagerCreate, or that of a compute backend. The other
// methods are those of the embedded manager.
type Manager struct {
	object
	*manager.Manager
	device *Device
	// owner is the compute backend to which the manager belongs; nil: the caller has created it.
	owner *Compute
	// using counts the accesses to blocks by tensors.
	using *gate
}

// mayChange returns an error if the manager belongs to a compute backend.
func (m *Manager) mayChange(op string) error {
	if m.owner != nil {
		return device.Errorf(device.CodeInvalidState, op,
			"manager handle %#x belongs to the compute backend %s, and ends with it", m.id(), m.owner.Name()).On(m.device.Engine.ID())
	}
	return nil
}

// Manager finds a manager by its handle.
func (l *Library) Manager(op string, id uint64) (*Manager, error) {
	return find(l, l.registry.managers, op, id)
}

func (m *Manager) hasEnded() bool                  { return m.HasEnded() || m.using.isClosed() }
func (m *Manager) known() (uint64, *engine.Engine) { return m.id(), m.device.Engine }
func (m *Manager) of(d *Device) bool               { return m.device == d }
func (m *Manager) leak() leak                      { return m.alive("manager", m.device.Engine) }
func (m *Manager) endByForce(l *Library, id uint64) error {
	return dropByForce(l.registry.managers, id, m)
}

func (m *Manager) close(force bool) error {
	return m.using.endHeld("manager.destroy", m.device.Engine, force, func() error { return m.Close(force) })
}

// holdAll keeps managers from a forced end until release is called.
func holdAll(managers []*Manager) (release func(), err error) {
	releases := make([]func(), 0, len(managers))
	release = func() {
		for _, one := range releases {
			one()
		}
	}
	for _, m := range managers {
		leave, err := m.using.hold(m)
		if err != nil {
			release()
			return nil, err
		}
		releases = append(releases, leave)
	}
	return release, nil
}

func (m *Manager) addMemory(_ *Library, r *leakReport) {
	now, deviceID := track.Now(), m.device.Engine.ID().String()
	pools := m.Pools()
	m.EachBlock(func(b manager.HandleInfo) bool {
		r.add(leak{
			Kind: "memory", Device: deviceID, Handle: b.Handle.ID(), Address: uint64(b.Addr),
			Bytes: b.SizeBytes, Tag: b.Tag, AgeNS: age(now, b.AllocatedAt), CallSite: r.callSite(b.Addr, pools...),
		})
		return true
	})
}

// snapshot adds the manager and its pools.
func (m *Manager) snapshot(_ *Device, s deviceSnapshot) {
	for _, p := range m.Pools() {
		s.add(recordsOfPools, poolSnapshot{Snapshot: p.Snapshot(), Owner: "manager"})
	}
	stats := m.Statistics()
	s.add("managers", managerSnapshot{
		LiveBlocks: stats.LiveBlocks.Current, MemoryTypes: m.LiveByType(), Statistics: stats,
		Adopted: m.Adopted(),
	})
}

func (m *Manager) ownerAt(_ *Device, addr device.Addr) (Owner, bool) {
	for _, p := range m.Pools() {
		if owner, found := ownerIn(p, addr); found {
			owner.Manager = m.id()
			return owner, true
		}
	}
	return Owner{}, false
}
