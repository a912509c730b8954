package library

import (
	"strings"
	"time"
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
	// Model is the id of the model that a range of an elastic pool is of.
	Model string `json:"model,omitempty"`
	// Callback says what a registration is of, and whether that has ended.
	Callback string `json:"callback,omitempty"`
	// AgeNS is the time since it was made or allocated; 0 for a block of a pool that
	// keeps no times.
	AgeNS time.Duration `json:"age_ns"`
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

// logLeaks reports what a forced call frees, one message each, and what of it
// belongs together.
func (g *logger) logLeaks(what string, report leakReport) {
	for _, found := range report.Leaks {
		switch found.Kind {
		case "block", "range", "memory", "buffer":
			g.printf(LogWarning, "%s: %s: freed %s of %d bytes at %#x, tag %q, handle %#x", found.Device,
				what, found.Kind, found.Bytes, found.Address, found.Tag, found.Handle)
		default:
			// What belongs to no device names none.
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
		g.printf(LogWarning, "%s: freed %d more; %d bytes in all", what, report.Omitted, report.TotalBytes)
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
