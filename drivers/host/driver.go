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

// Driver is the host backend. It is safe for concurrent use and holds nothing
// that would have to be closed.
type Driver struct {
	settings    settings
	system      *system
	mapper      mapping.Calls
	granularity uint64
	// start is the origin of the clock that events are timed on.
	start time.Time
	// virtual is what the virtual memory of all devices shares.
	virtual *virtual.System

	// What follows is the machine's, and known once look has looked: a program that
	// only starts the library does not wait for a dozen files of the kernel's.
	looked sync.Once
	known  atomic.Bool
	name   string
	// memories is known from the start where the settings give a capacity.
	memories []*memory
	// unusable says why there is no device, or is nil.
	unusable error
}

var _ device.Driver = (*Driver)(nil)

// New sets up the backend. Settings of c or the environment that cannot be are
// CodeInvalidConfig, with the field or variable and its value in the message. The
// machine is looked at when devices are first asked for: one that does not say how
// much memory it has, with no size given, is no error here, and Probe reports it.
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
			"%s for %d devices: each needs at least %d bytes", d.settings.capacityText(capacity), d.settings.devices, d.granularity)
	}
	for range d.settings.devices {
		d.memories = append(d.memories, &memory{capacity: share})
	}
	return nil
}

// look reads what has to be known of the machine, once. While the process has no
// descriptor to read it with that is CodeResourceExhausted, and the next call looks: what
// cannot be read then would not be known for good.
func (d *Driver) look() error {
	if err := d.mayLook(); err != nil {
		return device.Errorf(device.CodeResourceExhausted, "host.probe",
			"the system refused a descriptor to read what memory there is: %w", err).WithNative(int64(mapping.Errno(err)))
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

// Backend is "cpu".
func (d *Driver) Backend() string { return Backend }

// Probe is nil unless the size of the memory is neither given nor to be found, or is
// too little for the devices.
func (d *Driver) Probe() error { return d.look() }

// Devices describes every device, in order of ordinal.
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

// Open makes a device usable. Opens of one device share its capacity.
func (d *Driver) Open(index int) (device.Device, error) {
	if err := d.look(); err != nil {
		return nil, err
	}
	if index < 0 || index >= len(d.memories) {
		return nil, device.Errorf(device.CodeDeviceNotFound, "host.open",
			"device %s:%d: there are %d host devices", Backend, index, len(d.memories))
	}
	return newOpenDevice(d, index), nil
}
