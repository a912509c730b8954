package discover

import (
	"strings"

	"ferrum_mem/core/device"
)

// Backend is what was found of one backend.
type Backend struct {
	Name      string
	Available bool
	// Err says why it is not available, else nil.
	Err error
	// Devices is empty unless it is available.
	Devices []device.Info
}

// Registry is the backends of this build. It is safe for concurrent use.
type Registry struct {
	drivers []device.Driver
}

// New makes a registry of the drivers, in their order. Of two drivers of one
// backend the first is used and the other left out.
func New(drivers ...device.Driver) *Registry {
	r := &Registry{}
	for _, driver := range drivers {
		if r.find(driver.Backend()) == nil {
			r.drivers = append(r.drivers, driver)
		}
	}
	return r
}

// Backends asks every driver for its devices. A backend that cannot be used is
// in the list with its reason.
func (r *Registry) Backends() []Backend {
	backends := make([]Backend, 0, len(r.drivers))
	for _, driver := range r.drivers {
		found := Backend{Name: driver.Backend()}
		found.Err = driver.Probe()
		if found.Err == nil {
			found.Devices, found.Err = driver.Devices()
		}
		if found.Err != nil {
			found.Devices = nil
		}
		found.Available = found.Err == nil
		backends = append(backends, found)
	}
	return backends
}

// Open opens a device; each call gives one of its own. A backend or a number
// that is not there is CodeDeviceNotFound; a backend that cannot be used here
// fails with its reason.
func (r *Registry) Open(id device.ID) (device.Device, error) {
	driver := r.find(id.Backend)
	if driver == nil {
		return nil, device.Errorf(device.CodeDeviceNotFound, "discover.open",
			"device id %q: this build has no backend %q, it has: %s", id.String(), id.Backend,
			strings.Join(r.names(), ", ")).On(id)
	}
	if err := driver.Probe(); err != nil {
		return nil, err
	}
	return driver.Open(id.Index)
}

func (r *Registry) find(backend string) device.Driver {
	for _, driver := range r.drivers {
		if driver.Backend() == backend {
			return driver
		}
	}
	return nil
}

func (r *Registry) names() []string {
	names := make([]string, 0, len(r.drivers))
	for _, driver := range r.drivers {
		names = append(names, driver.Backend())
	}
	if len(names) == 0 {
		return []string{"none"}
	}
	return names
}
