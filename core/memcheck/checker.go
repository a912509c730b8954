package memcheck

import (
	"fmt"
	"math/bits"
	"strings"

	"ferrum_mem/core/device"
)

// Options are what a checker is made with.
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
	// zones, poison, holds and sites are what of the flags can be done.
	zones, poison, holds, sites bool

	// users finds a block by the address that the caller has, bases by where the
	// pool's range starts.
	users, bases map[device.Addr]*record
	held         quarantine
	past         history
	depot        depot
	pending      []*Report
}

// New makes a checker, nil when there is nothing to check. It watches call sites
// from here to Close. Called with no lock held.
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
		c.note(Debug, "the process does not see the device's memory: %v are left out", left)
	}
	if o.Flags&CallSites != 0 && !c.sites {
		c.note(Debug, "nothing here knows who calls: %v are left out", CallSites)
	}
	if c.sites {
		o.Hooks.Watch(true)
	}
	return c
}

// Close ends the watch of call sites. Called with no lock held.
func (c *Checker) Close() {
	if c.sites {
		c.options.Hooks.Watch(false)
	}
}

// Describe gives each return address a line of text. Called with no lock held.
func (c *Checker) Describe(frames []uintptr) []string {
	if !c.sites || len(frames) == 0 {
		return nil
	}
	return c.options.Hooks.Describe(frames)
}

// here is where the running call comes from.
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

// fill writes into a block's range. A failure leaves the block unchecked: the
// program goes on as it would without debugging.
func (c *Checker) fill(r *record, to span, value byte) bool {
	if to.size == 0 {
		return true
	}
	if err := c.visible.FillNow(to.start, value, to.size); err != nil {
		c.note(Warning, "the block of %d bytes at %#x goes unchecked: %v", r.requested, uint64(r.user), err)
		return false
	}
	return true
}

// note queues a message of no block.
func (c *Checker) note(level Level, format string, args ...any) {
	c.pending = append(c.pending, &Report{level: level, Text: fmt.Sprintf(format, args...)})
}

// front is the length of the zone before a block of that alignment.
func (c *Checker) front(alignBytes uint64) uint64 {
	if !c.zones {
		return 0
	}
	return (zoneBytes + alignBytes - 1) &^ (alignBytes - 1)
}

// Padded is what a block takes with its zones; false: that overflows.
// alignBytes is a power of two.
func (c *Checker) Padded(sizeBytes, alignBytes uint64) (uint64, bool) {
	if !c.zones {
		return sizeBytes, true
	}
	padded, carry := bits.Add64(sizeBytes, c.front(alignBytes), 0)
	padded, more := bits.Add64(padded, zoneBytes, 0)
	return padded, carry|more == 0
}

// Pending takes the reports that no call has returned.
func (c *Checker) Pending() []*Report {
	pending := c.pending
	c.pending = nil
	return pending
}

// Tell writes a report out and hands it to log. It returns the report as an
// error, nil for one that makes none. Called with no lock held.
func (c *Checker) Tell(r *Report, log func(level Level, message string)) error {
	var text strings.Builder
	fmt.Fprintf(&text, "pool %q: %s", c.options.Pool, r.Text)
	for _, place := range r.sites {
		lines := c.Describe(place.frames)
		if len(lines) == 0 && !place.always {
			continue
		}
		fmt.Fprintf(&text, "\n  %s", place.what)
		for _, line := range lines {
			fmt.Fprintf(&text, "\n    %s", line)
		}
	}
	log(r.level, text.String())
	if r.Code == device.CodeOK {
		return nil
	}
	return device.Errorf(r.Code, r.Op, "%s", text.String()).On(c.options.Device.Info().ID)
}
