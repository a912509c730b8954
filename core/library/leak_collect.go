package library

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm"
)

// collectLeaks lists what is alive on a device or, with nil, on all of them
// with the devices themselves and what belongs to none: first what holds memory,
// then the memory, then the rest, so that a flood of events hides no block.
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

// alive is an object as something that is alive; a device of nil is none.
func (o *object) alive(kind string, of *engine.Engine) leak {
	found := leak{Kind: kind, AgeNS: max(time.Since(o.createdAt), 0)}
	if of != nil {
		found.Device = of.ID().String()
	}
	return found
}

// addRanges adds what is mapped in a virtual or elastic pool with that handle.
func (r *leakReport) addRanges(d *Device, handle uint64, each func(func(vmm.Range) bool)) {
	now, deviceID := track.Now(), d.Engine.ID().String()
	each(func(found vmm.Range) bool {
		r.add(leak{Kind: "range", Device: deviceID, Handle: handle, Address: uint64(found.Addr),
			Bytes: found.RequestedBytes, Tag: found.Tag, Model: found.Model, AgeNS: age(now, found.AllocatedAt)})
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
