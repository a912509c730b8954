package cudaprobe

import (
	"fmt"
	"os"
	"runtime"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// Backend is the name of the backend in device ids such as "cuda:0".
const Backend = "cuda"

// MinimumVersion is the first version of the interface with both virtual memory and
// stream-ordered allocation: 11.2.
const MinimumVersion = 11020

// Values of CUresult and CUdevice_attribute.
const (
	errorNoDevice = 100

	attributeIntegrated   = 18
	attributeComputeMajor = 75
	attributeComputeMinor = 76
)

// Prober queries the CUDA driver.
type Prober struct{}

// EnvLibrary is the environment variable with the path of the vendor driver's library.
const EnvLibrary = "FERRUM_CUDA_LIBRARY"

// Backend returns "cuda".
func (Prober) Backend() string { return Backend }

// Unsupported states, without loading a library, whether this system has no CUDA.
func (Prober) Unsupported() (device.Survey, bool) {
	return device.Absent(device.AbsenceSystem, 0, "CUDA is not supported on "+runtime.GOOS), Names() == nil
}

// Names returns the names by which the vendor driver's library is searched on this system.
// If FERRUM_CUDA_LIBRARY is set, this is only its path.
func Names() []string {
	if path := dl.PathIn(EnvLibrary); path != "" {
		return []string{path}
	}
	_, err := os.Stat(windowsDevice)
	return namesOn(runtime.GOOS, err == nil)
}

// windowsDevice exists in a Linux that runs on Windows. There the vendor driver's library
// for Linux programs is at wslLibrary.
const (
	windowsDevice = "/dev/dxg"
	wslLibrary    = "/usr/lib/wsl/lib/libcuda.so.1"
)

// namesOn is Names without the variable. On Windows the library of a Linux driver, which
// the distribution may have installed, finds no device, so wslLibrary comes first there.
func namesOn(system string, onWindows bool) []string {
	switch {
	case system == "linux" && onWindows:
		return []string{wslLibrary, "libcuda.so.1", "libcuda.so"}
	case system == "linux":
		return []string{"libcuda.so.1", "libcuda.so", wslLibrary}
	case system == "windows":
		return []string{"nvcuda.dll"}
	}
	return nil
}

// driver holds the functions that a probe calls.
type driver struct {
	library *dl.Library

	initialize, driverVersion, deviceCount, deviceGet, deviceName, deviceTotal, deviceAttribute uintptr
	contextRetain, contextRelease, contextPush, contextPop, memoryInfo                          uintptr
	// errorName is optional. For deviceUUID the newer function is preferred, because it
	// distinguishes MIG instances.
	errorName  uintptr
	deviceUUID uintptr
	meters     *meters
}

func open() (*driver, error) {
	library, err := dl.Open(Names()...)
	if err != nil {
		return nil, err
	}
	d := &driver{library: library}
	err = library.Require(map[string]*uintptr{
		"cuInit": &d.initialize, "cuDriverGetVersion": &d.driverVersion, "cuDeviceGetCount": &d.deviceCount,
		"cuDeviceGet": &d.deviceGet, "cuDeviceGetName": &d.deviceName, "cuDeviceTotalMem_v2": &d.deviceTotal,
		"cuDeviceGetAttribute":     &d.deviceAttribute,
		"cuDevicePrimaryCtxRetain": &d.contextRetain, "cuDevicePrimaryCtxRelease_v2": &d.contextRelease,
		"cuCtxPushCurrent_v2": &d.contextPush, "cuCtxPopCurrent_v2": &d.contextPop, "cuMemGetInfo_v2": &d.memoryInfo,
	})
	if err != nil {
		return nil, err
	}
	d.errorName, _ = library.Symbol("cuGetErrorName")
	var found bool
	if d.deviceUUID, found = library.Symbol("cuDeviceGetUuid_v2"); !found {
		d.deviceUUID, _ = library.Symbol("cuDeviceGetUuid")
	}
	return d, nil
}

// Survey loads the vendor driver's library and queries it. Free memory comes from NVML,
// which needs no context. If NVML does not report it, the memory is read in a context. That
// value is lower by the size of the context. It is the memory that a process can use after
// it has opened a context. The value is unknown if no context can be created, for example
// on a device that another process uses exclusively.
func (p Prober) Survey() device.Survey {
	if absent, is := p.Unsupported(); is {
		return absent
	}
	d, err := open()
	if err != nil {
		return err.(*dl.Failure).Survey()
	}
	// The current context belongs to the thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d.meters = openMeters()
	defer d.meters.close()
	found := d.survey()
	found.Library = d.library.Name
	return found
}

func (d *driver) survey() device.Survey {
	// The version is queried first, because an old driver may fail to initialize for that
	// reason.
	var version int32
	if code := dl.Call(d.driverVersion, dl.Pointer(&version)); code != 0 {
		return d.failed("cuDriverGetVersion", code)
	}
	text := fmt.Sprintf("%d.%d", version/1000, version%1000/10)
	if version < MinimumVersion {
		old := device.Absent(device.AbsenceTooOld, int64(version), fmt.Sprintf(
			"%s has interface %s, and %d.%d is needed", d.library.Name, text, MinimumVersion/1000, MinimumVersion%1000/10))
		old.Version = text
		return old
	}
	found := d.devices()
	found.Version = text
	return found
}

func (d *driver) devices() device.Survey {
	if code := dl.Call(d.initialize, 0); code == errorNoDevice {
		return device.Absent(device.AbsenceNoDevice, int64(code), "no device: cuInit gave "+d.nameOf(code))
	} else if code != 0 {
		return d.failed("cuInit", code)
	}
	var count int32
	if code := dl.Call(d.deviceCount, dl.Pointer(&count)); code != 0 {
		return d.failed("cuDeviceGetCount", code)
	}
	if count <= 0 {
		return device.Absent(device.AbsenceNoDevice, 0, fmt.Sprintf("no device: cuDeviceGetCount counts %d", count))
	}
	var found device.Survey
	for index := range count {
		one, broken := d.describe(index)
		if broken != nil {
			return *broken
		}
		found.Devices = append(found.Devices, one)
	}
	return found
}

func (d *driver) describe(index int32) (device.Surveyed, *device.Survey) {
	var handle int32
	var name [256]byte
	var total uint64
	for _, step := range []struct {
		name string
		call func() int32
	}{
		{"cuDeviceGet", func() int32 { return dl.Call(d.deviceGet, dl.Pointer(&handle), uintptr(index)) }},
		{"cuDeviceGetName", func() int32 {
			return dl.Call(d.deviceName, dl.Pointer(&name), uintptr(len(name)), uintptr(handle))
		}},
		{"cuDeviceTotalMem_v2", func() int32 { return dl.Call(d.deviceTotal, dl.Pointer(&total), uintptr(handle)) }},
	} {
		if code := step.call(); code != 0 {
			failed := d.failed(fmt.Sprintf("%s of device %d", step.name, index), code)
			return device.Surveyed{}, &failed
		}
	}
	one := device.Surveyed{Index: int(index), Name: dl.Text(name[:]), TotalBytes: total, AlignmentBytes: 256}
	major, known := d.attribute(handle, attributeComputeMajor)
	minor, alsoKnown := d.attribute(handle, attributeComputeMinor)
	if known && alsoKnown {
		one.ComputeCapability = fmt.Sprintf("%d.%d", major, minor)
	}
	integrated, known := d.attribute(handle, attributeIntegrated)
	one.UnifiedMemory = known && integrated != 0
	if meter := d.meterOf(handle); meter != 0 {
		one.FreeBytes, one.FreeKnown = d.meters.free(meter, total)
		one.Processes = d.meters.processes(meter)
	}
	if !one.FreeKnown {
		one.FreeBytes, one.FreeKnown = d.free(handle, total)
	}
	return one, nil
}

func (d *driver) attribute(handle, which int32) (int32, bool) {
	var value int32
	code := dl.Call(d.deviceAttribute, dl.Pointer(&value), uintptr(which), uintptr(handle))
	return value, code == 0
}

// meterOf returns NVML's handle of a device. 0: NVML has no handle for it.
func (d *driver) meterOf(handle int32) uintptr {
	var uuid [16]byte
	if d.meters == nil || d.deviceUUID == 0 || dl.Call(d.deviceUUID, dl.Pointer(&uuid), uintptr(handle)) != 0 {
		return 0
	}
	return d.meters.find(uuid)
}

// free reads the free memory in the device's primary context.
func (d *driver) free(handle int32, total uint64) (uint64, bool) {
	var context uintptr
	if dl.Call(d.contextRetain, dl.Pointer(&context), uintptr(handle)) != 0 {
		return 0, false
	}
	defer dl.Call(d.contextRelease, uintptr(handle))
	if dl.Call(d.contextPush, context) != 0 {
		return 0, false
	}
	defer func() {
		var former uintptr
		dl.Call(d.contextPop, dl.Pointer(&former))
		runtime.KeepAlive(&former)
	}()
	var free, all uint64
	code := dl.Call(d.memoryInfo, dl.Pointer(&free), dl.Pointer(&all))
	// A value above the capacity is not valid.
	if code != 0 || free > max(total, all) {
		return 0, false
	}
	return free, true
}

func (d *driver) failed(call string, code int32) device.Survey {
	return device.Absent(device.AbsenceDriverError, int64(code), fmt.Sprintf("%s failed: %s", call, d.nameOf(code)))
}

// nameOf returns the vendor driver's name of a number, if it has one.
func (d *driver) nameOf(code int32) string {
	if d.errorName != 0 {
		if name, ok := dl.CallText(d.errorName, uintptr(code)); ok {
			return fmt.Sprintf("%s (%d)", name, code)
		}
	}
	return fmt.Sprintf("error %d", code)
}
