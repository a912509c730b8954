package library

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm"
)

// BlockAsleep is the state of a sleeping range of a virtual pool or a model.
const BlockAsleep = pool.BlockUnusable + 1

// Owner describes the owner of an address.
type Owner struct {
	pool.BlockInfo
	// Pool is the handle of a pool created by PoolCreate, VPool that of a virtual pool,
	// ElasticPool that of an elastic pool, Manager that of the manager whose pool has
	// the address. Only one is not 0. All are 0 for a pool of a FallbackManager.
	Pool, VPool, ElasticPool, Manager uint64
	PoolName                          string
	// Model is the id of the model of an elastic pool.
	Model string
	// Age is 0 without tracking, and if the block is neither live nor asleep.
	Age time.Duration
	// from is the pool of a block, which may know where it was allocated.
	from *pool.Pool
}

// Owner finds the pool and block that have an address of the device. It returns
// CodeNotFound if no pool has it. It may check every block of a pool.
func (d *Device) Owner(addr device.Addr) (Owner, error) {
	var owner Owner
	found := false
	for _, k := range d.library.registry.kinds {
		k.each(func(_ uint64, m member) bool {
			f, is := m.(finder)
			if is && m.of(d) {
				owner, found = f.ownerAt(d, addr)
			}
			return is && !found
		})
		if found {
			return owner, nil
		}
	}
	return Owner{}, device.Errorf(device.CodeNotFound, "device.owner",
		"address %#x lies in no segment of any pool or manager", uint64(addr))
}

// CallSiteJSON returns where the live block that contains an address was allocated, in
// the form that the public header documents; the list is empty if that is not known.
func (d *Device) CallSiteJSON(addr device.Addr) ([]byte, error) {
	owner, err := d.Owner(addr)
	if err != nil {
		return nil, err
	}
	lines := []string{}
	if owner.from != nil && owner.State == pool.BlockLive {
		lines = append(lines, owner.from.CallSite(owner.Addr)...)
	}
	return encode("device.call_site_json", lines)
}

// ownerIn finds the block of a pool that contains an address.
func ownerIn(p *pool.Pool, addr device.Addr) (Owner, bool) {
	info, found := p.OwnerOf(addr)
	if !found {
		return Owner{}, false
	}
	owner := Owner{BlockInfo: info, PoolName: p.Name(), from: p}
	if info.State == pool.BlockLive {
		owner.Age = age(track.Now(), info.AllocatedAt)
	}
	return owner, true
}

// ownerOf describes a range like a block of a pool, with its model.
func ownerOf(r vmm.Range) Owner {
	states := map[vmm.PageState]pool.BlockState{
		vmm.PageLive: pool.BlockLive, vmm.PageRetiring: pool.BlockInFlight,
		vmm.PageParked: pool.BlockCached, vmm.PageFree: pool.BlockFree, vmm.PageAsleep: BlockAsleep,
	}
	return Owner{
		BlockInfo: pool.BlockInfo{
			State: states[r.State], Addr: r.Addr, SizeBytes: r.SizeBytes, RequestedBytes: r.RequestedBytes, Tag: r.Tag,
			AllocatedAt: r.AllocatedAt,
		},
		Model: r.Model, Age: age(track.Now(), r.AllocatedAt),
	}
}
