package virtual

import "ferrum_mem/drivers/host/mapping"

// System is the state that the virtual memories of all devices of one driver share.
type System struct {
	calls       mapping.Calls
	granularity uint64
	files       memoryFiles

	// The following fields describe the machine. They are set before a device is opened.
	mappings mappings
	// strict states that the system promises no more memory than it has.
	strict bool
}

// NewSystem returns the state of a driver that makes these calls.
func NewSystem(calls mapping.Calls, granularity uint64) *System {
	return &System{calls: calls, granularity: granularity, files: memoryFiles{calls: calls.Virtual}}
}

// Learn sets the limits of the machine. maxMappings is the number of mappings that the
// process may have, or 0 if that is not known. strict: the system promises no more memory
// than it has.
func (s *System) Learn(maxMappings uint64, strict bool) {
	s.mappings.bound, s.strict = maxMappings, strict
}

// FileBytes returns how much memory the files of all devices have.
func (s *System) FileBytes() uint64 { return s.files.bytes() }
