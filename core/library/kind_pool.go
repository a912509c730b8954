package library

import (
	"cmp"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/track"
)

// openPool is a pool that was made by PoolCreate.
type openPool struct {
	object
	pool   *pool.Pool
	device *openDevice
}

func (p *openPool) isOver() bool                    { return p.pool.IsOver() }
func (p *openPool) known() (uint64, *engine.Engine) { return p.id(), p.device.engine }
func (p *openPool) of(d *openDevice) bool           { return p.device == d }
func (p *openPool) close(force bool) error          { return p.pool.Close(force) }
func (p *openPool) endByForce(l *Library, id uint64) error {
	return dropByForce(l, l.pools, id, p)
}

func (p *openPool) leak() leak {
	found := p.alive("pool", p.device.engine)
	found.Tag = p.pool.Name()
	return found
}

// addMemory lists the live blocks by their addresses.
func (p *openPool) addMemory(_ *Library, r *leakReport) {
	now, deviceID, first := track.Now(), p.device.engine.ID().String(), len(r.Leaks)
	p.pool.EachBlock(func(b pool.Block) bool {
		r.add(leak{
			Kind: "block", Device: deviceID, Handle: p.id(), Address: uint64(b.Addr),
			Bytes: b.RequestedBytes, Tag: b.Tag, AgeNS: age(now, b.AllocatedAt),
			CallSite: r.callSite(b.Addr, p.pool),
		})
		return true
	})
	slices.SortFunc(r.Leaks[first:], func(a, b leak) int { return cmp.Compare(a.Address, b.Address) })
}

// snapshot adds the pool, and the private pools of its graphs.
func (p *openPool) snapshot(_ *openDevice, s deviceSnapshot) {
	s.add(recordsOfPools, poolSnapshot{Snapshot: p.pool.Snapshot(), Owner: "pool"})
	for _, private := range p.pool.PrivatePools() {
		s.add(recordsOfPools, poolSnapshot{Snapshot: private.Snapshot(), Owner: "graph"})
	}
}

func (p *openPool) ownerAt(_ *openDevice, addr device.Addr) (Owner, bool) {
	owner, found := ownerIn(p.pool, addr)
	owner.Pool = p.id()
	return owner, found
}
