package library

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm"
)

// collectLeaks lists the live objects and blocks of a device or, with nil, of all
// devices, together with the devices themselves and the objects of no device. Holders
// of memory come first, then the memory, then the rest, so that many events do not
// push blocks out of the report.
func (l *Library) collectLeaks(only *Device) leakReport {
	report := newLeakReport()
	list := func(place listing, add func(id uint64, m member)) {
		for _, k := range l.registry.kinds {
			if k.traits().listed != place {
				continue
			}
			k.each(func(id uint64, m member) bool {
				if only == nil || m.of(only) {
					add(id, m)
				}
				return true
			})
		}
	}
	list(listedFirst, report.addMember)
	list(listedFirst, func(_ uint64, m member) {
		if h, is := m.(holder); is {
			h.addMemory(l, &report)
		}
	})
	list(listedAfterMemory, report.addMember)
	list(listedLast, report.addMember)
	return report
}

// addMember adds an object.
func (r *leakReport) addMember(id uint64, m member) {
	found := m.leak()
	found.Handle = id
	r.add(found)
}

// alive describes an object as a live one. of is its engine; nil: it has no device.
func (o *object) alive(kind string, of *engine.Engine) leak {
	found := leak{Kind: kind, AgeNS: max(time.Since(o.createdAt), 0)}
	if of != nil {
		found.Device = of.ID().String()
	}
	return found
}

// addRanges adds the mapped ranges of the virtual or elastic pool with that handle.
func (r *leakReport) addRanges(d *Device, handle uint64, each func(func(vmm.Range) bool)) {
	now, deviceID := track.Now(), d.Engine.ID().String()
	each(func(found vmm.Range) bool {
		r.add(leak{Kind: "range", Device: deviceID, Handle: handle, Address: uint64(found.Addr),
			Bytes: found.RequestedBytes, Tag: found.Tag, Model: found.Model, AgeNS: age(now, found.AllocatedAt)})
		return true
	})
}

// callSite returns where the block at an address was allocated from one of the pools.
// It returns nil if no pool knows the call site, or the report is full.
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

// age returns the time since a moment of the same clock; a moment of 0 is unknown.
func age(now, since time.Duration) time.Duration {
	if since == 0 {
		return 0
	}
	return max(now-since, 0)
}
