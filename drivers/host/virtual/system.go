package virtual

import "ferrum_mem/drivers/host/mapping"

// System is what the virtual memories of all devices of one driver share.
type System struct {
	calls       mapping.Calls
	granularity uint64
	files       memoryFiles

	// What follows is the machine's, and known before a device is opened.
	mappings mappings
	// strict says that the system promises no more memory than it has.
	strict bool
}

// NewSystem is that of a driver which makes the calls.
func NewSystem(calls mapping.Calls, granularity uint64) *System {
	return &System{calls: calls, granularity: granularity, files: memoryFiles{calls: calls.Virtual}}
}

// Learn says what the machine allows: maxMappings is how many mappings the process may
// have, 0 where that is not known; strict, that the system promises no more memory than
// it has.
func (s *System) Learn(maxMappings uint64, strict bool) {
	s.mappings.bound, s.strict = maxMappings, strict
}

// FileBytes is how much memory the files of all devices have.
func (s *System) FileBytes() uint64 { return s.files.bytes() }
