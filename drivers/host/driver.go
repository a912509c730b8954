package host

import (
	"os"
	"time"

	"ferrum_mem/core/device"
)

// Backend is the name of the backend in device ids such as "cpu:0".
const Backend = "cpu"

// Driver is the host backend. It is safe for concurrent use and holds nothing
// that would have to be closed.
type Driver struct {
	settings    settings
	system      *system
	mapper      mapper
	granularity uint64
	name        string
	memories    []*memory
	// unusable says why there is no device, or is nil.
	unusable error
	// start is the origin of the clock that events are timed on.
	start    time.Time
	files    memoryFiles
	mappings mappings
	// strict says that the system promises no more memory than it has.
	strict bool
}

var _ device.Driver = (*Driver)(nil)

// New sets up the backend. Settings of c or the environment that cannot be are
// CodeInvalidConfig, with the field or variable and its value in the message. A
// machine that does not say how much memory it has, with no size given, is no
// error here: Probe reports it.
func New(c Config) (*Driver, error) {
	getenv := c.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	return newDriver(c, getenv, newSystem("/"), systemMapper())
}

func newDriver(c Config, getenv func(string) string, s *system, m mapper) (*Driver, error) {
	resolved, err := c.resolve(getenv)
	if err != nil {
		return nil, err
	}
	d := &Driver{
		settings: resolved, system: s, mapper: m, granularity: granularity(), name: s.processorName(),
		start: time.Now(), mappings: mappings{bound: s.maxMapCount()},
		strict: s.overcommitPolicy() == policyStrict,
	}
	capacity := resolved.memoryBytes
	if capacity == 0 {
		capacity = s.usable()
	}
	if capacity == 0 {
		d.unusable = device.Errorf(device.CodeBackendUnavailable, "host.probe",
			"the memory of this machine cannot be read from /proc/meminfo; set %s", EnvMemory)
		return d, nil
	}
	if err := resolved.checkAgainst(s.memTotal()); err != nil {
		return nil, err
	}
	share := capacity / uint64(resolved.devices)
	share -= share % d.granularity
	if share == 0 {
		return nil, device.Errorf(device.CodeInvalidConfig, "host.new",
			"%s for %d devices: each needs at least %d bytes", resolved.capacityText(capacity), resolved.devices, d.granularity)
	}
	for range resolved.devices {
		d.memories = append(d.memories, &memory{capacity: share})
	}
	return d, nil
}

// Backend is "cpu".
func (d *Driver) Backend() string { return Backend }

// Probe is nil unless the size of the memory is neither given nor to be found.
func (d *Driver) Probe() error { return d.unusable }

// Devices describes every device, in order of ordinal.
func (d *Driver) Devices() ([]device.Info, error) {
	if d.unusable != nil {
		return nil, d.unusable
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
		VirtualMemory:    d.mapper.virtual != nil,
		PinnedHost:       true,
		Linker:           true,
		Exporter:         d.mapper.virtual != nil,
	}
}

// Open makes a device usable. Opens of one device share its capacity.
func (d *Driver) Open(index int) (device.Device, error) {
	if d.unusable != nil {
		return nil, d.unusable
	}
	if index < 0 || index >= len(d.memories) {
		return nil, device.Errorf(device.CodeDeviceNotFound, "host.open",
			"device %s:%d: there are %d host devices", Backend, index, len(d.memories))
	}
	return newOpenDevice(d, index), nil
}
