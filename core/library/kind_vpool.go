package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm"
)

// openVPool is a virtual pool that was made by VPoolCreate.
type openVPool struct {
	object
	pool   *vmm.Pool
	device *openDevice
}

func (p *openVPool) isOver() bool                    { return p.pool.IsOver() }
func (p *openVPool) known() (uint64, *engine.Engine) { return p.id(), p.device.engine }
func (p *openVPool) of(d *openDevice) bool           { return p.device == d }
func (p *openVPool) close(force bool) error          { return p.pool.Close(force) }
func (p *openVPool) endByForce(l *Library, id uint64) error {
	return dropByForce(l, l.vpools, id, p)
}

func (p *openVPool) leak() leak {
	found := p.alive("vpool", p.device.engine)
	found.Tag = p.pool.Physical().Name()
	return found
}

func (p *openVPool) addMemory(_ *Library, r *leakReport) {
	r.addRanges(p.device, p.id(), p.pool.EachRange)
}

func (p *openVPool) snapshot(_ *openDevice, s deviceSnapshot) {
	s.add("virtual_pools", vpoolSnapshot{
		Name: p.pool.Physical().Name(), Statistics: p.pool.Physical().Statistics(),
		Info: newSpaceInfo(p.pool.BaseAddress(), p.pool.Stats()),
	})
}

func (p *openVPool) ownerAt(_ *openDevice, addr device.Addr) (Owner, bool) {
	at, found := p.pool.RangeAt(addr)
	if !found {
		return Owner{}, false
	}
	owner := ownerOf(at)
	owner.VPool, owner.PoolName = p.id(), p.pool.Physical().Name()
	return owner, true
}
