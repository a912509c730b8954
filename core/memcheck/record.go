package memcheck

import (
	"fmt"

	"ferrum_mem/core/device"
)

type state uint8

const (
	live state = iota
	// inFlight is freed and still used by queued work.
	inFlight
	quarantined
)

// record is a block that was not returned to the pool.
type record struct {
	// base and size are the pool's range; user and requested are the caller's.
	base, user       device.Addr
	size, requested  uint64
	tag              string
	state            state
	allocated, freed site
	// guarded is set if the zones are filled, and poisoned if the inside is.
	guarded, poisoned bool
}

// place describes where an address is in a block's range.
func (r *record) place(addr device.Addr) string {
	end := r.user + device.Addr(r.requested)
	switch {
	case addr < r.user:
		return fmt.Sprintf("%v before", device.Size(uint64(r.user-addr)))
	case addr >= end:
		return fmt.Sprintf("%v after the end of", device.Size(uint64(addr-end)))
	}
	return fmt.Sprintf("%v inside", device.Size(uint64(addr-r.user)))
}

// String describes a block in a report.
func (r *record) String() string {
	return fmt.Sprintf("block of %v at %#x, tag %q", device.Size(r.requested), uint64(r.user), r.tag)
}

func (s state) String() string {
	switch s {
	case inFlight:
		return "still in use by queued work"
	case quarantined:
		return "in quarantine"
	}
	return "live"
}
