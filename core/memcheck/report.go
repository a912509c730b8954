package memcheck

import (
	"errors"
	"fmt"
	"strings"

	"ferrum_mem/core/device"
)

// Level is the weight of a report.
type Level int32

// The weights, those of the C ABI.
const (
	Debug   Level = 0
	Warning Level = 2
	Error   Level = 3
)

// Report is something that was found.
type Report struct {
	// Code and Op are those of the error that it makes; 0: it makes none.
	Code device.Code
	Op   string
	// Text is one line without the pool.
	Text  string
	level Level
	sites []mark
}

// mark is a place in the program and what happened there.
type mark struct {
	what   string
	frames []uintptr
	// always says that it is worth a line even if the place is not known.
	always bool
}

func (c *Checker) mark(what string, at site) mark {
	return mark{what: what, frames: c.depot.frames(at)}
}

// Add adds what somebody else knows: a line, and the return addresses of a place
// if there are any.
func (r *Report) Add(what string, frames []uintptr) {
	r.sites = append(r.sites, mark{what: what, frames: frames, always: true})
}

// sitesOf is where a block was allocated and freed.
func (c *Checker) sitesOf(r *record) []mark {
	marks := []mark{c.mark("allocated at", r.allocated)}
	if r.state != live {
		marks = append(marks, c.mark("freed at", r.freed))
	}
	return marks
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

// message is what an error says, without its operation and code.
func message(err error) string {
	var typed *device.Error
	if errors.As(err, &typed) {
		return typed.Message
	}
	return err.Error()
}
