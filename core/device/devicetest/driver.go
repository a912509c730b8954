package devicetest

import (
	"sync"

	"ferrum_mem/core/device"
)

// New creates a driver.
func New(config Config) *Driver {
	if config.Backend == "" {
		config.Backend = "test"
	}
	config.Devices = max(config.Devices, 1)
	if config.GranularityBytes == 0 {
		config.GranularityBytes = 4096
	}
	if config.AlignmentBytes == 0 {
		config.AlignmentBytes = 4096
	}
	if config.PageMinimumBytes == 0 {
		config.PageMinimumBytes = 64 << 10
	}
	if config.PageRecommendedBytes == 0 {
		config.PageRecommendedBytes = max(2<<20, config.PageMinimumBytes)
	}
	if config.VirtualBytes == 0 {
		config.VirtualBytes = defaultVirtualBytes
	}
	d := &Driver{config: config}
	d.progress = sync.NewCond(&d.mu)
	return d
}

// Open creates a driver with the config and opens its device 0.
func Open(config Config) *Device {
	return New(config).open(0)
}

// SetProbe sets the result of Probe.
func (d *Driver) SetProbe(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.probeErr = err
}

// Backend returns the name of the backend.
func (d *Driver) Backend() string { return d.config.Backend }

// Probe returns the error set by SetProbe.
func (d *Driver) Probe() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.probeErr
}

// Devices describes the devices.
func (d *Driver) Devices() ([]device.Info, error) {
	if err := d.Probe(); err != nil {
		return nil, err
	}
	infos := make([]device.Info, 0, d.config.Devices)
	for index := range d.config.Devices {
		infos = append(infos, d.info(index))
	}
	return infos, nil
}

// Open opens a new device with that number; the result is a *Device.
func (d *Driver) Open(index int) (device.Device, error) {
	if index < 0 || index >= d.config.Devices {
		return nil, device.Errorf(device.CodeDeviceNotFound, "devicetest.open",
			"device %d: there are %d", index, d.config.Devices)
	}
	return d.open(index), nil
}

func (d *Driver) open(index int) *Device {
	dev := &Device{driver: d, info: d.info(index), segments: map[device.Addr]segment{},
		next: firstAddr, virtual: newVirtual()}
	dev.ContentKeeper = keeper{dev}
	d.mu.Lock()
	defer d.mu.Unlock()
	dev.defaultStream = dev.addStream()
	d.devices = append(d.devices, dev)
	return dev
}

func (d *Driver) info(index int) device.Info {
	return device.Info{
		ID: device.ID{Backend: d.config.Backend, Index: index}, Name: "test device",
		TotalBytes: d.config.TotalBytes, GranularityBytes: d.config.GranularityBytes,
		AlignmentBytes: d.config.AlignmentBytes, Peer: true, HostVisible: d.config.Backed,
		VirtualMemory: !d.config.NoVirtualMemory, PinnedHost: d.config.PinnedBytes != 0, Linker: !d.config.NoLinks,
		Managed: d.config.Kinds, Registrar: d.config.Kinds, StreamOrdered: d.config.Kinds,
		Capture: d.config.Capture,
	}
}
