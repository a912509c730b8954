package library

import (
	"cmp"
	"slices"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/handle"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm"
)

// collectLeaks lists what is alive on a device or, with nil, on all of them
// with the devices themselves and what belongs to none: first what holds memory,
// then the memory, then the rest, so that a flood of events hides no block.
func (l *Library) collectLeaks(only *openDevice) leakReport {
	report := newLeakReport()
	if only == nil {
		l.devices.Each(func(id uint64, d *openDevice) bool {
			report.add(leak{Kind: "device", Device: d.engine.ID().String(), Handle: id, AgeNS: ageOf(&d.object)})
			return true
		})
	}
	l.addMemoryAndItsOwners(&report, only)
	addOwned(&report, l.registrations, only, func(r *registration) (*openDevice, leak) {
		return r.device, leak{Kind: "registration", Callback: r.about(), AgeNS: ageOf(&r.object)}
	})
	if only == nil {
		l.addDeviceless(&report)
	}
	l.addQueues(&report, only)
	return report
}

// addMemoryAndItsOwners adds pools of all kinds and managers, and then their blocks
// and ranges.
func (l *Library) addMemoryAndItsOwners(report *leakReport, only *openDevice) {
	pools := addOwned(report, l.pools, only, func(p *openPool) (*openDevice, leak) {
		return p.device, leak{Kind: "pool", Tag: p.pool.Name(), AgeNS: ageOf(&p.object)}
	})
	vpools := addOwned(report, l.vpools, only, func(p *openVPool) (*openDevice, leak) {
		return p.device, leak{Kind: "vpool", Tag: p.pool.Physical().Name(), AgeNS: ageOf(&p.object)}
	})
	shared := addOwned(report, l.elasticPools, only, func(p *openElasticPool) (*openDevice, leak) {
		return p.device, leak{Kind: "elastic_pool", Tag: p.pool.Physical().Name(), AgeNS: ageOf(&p.object)}
	})
	managers := addOwned(report, l.managers, only, func(m *openManager) (*openDevice, leak) {
		return m.device, leak{Kind: "manager", AgeNS: ageOf(&m.object)}
	})
	fallbackManagers := addOwned(report, l.fallbackManagers, only, func(m *openFallbackManager) (*openDevice, leak) {
		return m.device, leak{Kind: "fallback_manager", AgeNS: ageOf(&m.object)}
	})
	for _, m := range fallbackManagers {
		l.addBuffers(report, m)
	}
	for _, p := range pools {
		report.addBlocks(p)
	}
	for _, p := range vpools {
		report.addRanges(p.device, p.handle.Load(), p.pool.EachRange)
	}
	for _, p := range shared {
		report.addRanges(p.device, p.handle.Load(), p.pool.EachRange)
	}
	for _, m := range managers {
		report.addMemory(m)
	}
}

// addOwned adds the objects of a table that are of a device (nil: of any), and
// returns them; describe gives an object's device and all but that and its handle.
func addOwned[T any](
	report *leakReport, table *handle.Table[T], only *openDevice, describe func(T) (*openDevice, leak),
) (added []T) {
	table.Each(func(id uint64, object T) bool {
		if d, found := describe(object); only == nil || d == only {
			found.Device, found.Handle = d.engine.ID().String(), id
			report.add(found)
			added = append(added, object)
		}
		return true
	})
	return added
}

// addDeviceless adds what is of no device.
func (l *Library) addDeviceless(report *leakReport) {
	l.monitors.Each(func(id uint64, m *openMonitor) bool {
		report.add(leak{Kind: "monitor", Handle: id, AgeNS: ageOf(&m.object)})
		return true
	})
	l.placements.Each(func(id uint64, p *openPlacement) bool {
		report.add(leak{Kind: "placement", Handle: id, Tag: p.strategy.Name(), AgeNS: ageOf(&p.object)})
		return true
	})
	l.trackers.Each(func(id uint64, t *openTracker) bool {
		if t.owner == nil {
			report.add(leak{Kind: "tracker", Handle: id, AgeNS: ageOf(&t.object)})
		}
		return true
	})
	l.genericPools.Each(func(id uint64, p *openGenericPool) bool {
		report.add(leak{Kind: "generic_pool", Handle: id, AgeNS: ageOf(&p.object)})
		return true
	})
}

// addQueues adds streams, but for default ones, and events.
func (l *Library) addQueues(report *leakReport, only *openDevice) {
	now := track.Now()
	wanted := func(e *engine.Engine) bool { return only == nil || e == only.engine }
	l.factory.EachStream(func(s manager.StreamInfo) bool {
		if !s.IsDefault && wanted(s.Engine) {
			report.add(leak{Kind: "stream", Device: s.Engine.ID().String(), Handle: s.Handle.ID(), AgeNS: age(now, s.MadeAt)})
		}
		return true
	})
	l.factory.EachEvent(func(e manager.EventInfo) bool {
		if wanted(e.Engine) {
			report.add(leak{Kind: "event", Device: e.Engine.ID().String(), Handle: e.Handle.ID(), AgeNS: age(now, e.MadeAt)})
		}
		return true
	})
}

func (r *leakReport) addBlocks(p *openPool) {
	now, deviceID, first := track.Now(), p.device.engine.ID().String(), len(r.Leaks)
	p.pool.EachBlock(func(b pool.Block) bool {
		r.add(leak{Kind: "block", Device: deviceID, Handle: p.handle.Load(), Address: uint64(b.Addr),
			Bytes: b.RequestedBytes, Tag: b.Tag, AgeNS: age(now, b.AllocatedAt),
			CallSite: r.callSite(b.Addr, p.pool)})
		return true
	})
	slices.SortFunc(r.Leaks[first:], func(a, b leak) int { return cmp.Compare(a.Address, b.Address) })
}

// addRanges adds what is mapped in a virtual or elastic pool with that handle.
func (r *leakReport) addRanges(d *openDevice, handle uint64, each func(func(vmm.Range) bool)) {
	now, deviceID := track.Now(), d.engine.ID().String()
	each(func(found vmm.Range) bool {
		r.add(leak{Kind: "range", Device: deviceID, Handle: handle, Address: uint64(found.Addr),
			Bytes: found.RequestedBytes, Tag: found.Tag, Model: found.Model, AgeNS: age(now, found.AllocatedAt)})
		return true
	})
}

func (r *leakReport) addMemory(m *openManager) {
	now, deviceID := track.Now(), m.device.engine.ID().String()
	pools := m.manager.Pools()
	m.manager.EachBlock(func(b manager.HandleInfo) bool {
		r.add(leak{Kind: "memory", Device: deviceID, Handle: b.Handle.ID(), Address: uint64(b.Addr),
			Bytes: b.SizeBytes, Tag: b.Tag, AgeNS: age(now, b.AllocatedAt), CallSite: r.callSite(b.Addr, pools...)})
		return true
	})
}

// callSite is where the block at an address was allocated from one of the pools;
// nil when none knows or when the report has no room for it.
func (r *leakReport) callSite(addr device.Addr, pools ...*pool.Pool) []string {
	if r.full() {
		return nil
	}
	for _, p := range pools {
		if lines := p.CallSite(addr); lines != nil {
			return lines
		}
	}
	return nil
}

// age is the time since a moment of the same clock; a moment of 0 is unknown.
func age(now, since time.Duration) time.Duration {
	if since == 0 {
		return 0
	}
	return max(now-since, 0)
}

func ageOf(o *object) time.Duration { return max(time.Since(o.createdAt), 0) }
