package memcheck

import (
	"errors"

	"ferrum_mem/core/device"
)

// Level is the severity of a report.
type Level int32

// The levels, with the numbers of the C ABI.
const (
	Debug   Level = 0
	Warning Level = 2
	Error   Level = 3
)

// Report is a finding.
type Report struct {
	// Code and Op are those of the resulting error; a Code of 0 means no error.
	Code device.Code
	Op   string
	// Text is one line without the name of the pool.
	Text  string
	level Level
	sites []mark
}

// mark is a place in the program and what happened there.
type mark struct {
	what   string
	frames []uintptr
	// always is set if the line is shown even when the place is unknown.
	always bool
}

// Add adds information of another owner: a line, and the return addresses of a place if
// there are any.
func (r *Report) Add(what string, frames []uintptr) {
	r.sites = append(r.sites, mark{what: what, frames: frames, always: true})
}

// message returns the message of an error, without its operation and code.
func message(err error) string {
	var typed *device.Error
	if errors.As(err, &typed) {
		return typed.Message
	}
	return err.Error()
}
