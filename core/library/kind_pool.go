package library

import (
	"cmp"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/internal/sorting"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/track"
)

// Pool is a pool created by PoolCreate. The other methods are those of the embedded
// pool.
type Pool struct {
	object
	*pool.Pool
	device *Device
	// held knows the sets with tensors in the pool.
	held tensorHolder
	// using counts the accesses to blocks of tensors.
	using *gate
}

// Pool finds a pool by its handle. It makes one call less than find, because every
// allocation uses it.
func (l *Library) Pool(op string, id uint64) (*Pool, error) {
	if l.current.Load() == nil {
		return nil, notStarted(op)
	}
	return l.registry.pools.Get(id)
}

func (p *Pool) hasEnded() bool                  { return p.HasEnded() || p.using.isClosed() }
func (p *Pool) known() (uint64, *engine.Engine) { return p.id(), p.device.Engine }
func (p *Pool) of(d *Device) bool               { return p.device == d }
func (p *Pool) endByForce(l *Library, id uint64) error {
	return dropByForce(l.registry.pools, id, p)
}

func (p *Pool) close(force bool) error {
	return p.using.endHeld("pool.destroy", p.device.Engine, force, func() error { return p.Close(force) })
}

func (p *Pool) leak() leak {
	found := p.alive("pool", p.device.Engine)
	found.Tag = p.Name()
	return found
}

// addMemory lists the live blocks by their addresses.
func (p *Pool) addMemory(_ *Library, r *leakReport) {
	now, deviceID, first := track.Now(), p.device.Engine.ID().String(), len(r.Leaks)
	p.EachBlock(func(b pool.Block) bool {
		r.add(leak{
			Kind: "block", Device: deviceID, Handle: p.id(), Address: uint64(b.Addr),
			Bytes: b.RequestedBytes, Tag: b.Tag, AgeNS: age(now, b.AllocatedAt),
			CallSite: r.callSite(b.Addr, p.Pool),
		})
		return true
	})
	sorting.By(r.Leaks[first:], func(a, b leak) int { return cmp.Compare(a.Address, b.Address) })
}

// snapshot adds the pool, and the private pools of its graphs.
func (p *Pool) snapshot(_ *Device, s deviceSnapshot) {
	s.add(recordsOfPools, poolSnapshot{Snapshot: p.Snapshot(), Owner: "pool"})
	for _, private := range p.PrivatePools() {
		s.add(recordsOfPools, poolSnapshot{Snapshot: private.Snapshot(), Owner: "graph"})
	}
}

func (p *Pool) ownerAt(_ *Device, addr device.Addr) (Owner, bool) {
	owner, found := ownerIn(p.Pool, addr)
	owner.Pool = p.id()
	return owner, found
}
