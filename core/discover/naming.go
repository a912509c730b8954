package discover

import (
	"strings"

	"ferrum_mem/core/device"
)

// Resolve parses a device id. If the backend's driver knows names of devices, a name
// may follow the colon: "cuda:GPU-00112233-…", or "cuda:0000:65:00.0". It returns
// CodeDeviceNotFound for a name without a device.
func (r *Registry) Resolve(text string) (device.ID, error) {
	id, err := device.ParseID(text)
	if err == nil {
		return id, nil
	}
	backend, name, found := strings.Cut(text, ":")
	finder, knows := r.driver(backend).(device.Finder)
	if !found || !knows || !strings.ContainsAny(name, "-:") || strings.HasPrefix(name, "-") {
		return device.ID{}, err
	}
	index, err := finder.Find(name)
	if err != nil {
		return device.ID{}, err
	}
	return device.ID{Backend: backend, Index: index}, nil
}

// OpenContext opens a device on a context of the program in the vendor's runtime.
// Errors: those of Open; CodeUnsupported for a backend without contexts.
func (r *Registry) OpenContext(id device.ID, native uint64) (device.Device, error) {
	driver := r.driver(id.Backend)
	opener, can := driver.(device.ContextOpener)
	if !can && driver != nil {
		return nil, device.Errorf(device.CodeUnsupported, "discover.open_context",
			"device %v: its backend has no contexts", id).On(id)
	}
	if driver == nil {
		return r.Open(id)
	}
	if err := driver.Probe(); err != nil {
		return nil, err
	}
	return opener.OpenContext(id.Index, native)
}
