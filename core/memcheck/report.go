package memcheck

import (
	"errors"

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

// Add adds what somebody else knows: a line, and the return addresses of a place
// if there are any.
func (r *Report) Add(what string, frames []uintptr) {
	r.sites = append(r.sites, mark{what: what, frames: frames, always: true})
}

// message is what an error says, without its operation and code.
func message(err error) string {
	var typed *device.Error
	if errors.As(err, &typed) {
		return typed.Message
	}
	return err.Error()
}
