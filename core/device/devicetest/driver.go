package devicetest

import (
	"sync"

	"ferrum_mem/core/device"
)

// Config describes the devices of a test driver.
type Config struct {
	// Backend is the backend's name; "" is "test".
	Backend string
	// Devices is how many there are; 0 is 1.
	Devices int
	// TotalBytes is the capacity of each; 0 reads as unknown and has no bound.
	TotalBytes uint64
	// GranularityBytes and AlignmentBytes are 4096 when 0.
	GranularityBytes uint64
	AlignmentBytes   uint64
	// Backed gives segments real bytes, so that copies and fills can be looked
	// at with Device.Bytes, and makes the devices host-visible.
	Backed bool
	// NoVirtualMemory takes the capability of virtual memory away.
	NoVirtualMemory bool
	// PageMinimumBytes and PageRecommendedBytes are the granularity of virtual
	// memory; when 0 they are 64 KiB and 2 MiB.
	PageMinimumBytes     uint64
	PageRecommendedBytes uint64
	// VirtualBytes bounds the address space that can be reserved; 0 is 128 TiB.
	VirtualBytes uint64
	// PinnedBytes bounds page-locked memory of each device; 0: it has none.
	PinnedBytes uint64
	// Kinds gives the devices managed memory, memory of the process that is page-locked
	// later, and a pool of their runtime.
	Kinds bool
	// NoLinks takes away the capabilities of addressing memory and streams of others
	// and of bringing memory near.
	NoLinks bool
	// Capture gives the streams the capability of recording their work in graphs.
	Capture bool
	// Manual makes new streams, the default one included, hold their work.
	Manual bool
}

// Driver is a backend of test devices.
type Driver struct {
	config Config

	mu sync.Mutex
	// progress is signalled whenever queued work has been done.
	progress *sync.Cond
	probeErr error
	devices  []*Device
	// streams is every open stream of every device: one that advances may let
	// another go on.
	streams []*Stream
	// captures counts those that began.
	captures uint64
}

// New makes a driver.
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

// Open makes a driver with the config and opens its device 0.
func Open(config Config) *Device {
	return New(config).open(0)
}

// SetProbe sets what Probe answers.
func (d *Driver) SetProbe(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.probeErr = err
}

// Backend is the name of the backend.
func (d *Driver) Backend() string { return d.config.Backend }

// Probe answers what SetProbe said.
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

// Open makes a new device of that number; the result is a *Device.
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
