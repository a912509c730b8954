package rocmprobe

import (
	"fmt"
	"runtime"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// Backend is the name of the backend in device ids such as "rocm:0".
const Backend = "rocm"

// minimumVersion is 5.2, the first version whose layouts this package knows.
const minimumVersion = 5_02_00000

// Values of hipError_t and hipDeviceAttribute_t.
const (
	errorNoDevice      = 100
	errorInvalidDevice = 101

	attributeIntegrated = 16
)

// Prober queries the HIP runtime.
type Prober struct{}

// Backend returns "rocm".
func (Prober) Backend() string { return Backend }

// Unsupported states, without loading a library, whether this system has no ROCm.
func (Prober) Unsupported() (device.Survey, bool) {
	return device.Absent(device.AbsenceSystem, 0, "ROCm is not supported on "+runtime.GOOS), Names() == nil
}

// Names returns the names by which the runtime's library is searched on this system, newest
// first.
func Names() []string {
	switch runtime.GOOS {
	case "linux":
		return []string{"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"}
	case "windows":
		return []string{"amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll"}
	}
	return nil
}

type hip struct {
	library *dl.Library

	initialize, runtimeVersion, deviceCount, deviceName, deviceTotal, deviceAttribute uintptr
	computeCapability, setDevice, memoryInfo                                          uintptr
}

func open() (*hip, error) {
	library, err := dl.Open(Names()...)
	if err != nil {
		return nil, err
	}
	h := &hip{library: library}
	return h, library.Require(map[string]*uintptr{
		"hipInit": &h.initialize, "hipRuntimeGetVersion": &h.runtimeVersion, "hipGetDeviceCount": &h.deviceCount,
		"hipDeviceGetName": &h.deviceName, "hipDeviceTotalMem": &h.deviceTotal,
		"hipDeviceGetAttribute": &h.deviceAttribute, "hipDeviceComputeCapability": &h.computeCapability,
		"hipSetDevice": &h.setDevice, "hipMemGetInfo": &h.memoryInfo,
	})
}

// Survey loads the runtime's library and queries it. Free memory is unknown if the device
// cannot be made the current device.
func (p Prober) Survey() device.Survey {
	if absent, is := p.Unsupported(); is {
		return absent
	}
	h, err := open()
	if err != nil {
		return err.(*dl.Failure).Survey()
	}
	// The current device belongs to the thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	found := h.survey()
	found.Library = h.library.Name
	return found
}

func (h *hip) survey() device.Survey {
	// Without a device the runtime does not initialize, and then does not report its
	// version either.
	if code := dl.Call(h.initialize, 0); code == errorNoDevice || code == errorInvalidDevice {
		return device.Absent(device.AbsenceNoDevice, int64(code), fmt.Sprintf("no device: hipInit gave error %d", code))
	} else if code != 0 {
		return failed("hipInit", code)
	}
	var version int32
	if code := dl.Call(h.runtimeVersion, dl.Pointer(&version)); code != 0 {
		return failed("hipRuntimeGetVersion", code)
	}
	var found device.Survey
	text := versionText(version)
	if version < minimumVersion {
		found = device.Absent(device.AbsenceTooOld, int64(version), fmt.Sprintf(
			"%s has interface %s, and %s is needed", h.library.Name, text, versionText(minimumVersion)))
	} else {
		found = h.devices()
	}
	found.Version = text
	return found
}

func versionText(version int32) string {
	return fmt.Sprintf("%d.%d", version/1_00_00000, version%1_00_00000/1_00000)
}

func (h *hip) devices() device.Survey {
	var count int32
	if code := dl.Call(h.deviceCount, dl.Pointer(&count)); code == errorNoDevice || code == 0 && count <= 0 {
		return device.Absent(device.AbsenceNoDevice, int64(code),
			fmt.Sprintf("no device: hipGetDeviceCount gave %d devices, error %d", count, code))
	} else if code != 0 {
		return failed("hipGetDeviceCount", code)
	}
	var found device.Survey
	for index := range count {
		one, broken := h.describe(index)
		if broken != nil {
			return *broken
		}
		found.Devices = append(found.Devices, one)
	}
	return found
}

func (h *hip) describe(index int32) (device.Surveyed, *device.Survey) {
	var name [256]byte
	var total uint64
	if code := dl.Call(h.deviceName, dl.Pointer(&name), uintptr(len(name)), uintptr(index)); code != 0 {
		broken := failed(fmt.Sprintf("hipDeviceGetName of device %d", index), code)
		return device.Surveyed{}, &broken
	}
	if code := dl.Call(h.deviceTotal, dl.Pointer(&total), uintptr(index)); code != 0 {
		broken := failed(fmt.Sprintf("hipDeviceTotalMem of device %d", index), code)
		return device.Surveyed{}, &broken
	}
	one := device.Surveyed{Index: int(index), Name: dl.Text(name[:]), TotalBytes: total, AlignmentBytes: 256}
	var major, minor, integrated int32
	if dl.Call(h.computeCapability, dl.Pointer(&major), dl.Pointer(&minor), uintptr(index)) == 0 {
		one.ComputeCapability = fmt.Sprintf("%d.%d", major, minor)
	}
	if dl.Call(h.deviceAttribute, dl.Pointer(&integrated), attributeIntegrated, uintptr(index)) == 0 {
		one.UnifiedMemory = integrated != 0
	}
	var free, all uint64
	if dl.Call(h.setDevice, uintptr(index)) == 0 && dl.Call(h.memoryInfo, dl.Pointer(&free), dl.Pointer(&all)) == 0 {
		one.FreeBytes, one.FreeKnown = free, free <= max(total, all)
	}
	return one, nil
}

func failed(call string, code int32) device.Survey {
	return device.Absent(device.AbsenceDriverError, int64(code), fmt.Sprintf("%s failed: error %d", call, code))
}
