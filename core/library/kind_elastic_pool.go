package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm"
)

// ElasticPool is an elastic pool created by ElasticPoolCreate. The other methods are
// those of the embedded pool.
type ElasticPool struct {
	object
	*vmm.Elastic
	device *Device
	// held knows the sets with tensors in the pool.
	held tensorHolder
}

// ElasticPool finds an elastic pool by its handle.
func (l *Library) ElasticPool(op string, id uint64) (*ElasticPool, error) {
	return find(l, l.registry.elasticPools, op, id)
}

func (p *ElasticPool) hasEnded() bool                  { return p.HasEnded() }
func (p *ElasticPool) known() (uint64, *engine.Engine) { return p.id(), p.device.Engine }
func (p *ElasticPool) of(d *Device) bool               { return p.device == d }
func (p *ElasticPool) close(force bool) error          { return p.Close(force) }
func (p *ElasticPool) endByForce(l *Library, id uint64) error {
	return dropByForce(l.registry.elasticPools, id, p)
}

func (p *ElasticPool) leak() leak {
	found := p.alive("elastic_pool", p.device.Engine)
	found.Tag = p.Physical().Name()
	return found
}

func (p *ElasticPool) addMemory(_ *Library, r *leakReport) {
	r.addRanges(p.device, p.id(), p.EachRange)
}

func (p *ElasticPool) snapshot(_ *Device, s deviceSnapshot) {
	s.add("elastic_pools", snapshotShared(p.Elastic))
}

func (p *ElasticPool) ownerAt(_ *Device, addr device.Addr) (Owner, bool) {
	at, found := p.RangeAt(addr)
	if !found {
		return Owner{}, false
	}
	owner := ownerOf(at)
	owner.ElasticPool, owner.PoolName = p.id(), p.Physical().Name()
	return owner, true
}
