package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm"
)

// openElasticPool is an elastic pool that was made by ElasticPoolCreate.
type openElasticPool struct {
	object
	pool   *vmm.Elastic
	device *openDevice
}

func (p *openElasticPool) isOver() bool                    { return p.pool.IsOver() }
func (p *openElasticPool) known() (uint64, *engine.Engine) { return p.id(), p.device.engine }
func (p *openElasticPool) of(d *openDevice) bool           { return p.device == d }
func (p *openElasticPool) close(force bool) error          { return p.pool.Close(force) }
func (p *openElasticPool) endByForce(l *Library, id uint64) error {
	return dropByForce(l, l.elasticPools, id, p)
}

func (p *openElasticPool) leak() leak {
	found := p.alive("elastic_pool", p.device.engine)
	found.Tag = p.pool.Physical().Name()
	return found
}

func (p *openElasticPool) addMemory(_ *Library, r *leakReport) {
	r.addRanges(p.device, p.id(), p.pool.EachRange)
}

func (p *openElasticPool) snapshot(_ *openDevice, s deviceSnapshot) {
	s.add("elastic_pools", snapshotShared(p.pool))
}

func (p *openElasticPool) ownerAt(_ *openDevice, addr device.Addr) (Owner, bool) {
	at, found := p.pool.RangeAt(addr)
	if !found {
		return Owner{}, false
	}
	owner := ownerOf(at)
	owner.ElasticPool, owner.PoolName = p.id(), p.pool.Physical().Name()
	return owner, true
}
