package cuda

import (
	"fmt"
	"slices"
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/cuda/cudaprobe"
	"ferrum_mem/drivers/internal/gpu/hostpages"
	"ferrum_mem/internal/dl"
)

// Backend is the name of the backend in device ids such as "cuda:0".
const Backend = cudaprobe.Backend

// EnvLibrary is the environment variable with the path of the vendor driver's library.
const EnvLibrary = cudaprobe.EnvLibrary

// Config sets up the driver.
type Config struct {
	// Library is the path of the vendor driver's library. "": the path in
	// FERRUM_CUDA_LIBRARY or, if that is not set, the usual names on this system.
	Library string
}

// Driver is the CUDA backend. It is safe for concurrent use. It loads the vendor driver's
// library on first use, keeps the result, and never unloads it.
type Driver struct {
	config Config

	once    sync.Once
	failed  error
	library string
	version int32
	api     *api
	// lacking lists the functions that the library does not have, by group.
	lacking map[dl.Group][]string
	devices []found

	capturable capturable
	// pages are the ordinary memory that is page-locked.
	pages hostpages.Mapper
}

// found is a device as the vendor driver describes it.
type found struct {
	handle int32
	info   device.Info
	// uuid and pci identify the device whatever the order of the devices is.
	uuid [16]byte
	pci  string
	// instance states whether the device is an instance of a divided device (MIG), as far
	// as the vendor driver shows it. An instance has its own UUID.
	instance bool
	// ordered states whether memory can be allocated and freed in the order of a stream.
	ordered bool
}

var (
	_ device.Driver       = (*Driver)(nil)
	_ device.MemoryReader = (*Driver)(nil)
)

// New creates the backend. It neither loads the library nor searches for devices.
func New(c Config) *Driver {
	return &Driver{config: c, pages: hostpages.Mapper{System: hostpages.System()}}
}

// Backend returns "cuda".
func (d *Driver) Backend() string { return Backend }

// Probe loads the library, and states why it or its devices cannot be used.
func (d *Driver) Probe() error {
	d.once.Do(func() { d.failed = d.load() })
	return d.failed
}

func unavailable(format string, args ...any) *device.Error {
	return device.Errorf(device.CodeBackendUnavailable, "cuda.probe", format, args...)
}

func (d *Driver) load() error {
	names := []string{d.config.Library}
	if d.config.Library == "" {
		names = cudaprobe.Names()
	}
	if len(names) == 0 {
		return unavailable("CUDA is not supported on this system")
	}
	library, err := dl.Open(names...)
	if err != nil {
		return unavailable("%w", err)
	}
	d.library, d.api = library.Name, new(api)
	if d.lacking, err = library.Load(d.api.table()); err != nil {
		return unavailable("%w", err)
	}
	for _, forms := range [][]dl.Group{{groupUUID, groupUUID2}, {groupTimes, groupTimes2}} {
		if !d.has(forms...) {
			return unavailable("%s lacks %v", d.library, d.lacking[forms[0]])
		}
	}
	// The version is queried first, because an old driver may fail to initialize for that
	// reason.
	if number := d.api.driverVersion.Call(dl.Pointer(&d.version)); number != 0 {
		return d.refused(&d.api.driverVersion, number)
	}
	if d.version < cudaprobe.MinimumVersion {
		return unavailable("%s has interface %s, and %s is needed", d.library, versionText(d.version),
			versionText(cudaprobe.MinimumVersion)).WithNative(int64(d.version))
	}
	if number := d.api.initialize.Call(0); number != 0 {
		return d.refused(&d.api.initialize, number)
	}
	return d.find()
}

// firstWithFabric is the first version of the interface that has fabric handles.
const firstWithFabric = 12030

func versionText(version int32) string { return fmt.Sprintf("%d.%d", version/1000, version%1000/10) }

// refused returns the error of a call before a device exists, which means that the backend
// is not available.
func (d *Driver) refused(call *dl.Function, number int32) error {
	err := d.api.refused("cuda.probe", call, number)
	err.Code = device.CodeBackendUnavailable
	return err
}

func (d *Driver) find() error {
	var count int32
	if number := d.api.deviceCount.Call(dl.Pointer(&count)); number != 0 {
		return d.refused(&d.api.deviceCount, number)
	}
	if count <= 0 {
		return unavailable("no device: cuDeviceGetCount counts %d", count)
	}
	for index := range count {
		one, err := d.describe(index)
		if err != nil {
			return err
		}
		d.devices = append(d.devices, one)
	}
	return nil
}

// Addresses from cuMemAlloc are multiples of the first value, as the vendor driver
// promises. Sizes are multiples of the second, so that segments are whole pages of the
// vendor driver.
const (
	alignmentBytes   = 256
	granularityBytes = 64 << 10
)

func (d *Driver) describe(index int32) (found, error) {
	var name [256]byte
	var pci [32]byte
	var total uint64
	var one found
	uuid := either(&d.api.deviceUUID2, &d.api.deviceUUID)
	if number := d.api.deviceGet.Call(dl.Pointer(&one.handle), uintptr(index)); number != 0 {
		return one, d.refused(&d.api.deviceGet, number)
	}
	handle := uintptr(one.handle)
	for _, step := range []struct {
		call      *dl.Function
		arguments []uintptr
	}{
		{&d.api.deviceName, []uintptr{dl.Pointer(&name), uintptr(len(name)), handle}},
		{&d.api.deviceTotal, []uintptr{dl.Pointer(&total), handle}},
		{&d.api.devicePCI, []uintptr{dl.Pointer(&pci), uintptr(len(pci)), handle}},
		{uuid, []uintptr{dl.Pointer(&one.uuid), handle}},
	} {
		if number := step.call.Call(step.arguments...); number != 0 {
			return one, d.refused(step.call, number)
		}
	}
	one.pci = dl.Text(pci[:])
	// The older form of the call returns the UUID of the whole device.
	var whole [16]byte
	one.instance = uuid != &d.api.deviceUUID && d.api.deviceUUID.Found() &&
		d.api.deviceUUID.Call(dl.Pointer(&whole), handle) == 0 && whole != one.uuid
	one.ordered = len(d.lacking[groupOrdered]) == 0 && d.attribute(one.handle, attributeOrdered) != 0
	one.info = device.Info{
		ID: device.ID{Backend: Backend, Index: int(index)}, Name: dl.Text(name[:]), TotalBytes: total,
		GranularityBytes: granularityBytes, AlignmentBytes: alignmentBytes,
		HostVisible:   true,
		Compiler:      len(d.lacking[groupKernels]) == 0,
		Peer:          len(d.lacking[groupPeer]) == 0,
		VirtualMemory: len(d.lacking[groupVirtual]) == 0 && d.attribute(one.handle, attributeVirtual) != 0,
		Capture:       len(d.lacking[groupCapture]) == 0 && d.has(groupCaptureInfo, groupCaptureInfo3),
		PinnedHost:    len(d.lacking[groupPinned]) == 0 && d.attribute(one.handle, attributeMapHost) != 0,
	}
	one.info.Managed = d.hasManaged(one.handle)
	one.info.Registrar = one.info.PinnedHost && len(d.lacking[groupRegistered]) == 0 && d.attribute(one.handle, attributeRegister) != 0
	one.info.StreamOrdered = one.ordered && len(d.lacking[groupPools]) == 0
	one.info.Linker = one.info.PinnedHost || one.info.Peer && len(d.lacking[groupPeerAccess]) == 0
	one.info.Exporter = shareDescriptors && one.info.VirtualMemory && len(d.lacking[groupShareable]) == 0 &&
		d.attribute(one.handle, attributeDescriptor) != 0
	one.info.RDMAPages = one.info.VirtualMemory && d.attribute(one.handle, attributeRDMA) != 0
	one.info.FabricExporter = d.version >= firstWithFabric && one.info.VirtualMemory && len(d.lacking[groupShareable]) == 0 &&
		d.attribute(one.handle, attributeFabric) != 0
	one.info.ProcessSharer = dl.HasStructs && len(d.lacking[groupIPC]) == 0 &&
		d.attribute(one.handle, attributeUnified) != 0
	return one, nil
}

// has states whether the library has at least one of the groups completely.
func (d *Driver) has(groups ...dl.Group) bool {
	return slices.ContainsFunc(groups, func(group dl.Group) bool { return len(d.lacking[group]) == 0 })
}

// attribute returns 0 if the vendor driver does not know the attribute.
func (d *Driver) attribute(handle, which int32) int32 {
	var value int32
	if d.api.deviceAttribute.Call(dl.Pointer(&value), uintptr(which), uintptr(handle)) != 0 {
		return 0
	}
	return value
}

// Devices describes every device that the vendor driver shows to this process.
func (d *Driver) Devices() ([]device.Info, error) {
	if err := d.Probe(); err != nil {
		return nil, err
	}
	infos := make([]device.Info, len(d.devices))
	for i := range infos {
		infos[i] = d.devices[i].info
	}
	return infos, nil
}

// at returns the device with this index.
func (d *Driver) at(op string, index int) (*found, error) {
	if err := d.Probe(); err != nil {
		return nil, err
	}
	if index < 0 || index >= len(d.devices) {
		return nil, device.Errorf(device.CodeDeviceNotFound, op,
			"device %s:%d: there are %d CUDA devices", Backend, index, len(d.devices))
	}
	return &d.devices[index], nil
}

// Open retains the device's primary context, which it shares with all CUDA code in the
// process. Each call returns a new Device.
func (d *Driver) Open(index int) (device.Device, error) {
	one, err := d.at("cuda.open", index)
	if err != nil {
		return nil, err
	}
	o, err := newOpenDevice(d, one, 0)
	if err != nil {
		return nil, err
	}
	return o, nil
}

// hasManaged states whether host and device may use managed memory at the same time. If
// they may not, an access by the host while any work runs ends the process, so such devices
// get no managed memory here.
func (d *Driver) hasManaged(handle int32) bool {
	return len(d.lacking[groupManaged]) == 0 && d.has(groupAdvice, groupLocations) &&
		d.attribute(handle, attributeManaged) != 0 && d.attribute(handle, attributeConcurrent) != 0
}

// capturable holds the streams of all devices of a driver that may capture. The handle of a
// stream stays valid while the stream is in the list.
type capturable struct {
	mu      sync.RWMutex
	streams map[*stream]struct{}
}
