package library

import (
	"strings"
	"time"

	"ferrum_mem/core/device"
)

// leakReportEntries bounds the entries of a leak report.
const leakReportEntries = 1000

// leak is one live object or block.
type leak struct {
	Kind   string `json:"kind"`
	Device string `json:"device"`
	// Handle is the handle of the object, or of the pool that has the block or range.
	Handle  uint64 `json:"handle"`
	Address uint64 `json:"address"`
	// Bytes is the requested size of a block or range; 0 for an object without memory.
	Bytes uint64 `json:"bytes"`
	// Tag is the tag of a block or range, or the name of a pool.
	Tag string `json:"tag"`
	// Model is the id of the model that has a range of an elastic pool.
	Model string `json:"model,omitempty"`
	// Callback describes the object of a registration, and whether it has ended.
	Callback string `json:"callback,omitempty"`
	// AgeNS is the time since its creation or allocation; 0 for a block of a pool that
	// records no times.
	AgeNS time.Duration `json:"age_ns"`
	// CallSite is the call stack of the allocation of a block, the innermost function
	// first. It is absent unless its pool records call sites.
	CallSite []string `json:"call_site,omitempty"`
}

// leakReport lists the objects and blocks that are live at one moment.
type leakReport struct {
	Leaks      []leak `json:"leaks"`
	Omitted    uint64 `json:"omitted"`
	TotalBytes uint64 `json:"total_bytes"`
}

func newLeakReport() leakReport { return leakReport{Leaks: []leak{}} }

// full reports whether further entries are only counted.
func (r *leakReport) full() bool { return len(r.Leaks) >= leakReportEntries }

func (r *leakReport) add(found leak) {
	r.TotalBytes += found.Bytes
	if r.full() {
		r.Omitted++
		return
	}
	r.Leaks = append(r.Leaks, found)
}

// logLeaks logs the objects and blocks that a forced call ends: one message for each
// entry, and one for each group.
func (g *logger) logLeaks(what string, report leakReport) {
	for _, found := range report.Leaks {
		switch found.Kind {
		case "block", "range", "memory", "buffer":
			g.printf(LogWarning, "%s: %s: freed %s of %v at %#x, tag %q, handle %#x", found.Device,
				what, found.Kind, device.Size(found.Bytes), found.Address, found.Tag, found.Handle)
		default:
			// An object of no device has no device in its message.
			whose := strings.TrimPrefix(found.Device+": "+what, ": ")
			about := ""
			if found.Callback != "" {
				about = ": " + found.Callback
			}
			g.printf(LogWarning, "%s: freed %s, handle %#x%s", whose, found.Kind, found.Handle, about)
		}
	}
	for _, group := range groupLeaks(report.Leaks) {
		g.printf(LogWarning, "%s: %s: %v", group.device, what, group)
	}
	if report.Omitted > 0 {
		g.printf(LogWarning, "%s: freed %d more; %v in all", what, report.Omitted, device.Size(report.TotalBytes))
	}
}

// LeakReportJSON lists the objects and blocks that are live now or, while the library
// is stopped, that were live when it stopped last, in the form that the public header
// documents. It works at any time.
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
		// The report has only text and integers, so encoding cannot fail.
		panic(err)
	}
	return text
}
