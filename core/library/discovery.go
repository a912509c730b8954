package library

import (
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/core/discover"
)

// HostInfo describes this machine.
type HostInfo struct {
	// Processor is the model of the processor, or "Unknown CPU".
	Processor string
	// TotalBytes is the memory that this process may use; 0 means unknown.
	TotalBytes uint64
	// AvailableBytes is the memory that this process could still use, if
	// AvailableKnown.
	AvailableBytes uint64
	AvailableKnown bool
}

// HostGetInfo returns the description of this machine. It also works when the library
// is not started.
func (l *Library) HostGetInfo() HostInfo {
	if l.options.Host == nil {
		return HostInfo{Processor: "Unknown CPU"}
	}
	return l.options.Host()
}

// BackendsRefresh queries all backends again.
func (l *Library) BackendsRefresh() error {
	r, err := l.started("library.backends_refresh")
	if err != nil {
		return err
	}
	r.backends.Refresh()
	return nil
}

// BackendsSummary describes all backends for people.
func (l *Library) BackendsSummary() ([]byte, error) {
	r, err := l.started("library.backends_summary")
	if err != nil {
		return nil, err
	}
	return []byte(r.backends.Discover().Summary()), nil
}

// BackendBest returns the backend that the automatic choice tries first.
func (l *Library) BackendBest() (discover.BackendType, error) {
	r, err := l.started("library.best_backend")
	if err != nil {
		return discover.BackendAuto, err
	}
	return r.backends.Discover().Best(), nil
}

// DeviceCanFit reports whether that many bytes fit into a device, according to what is
// known without opening it. They must fit into the free memory or, if that is not
// known, into 80 % of the capacity.
func (l *Library) DeviceCanFit(id string, bytes uint64) (bool, error) {
	r, err := l.started("library.device_can_fit")
	if err != nil {
		return false, err
	}
	parsed, err := device.ParseID(id)
	if err != nil {
		return false, err
	}
	found, err := r.backends.Current().Device(parsed)
	if err != nil {
		return false, err
	}
	return found.CanFit(bytes), nil
}

// BackendSelect finds the first device, in the order of preference, that fits that many
// bytes. It opens no device. If there is none, the error lists what was tried.
func (l *Library) BackendSelect(preference discover.BackendType, bytes uint64) (discover.Choice, error) {
	r, err := l.started("library.select_backend")
	if err != nil {
		return discover.Choice{}, err
	}
	return r.backends.Current().Select(preference, bytes)
}

// BackendOpen opens the first device, in the order of preference, that fits that many
// bytes. The bytes must fit by what is known before the open, and by what the open
// device reports. The handle needs one DeviceClose. If no device fits, the error lists
// what was tried, and no device stays open.
func (l *Library) BackendOpen(preference discover.BackendType, bytes uint64) (uint64, discover.Choice, error) {
	r, err := l.started("library.open_backend")
	if err != nil {
		return 0, discover.Choice{}, err
	}
	var handle uint64
	choice, err := r.backends.Current().SelectAndTake(preference, bytes, func(c discover.Candidate) error {
		var err error
		handle, err = l.openWithRoom(c.Device.ID, bytes)
		return err
	})
	return handle, choice, err
}

// openWithRoom opens a device that has that many bytes free.
func (l *Library) openWithRoom(id device.ID, bytes uint64) (uint64, error) {
	handle, err := l.DeviceOpen(id.String())
	if err != nil {
		return 0, err
	}
	d, err := l.Device("library.open_backend", handle)
	if err != nil {
		return 0, err
	}
	info, err := d.MemoryInfo()
	if err == nil && info.FreeBytes < bytes {
		err = device.Errorf(device.CodeOutOfMemory, "library.open_backend",
			"needs %v, has %v free after it was opened", device.Size(bytes), device.Size(info.FreeBytes)).On(id)
	}
	if err == nil {
		return handle, nil
	}
	if closeErr := d.Close(false); closeErr != nil {
		return 0, fmt.Errorf("%w; closing it: %w", err, closeErr)
	}
	return 0, err
}
