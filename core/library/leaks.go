package library

import (
	"strings"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm"
)

// leakReportEntries bounds the entries of a leak report.
const leakReportEntries = 1000

// leak is something that is alive.
type leak struct {
	Kind   string `json:"kind"`
	Device string `json:"device"`
	// Handle is that of the object, or of the pool that a block or range is in.
	Handle  uint64 `json:"handle"`
	Address uint64 `json:"address"`
	// Bytes is what a block or range was asked for with; 0 for what is no memory.
	Bytes uint64 `json:"bytes"`
	// Tag of a block or range, or name of a pool.
	Tag string `json:"tag"`
	// Model is the id of the model that a range of a shared pool is of.
	Model string `json:"model,omitempty"`
	// AgeNS is 0 where no time is kept.
	AgeNS uint64 `json:"age_ns"`
	// CallSite is where a block was allocated, the innermost function first;
	// absent unless its pool keeps call sites.
	CallSite []string `json:"call_site,omitempty"`
}

// leakReport is what is alive at one moment.
type leakReport struct {
	Leaks      []leak `json:"leaks"`
	Omitted    uint64 `json:"omitted"`
	TotalBytes uint64 `json:"total_bytes"`
}

func newLeakReport() leakReport { return leakReport{Leaks: []leak{}} }

// full says that what is added now is only counted.
func (r *leakReport) full() bool { return len(r.Leaks) >= leakReportEntries }

func (r *leakReport) add(found leak) {
	r.TotalBytes += found.Bytes
	if r.full() {
		r.Omitted++
		return
	}
	r.Leaks = append(r.Leaks, found)
}

func (r *leakReport) addBlocks(p *openPool) {
	now, deviceID := track.Now(), p.device.engine.ID().String()
	p.pool.EachBlock(func(b pool.Block) bool {
		r.add(leak{Kind: "block", Device: deviceID, Handle: p.handle.Load(), Address: uint64(b.Addr),
			Bytes: b.RequestedBytes, Tag: b.Tag, AgeNS: age(now, b.AllocatedAt),
			CallSite: r.callSite(b.Addr, p.pool)})
		return true
	})
}

// addRanges adds what is mapped in a virtual or shared pool with that handle.
func (r *leakReport) addRanges(d *openDevice, handle uint64, each func(func(vmm.Range) bool)) {
	deviceID := d.engine.ID().String()
	each(func(found vmm.Range) bool {
		r.add(leak{Kind: "range", Device: deviceID, Handle: handle, Address: uint64(found.Addr),
			Bytes: found.RequestedBytes, Tag: found.Tag, Model: found.Model})
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
func age(now, since time.Duration) uint64 {
	if since == 0 {
		return 0
	}
	return uint64(max(now-since, 0))
}

func ageOf(o *object) uint64 { return uint64(max(time.Since(o.createdAt), 0)) }

// collectLeaks lists what is alive on a device or, with nil, on all of them
// with the devices themselves: first what holds memory, then the memory, then
// the rest, so that a flood of events hides no block.
func (l *Library) collectLeaks(only *openDevice) leakReport {
	report := newLeakReport()
	wanted := func(d *openDevice) bool { return only == nil || d == only }
	if only == nil {
		l.devices.Each(func(id uint64, d *openDevice) bool {
			report.add(leak{Kind: "device", Device: d.engine.ID().String(), Handle: id, AgeNS: ageOf(&d.object)})
			return true
		})
	}
	var pools []*openPool
	l.pools.Each(func(id uint64, p *openPool) bool {
		if wanted(p.device) {
			pools = append(pools, p)
			report.add(leak{Kind: "pool", Device: p.device.engine.ID().String(), Handle: id,
				Tag: p.pool.Name(), AgeNS: ageOf(&p.object)})
		}
		return true
	})
	var vpools []*openVPool
	l.vpools.Each(func(id uint64, p *openVPool) bool {
		if wanted(p.device) {
			vpools = append(vpools, p)
			report.add(leak{Kind: "vpool", Device: p.device.engine.ID().String(), Handle: id,
				Tag: p.pool.Physical().Name(), AgeNS: ageOf(&p.object)})
		}
		return true
	})
	var shared []*openSharedPool
	l.sharedPools.Each(func(id uint64, p *openSharedPool) bool {
		if wanted(p.device) {
			shared = append(shared, p)
			report.add(leak{Kind: "shared_pool", Device: p.device.engine.ID().String(), Handle: id,
				Tag: p.pool.Physical().Name(), AgeNS: ageOf(&p.object)})
		}
		return true
	})
	var managers []*openManager
	l.managers.Each(func(id uint64, m *openManager) bool {
		if wanted(m.device) {
			managers = append(managers, m)
			report.add(leak{Kind: "manager", Device: m.device.engine.ID().String(), Handle: id, AgeNS: ageOf(&m.object)})
		}
		return true
	})
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
	l.registrations.Each(func(id uint64, r *registration) bool {
		if wanted(r.device) {
			report.add(leak{Kind: "registration", Device: r.device.engine.ID().String(), Handle: id, AgeNS: ageOf(&r.object)})
		}
		return true
	})
	if only == nil {
		l.monitors.Each(func(id uint64, m *openMonitor) bool {
			report.add(leak{Kind: "monitor", Handle: id, AgeNS: ageOf(&m.object)})
			return true
		})
		l.placements.Each(func(id uint64, p *openPlacement) bool {
			report.add(leak{Kind: "placement", Handle: id, Tag: p.strategy.Name(), AgeNS: ageOf(&p.object)})
			return true
		})
	}
	l.factory.EachStream(func(s manager.StreamInfo) bool {
		if !s.IsDefault && (only == nil || s.Engine == only.engine) {
			report.add(leak{Kind: "stream", Device: s.Engine.ID().String(), Handle: s.Handle.ID()})
		}
		return true
	})
	l.factory.EachEvent(func(e manager.EventInfo) bool {
		if only == nil || e.Engine == only.engine {
			report.add(leak{Kind: "event", Device: e.Engine.ID().String(), Handle: e.Handle.ID()})
		}
		return true
	})
	return report
}

// logLeaks reports what a forced call frees, one message each, and what of it
// belongs together.
func (l *Library) logLeaks(what string, report leakReport) {
	for _, found := range report.Leaks {
		switch found.Kind {
		case "block", "range", "memory":
			l.log.printf(LogWarning, "%s: %s: freed %s of %d bytes at %#x, tag %q, handle %#x", found.Device,
				what, found.Kind, found.Bytes, found.Address, found.Tag, found.Handle)
		default:
			// What belongs to no device names none.
			whose := strings.TrimPrefix(found.Device+": "+what, ": ")
			l.log.printf(LogWarning, "%s: freed %s, handle %#x", whose, found.Kind, found.Handle)
		}
	}
	for _, group := range groupLeaks(report.Leaks) {
		l.log.printf(LogWarning, "%s: %s: %v", group.device, what, group)
	}
	if report.Omitted > 0 {
		l.log.printf(LogWarning, "%s: freed %d more; %d bytes in all", what, report.Omitted, report.TotalBytes)
	}
}

// LeakReportJSON lists what is alive now or, while the library is stopped, what
// was alive when it stopped last, in the form that the public header gives.
// Works at any time.
func (l *Library) LeakReportJSON() []byte {
	l.mu.Lock()
	report := l.lastLeaks
	running := l.current.Load() != nil
	l.mu.Unlock()
	if running {
		report = l.collectLeaks(nil)
	}
	text, err := encode("library.leak_report", report)
	if err != nil {
		// The report is made of text and whole numbers: nothing in it can fail.
		panic(err)
	}
	return text
}
