package library

import "ferrum_mem/core/mirror"

// Mirrors is where the books of devices can be read from outside of the library. Its
// methods may be called from any goroutine, and call nobody back.
type Mirrors interface {
	// Of gives the place for the device with that handle, which nobody else shows
	// anything at as long as the handle is good; nil: there is none for it.
	Of(handle uint64) *mirror.Device
	// Running says whether the library runs: while it does not, nothing is to be read,
	// whatever is shown.
	Running(on bool)
}
