package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm"
)

// VPool is a virtual pool created by VPoolCreate. The other methods are those of the
// embedded pool.
type VPool struct {
	object
	*vmm.Pool
	device *Device
	// held knows the sets with tensors in the pool.
	held tensorHolder
}

// VPool finds a virtual pool by its handle.
func (l *Library) VPool(op string, id uint64) (*VPool, error) {
	return find(l, l.registry.vpools, op, id)
}

func (p *VPool) hasEnded() bool                  { return p.HasEnded() }
func (p *VPool) known() (uint64, *engine.Engine) { return p.id(), p.device.Engine }
func (p *VPool) of(d *Device) bool               { return p.device == d }
func (p *VPool) close(force bool) error          { return p.Close(force) }
func (p *VPool) endByForce(l *Library, id uint64) error {
	return dropByForce(l.registry.vpools, id, p)
}

func (p *VPool) leak() leak {
	found := p.alive("vpool", p.device.Engine)
	found.Tag = p.Physical().Name()
	return found
}

func (p *VPool) addMemory(_ *Library, r *leakReport) {
	r.addRanges(p.device, p.id(), p.EachRange)
}

func (p *VPool) snapshot(_ *Device, s deviceSnapshot) {
	s.add("virtual_pools", vpoolSnapshot{
		Name: p.Physical().Name(), Statistics: p.Physical().Statistics(),
		Info: newSpaceInfo(p.BaseAddress(), p.Stats()),
	})
}

func (p *VPool) ownerAt(_ *Device, addr device.Addr) (Owner, bool) {
	at, found := p.RangeAt(addr)
	if !found {
		return Owner{}, false
	}
	owner := ownerOf(at)
	owner.VPool, owner.PoolName = p.id(), p.Physical().Name()
	return owner, true
}
