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

// setRun has the library run, or with nil not. The caller holds mu.
func (l *Library) setRun(r *run) {
	if r == nil && l.options.Mirrors != nil {
		l.options.Mirrors.Running(false)
	}
	l.current.Store(r)
	if r != nil && l.options.Mirrors != nil {
		l.options.Mirrors.Running(true)
	}
}

// ShowBooks has the books of an open device be shown where there is a place for them,
// until they change. A handle that is wrong does nothing.
func (l *Library) ShowBooks(id uint64) {
	if l.current.Load() == nil {
		return
	}
	d, ok := l.devices.Near(id)
	if !ok {
		var err error
		if d, err = l.devices.Get(id); err != nil {
			return
		}
	}
	d.Engine.Show()
}
