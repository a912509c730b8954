package memcheck

import (
	"fmt"
	"math/bits"
	"strings"

	"ferrum_mem/core/device"
)

// Options are the options of a checker.
type Options struct {
	Flags Flags
	// Pool is the pool's name, for reports.
	Pool   string
	Device device.Device
	Hooks  Hooks
}

// Checker is the debug mode of one pool.
type Checker struct {
	options Options
	visible device.HostVisible
	// zones, poison, holds and sites are the requested checks that are possible.
	zones, poison, holds, sites bool

	// users finds a block by the address that the caller has; bases finds it by the start
	// of the pool's range.
	users, bases map[device.Addr]*record
	held         quarantine
	past         history
	depot        depot
	pending      []*Report
}

// New creates a checker; it returns nil if there is nothing to check. It watches call
// sites until Close. It is called with no lock held.
func New(o Options) *Checker {
	if o.Flags&All == 0 {
		return nil
	}
	c := &Checker{
		options: o, users: map[device.Addr]*record{}, bases: map[device.Addr]*record{},
		holds: o.Flags&Quarantine != 0,
		sites: o.Flags&CallSites != 0 && o.Hooks.complete(),
	}
	if visible, ok := o.Device.(device.HostVisible); ok && o.Device.Info().HostVisible {
		c.visible = visible
		c.zones, c.poison = o.Flags&RedZones != 0, o.Flags&Poison != 0
	} else if left := o.Flags & (RedZones | Poison); left != 0 {
		c.note(Debug, "the process cannot address the device's memory: %v are not used", left)
	}
	if o.Flags&CallSites != 0 && !c.sites {
		c.note(Debug, "the caller cannot be found here: %v are not used", CallSites)
	}
	if c.sites {
		o.Hooks.Watch(true)
	}
	return c
}

// Close ends the watching of call sites. It is called with no lock held.
func (c *Checker) Close() {
	if c.sites {
		c.options.Hooks.Watch(false)
	}
}

// NeedsFreed reports whether the checks use the memory of a freed block after the work
// that was queued at its free. If not, the stream of the free may reuse the block at once.
func (c *Checker) NeedsFreed() bool { return c.zones || c.poison || c.holds }

// Describe returns the lines of text for return addresses. It is called with no lock
// held.
func (c *Checker) Describe(frames []uintptr) []string {
	if !c.sites || len(frames) == 0 {
		return nil
	}
	return c.options.Hooks.Describe(frames)
}

// here returns the call site of the running call.
func (c *Checker) here() site {
	if !c.sites {
		return 0
	}
	var s stack
	if n := c.options.Hooks.Read(s[:]); n < len(s) {
		clear(s[n:])
	}
	return c.depot.number(s)
}

// fill writes into a block's range. If that fails, the block is not checked, and the
// program continues as without debug mode.
func (c *Checker) fill(r *record, to span, value byte) bool {
	if to.size == 0 {
		return true
	}
	if err := c.visible.FillNow(to.start, value, to.size); err != nil {
		c.note(Warning, "the block of %v at %#x is not checked: %v", device.Size(r.requested), uint64(r.user), err)
		return false
	}
	return true
}

// note queues a message that is not about a block.
func (c *Checker) note(level Level, format string, args ...any) {
	c.pending = append(c.pending, &Report{level: level, Text: fmt.Sprintf(format, args...)})
}

// front returns the length of the zone before a block with the given alignment.
func (c *Checker) front(alignBytes uint64) uint64 {
	if !c.zones {
		return 0
	}
	return (zoneBytes + alignBytes - 1) &^ (alignBytes - 1)
}

// Padded returns the size of a block with its zones; false if it overflows. alignBytes is
// a power of two.
func (c *Checker) Padded(sizeBytes, alignBytes uint64) (uint64, bool) {
	if !c.zones {
		return sizeBytes, true
	}
	padded, carry := bits.Add64(sizeBytes, c.front(alignBytes), 0)
	padded, more := bits.Add64(padded, zoneBytes, 0)
	return padded, carry|more == 0
}

// Pending returns the reports that no call has returned, and removes them.
func (c *Checker) Pending() []*Report {
	pending := c.pending
	c.pending = nil
	return pending
}

// messageBytes is the size of a report in an error; the C ABI has 1023 bytes for it.
const messageBytes = 1000

// Tell formats a report and passes it to log. It returns the report as an error, or nil
// if the report has no error code. The error has as many lines of each place as fit in
// it. It is called with no lock held.
func (c *Checker) Tell(r *Report, log func(level Level, message string)) error {
	places := make([][]string, len(r.sites))
	most := 0
	for i, place := range r.sites {
		places[i] = c.Describe(place.frames)
		most = max(most, len(places[i]))
	}
	text := c.text(r, places, most)
	log(r.level, text)
	if r.Code == device.CodeOK {
		return nil
	}
	for ; most > 1 && len(text) > messageBytes; most-- {
		text = c.text(r, places, most-1)
	}
	return device.Errorf(r.Code, r.Op, "%s", text).On(c.options.Device.Info().ID)
}

// text formats a report, with at most that many lines of each place.
func (c *Checker) text(r *Report, places [][]string, most int) string {
	var text strings.Builder
	fmt.Fprintf(&text, "pool %q: %s", c.options.Pool, r.Text)
	for i, place := range r.sites {
		lines := places[i]
		if len(lines) == 0 && !place.always {
			continue
		}
		fmt.Fprintf(&text, "\n  %s", place.what)
		for _, line := range lines[:min(len(lines), most)] {
			fmt.Fprintf(&text, "\n    %s", line)
		}
		if len(lines) > most {
			fmt.Fprintf(&text, "\n    and %d more, see the log", len(lines)-most)
		}
	}
	return text.String()
}
