package host

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/mapping"
	"ferrum_mem/drivers/host/virtual"
)

// Backend is the name of the backend in device ids such as "cpu:0".
const Backend = "cpu"

// Driver is the host backend. It is safe for concurrent use and needs no close.
type Driver struct {
	settings    settings
	system      *system
	mapper      mapping.Calls
	granularity uint64
	// start is the zero point of the clock for event times.
	start time.Time
	// virtual is the state that the virtual memory of all devices shares.
	virtual *virtual.System

	// The following fields describe the machine. look fills them, so that a program that
	// only starts the library does not wait for a dozen files of the kernel.
	looked sync.Once
	known  atomic.Bool
	name   string
	// memories is known from the start if the settings contain a capacity.
	memories []*memory
	// unusable states why there is no device, or is nil.
	unusable error
}

var _ device.Driver = (*Driver)(nil)

// New creates the backend. For invalid settings of c or the environment it returns
// CodeInvalidConfig, with the field or variable and its value in the message. The machine
// is examined when devices are first requested. If the machine does not report its memory
// and no size is configured, New succeeds and Probe reports the error.
func New(c Config) (*Driver, error) {
	getenv := c.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	return newDriver(c, getenv, newSystem("/"), mapping.System())
}

func newDriver(c Config, getenv func(string) string, s *system, m mapping.Calls) (*Driver, error) {
	resolved, err := c.resolve(getenv)
	if err != nil {
		return nil, err
	}
	d := &Driver{settings: resolved, system: s, mapper: m, granularity: granularity(), start: time.Now()}
	d.virtual = virtual.NewSystem(m, d.granularity)
	if resolved.memoryBytes == 0 {
		return d, nil
	}
	if err := resolved.checkAgainst(s.memTotal()); err != nil {
		return nil, err
	}
	if err := d.divide(resolved.memoryBytes); err != nil {
		return nil, err
	}
	return d, nil
}

// divide gives each device its part of the capacity.
func (d *Driver) divide(capacity uint64) error {
	share := capacity / uint64(d.settings.devices)
	share -= share % d.granularity
	if share == 0 {
		return device.Errorf(device.CodeInvalidConfig, "host.new",
			"%s for %s: each needs at least %v", d.settings.capacityText(capacity), device.Count(d.settings.devices, "device"), device.Size(d.granularity))
	}
	for range d.settings.devices {
		d.memories = append(d.memories, &memory{capacity: share})
	}
	return nil
}

// look reads the properties of the machine once. If the process has no free file
// descriptor, look returns CodeResourceExhausted and the next call tries again, because an
// unreadable file would count as missing from then on.
func (d *Driver) look() error {
	if err := d.mayLook(); err != nil {
		return device.Errorf(device.CodeResourceExhausted, "host.probe",
			"the system did not open a file to read the available memory: %w", err).WithNative(int64(mapping.Errno(err)))
	}
	d.looked.Do(func() {
		defer d.known.Store(true)
		d.name = d.system.processorName()
		d.virtual.Learn(d.system.maxMapCount(), d.system.overcommitPolicy() == policyStrict)
		if d.settings.memoryBytes != 0 {
			return
		}
		if usable := d.system.usable(); usable != 0 {
			d.unusable = d.divide(usable)
			return
		}
		d.unusable = device.Errorf(device.CodeBackendUnavailable, "host.probe",
			"the memory of this machine cannot be read from /proc/meminfo; set %s", EnvMemory)
	})
	return d.unusable
}

func (d *Driver) mayLook() error {
	if d.known.Load() {
		return nil
	}
	return d.system.mayRead()
}

// Backend returns "cpu".
func (d *Driver) Backend() string { return Backend }

// Probe returns an error if the size of the memory is neither configured nor readable, or
// is too small for the devices.
func (d *Driver) Probe() error { return d.look() }

// Devices describes every device, in the order of their ordinals.
func (d *Driver) Devices() ([]device.Info, error) {
	if err := d.look(); err != nil {
		return nil, err
	}
	infos := make([]device.Info, len(d.memories))
	for i := range infos {
		infos[i] = d.info(i)
	}
	return infos, nil
}

func (d *Driver) info(index int) device.Info {
	return device.Info{
		ID:               device.ID{Backend: Backend, Index: index},
		Name:             d.name,
		TotalBytes:       d.memories[index].capacity,
		GranularityBytes: d.granularity,
		AlignmentBytes:   d.granularity,
		HostAddressable:  true,
		Peer:             true,
		HostVisible:      true,
		VirtualMemory:    d.mapper.Virtual != nil,
		PinnedHost:       true,
		Linker:           true,
		Exporter:         d.mapper.Virtual != nil,
	}
}

// Open opens a device. All opens of one device share its capacity.
func (d *Driver) Open(index int) (device.Device, error) {
	if err := d.look(); err != nil {
		return nil, err
	}
	if index < 0 || index >= len(d.memories) {
		return nil, device.Errorf(device.CodeDeviceNotFound, "host.open",
			"device %s:%d: this process has %s", Backend, index, device.Count(len(d.memories), "host device"))
	}
	return newOpenDevice(d, index), nil
}
