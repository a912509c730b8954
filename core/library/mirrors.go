package library

import "ferrum_mem/core/mirror"

// Mirrors has the memory outside the library for the published counters of devices.
// Its methods may be called from any goroutine and make no callbacks.
type Mirrors interface {
	// Of returns the place for the device with that handle. No other device uses the
	// place while the handle is valid; nil: there is none.
	Of(handle uint64) *mirror.Device
	// Running states whether the library runs. While it does not, readers must not use
	// published counters.
	Running(on bool)
}
