package openclprobe

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// Backend is the name of the backend in device ids such as "opencl:0".
const Backend = "opencl"

// Values of the OpenCL headers.
const (
	success          = 0
	deviceNotFound   = -1
	platformNotFound = -1001

	deviceTypeAll = 0xFFFFFFFF

	platformVersion = 0x0901
	platformName    = 0x0902

	infoMaxAllocation  = 0x1010
	infoBaseAlignment  = 0x1019
	infoGlobalMemory   = 0x101F
	infoAvailable      = 0x1027
	infoName           = 0x102B
	infoVersion        = 0x102F
	infoUnifiedMemory  = 0x1035
	infoAmdFreeMemory  = 0x4039
	maxPlatforms       = 64
	maxDevicesPlatform = 256
)

// telling orders the reasons of platforms, the least informative first.
var telling = []device.Absence{device.AbsenceNoDevice, device.AbsenceTooOld, device.AbsenceDriverError}

// Prober queries the OpenCL loader.
type Prober struct{}

// Backend returns "opencl".
func (Prober) Backend() string { return Backend }

// Unsupported states, without loading a library, whether this system has no OpenCL.
func (Prober) Unsupported() (device.Survey, bool) {
	return device.Absent(device.AbsenceSystem, 0, "OpenCL is not supported on "+runtime.GOOS), Names() == nil
}

// Names returns the names by which the loader's library is searched on this system.
func Names() []string {
	switch runtime.GOOS {
	case "linux", "freebsd":
		return []string{"libOpenCL.so.1", "libOpenCL.so"}
	case "windows":
		return []string{"OpenCL.dll"}
	case "darwin":
		return []string{"/System/Library/Frameworks/OpenCL.framework/OpenCL"}
	}
	return nil
}

type loader struct {
	library *dl.Library

	platformIDs, platformInfo, deviceIDs, deviceInfo uintptr
}

func open() (*loader, error) {
	library, err := dl.Open(Names()...)
	if err != nil {
		return nil, err
	}
	l := &loader{library: library}
	return l, library.Require(map[string]*uintptr{
		"clGetPlatformIDs": &l.platformIDs, "clGetPlatformInfo": &l.platformInfo,
		"clGetDeviceIDs": &l.deviceIDs, "clGetDeviceInfo": &l.deviceInfo,
	})
}

// Survey loads the loader's library and queries every platform. Devices are numbered over
// all platforms, in the order of the loader. Survey skips a platform that is too old or
// fails, and reports its reason if no device is left. OpenCL itself does not report free
// memory; the extension of one vendor does.
func (p Prober) Survey() device.Survey {
	if absent, is := p.Unsupported(); is {
		return absent
	}
	l, err := open()
	if err != nil {
		return err.(*dl.Failure).Survey()
	}
	found := l.survey()
	found.Library = l.library.Name
	return found
}

func (l *loader) survey() device.Survey {
	var platforms [maxPlatforms]uintptr
	var count uint32
	code := dl.Call(l.platformIDs, maxPlatforms, dl.Pointer(&platforms), dl.Pointer(&count))
	if code == platformNotFound || code == success && count == 0 {
		return device.Absent(device.AbsenceNoDevice, int64(code),
			"no device: the loader "+l.library.Name+" is installed, but no platform is")
	}
	if code != success {
		return failed("clGetPlatformIDs", code)
	}
	var found device.Survey
	var left []device.Survey
	for _, platform := range platforms[:min(count, maxPlatforms)] {
		if absent := l.platform(platform, &found); absent.Absence != device.AbsenceNone {
			left = append(left, absent)
		}
	}
	if len(found.Devices) > 0 || len(left) == 0 {
		return found
	}
	messages := make([]string, len(left))
	for i := range left {
		messages[i] = left[i].Message
	}
	// An error is a more useful reason than a platform that is old or has no device.
	worst := slices.MaxFunc(left, func(a, b device.Survey) int {
		return slices.Index(telling, a.Absence) - slices.Index(telling, b.Absence)
	})
	return device.Absent(worst.Absence, worst.Native, strings.Join(messages, "; "))
}

// platform adds the devices of a platform, or returns why it has none.
func (l *loader) platform(platform uintptr, found *device.Survey) device.Survey {
	name := l.text(l.platformInfo, platform, platformName)
	version := l.text(l.platformInfo, platform, platformVersion)
	number, ok := versionNumber(version)
	if !ok {
		return device.Absent(device.AbsenceDriverError, 0, fmt.Sprintf("platform %q: its version is %q", name, version))
	}
	if number.below(1, 2) {
		return device.Absent(device.AbsenceTooOld, 0, fmt.Sprintf("platform %q has %s, and 1.2 is needed", name, number))
	}
	var devices [maxDevicesPlatform]uintptr
	var count uint32
	code := dl.Call(l.deviceIDs, platform, deviceTypeAll, maxDevicesPlatform, dl.Pointer(&devices), dl.Pointer(&count))
	if code == deviceNotFound || code == success && count == 0 {
		return device.Absent(device.AbsenceNoDevice, int64(code), fmt.Sprintf("platform %q: no device", name))
	}
	if code != success {
		return failed(fmt.Sprintf("platform %q: clGetDeviceIDs", name), code)
	}
	if found.Version == "" {
		found.Version = number.String()
	}
	for _, id := range devices[:min(count, maxDevicesPlatform)] {
		if l.integer(id, infoAvailable) == 0 {
			continue
		}
		found.Devices = append(found.Devices, l.describe(id, len(found.Devices)))
	}
	return device.Survey{}
}

func (l *loader) describe(id uintptr, index int) device.Surveyed {
	one := device.Surveyed{
		Index: index, Name: l.text(l.deviceInfo, id, infoName),
		TotalBytes:         l.integer(id, infoGlobalMemory),
		MaxAllocationBytes: l.integer(id, infoMaxAllocation),
		// The value is in bits.
		AlignmentBytes: l.integer(id, infoBaseAlignment) / 8,
		UnifiedMemory:  l.integer(id, infoUnifiedMemory) != 0,
	}
	if number, ok := versionNumber(l.text(l.deviceInfo, id, infoVersion)); ok {
		one.ComputeCapability = "OpenCL " + number.String()
	}
	// The values are in KiB: all free memory, and the largest free block.
	var free [2]uint64
	if dl.Call(l.deviceInfo, id, infoAmdFreeMemory, 16, dl.Pointer(&free), 0) == success && free[0] <= one.TotalBytes>>10 {
		one.FreeBytes, one.FreeKnown = free[0]<<10, true
	}
	return one
}

// integer reads a number of at most 8 bytes. It returns 0 if the device does not report it.
func (l *loader) integer(id, what uintptr) uint64 {
	var value uint64
	if dl.Call(l.deviceInfo, id, what, 8, dl.Pointer(&value), 0) != success {
		return 0
	}
	return value
}

func (l *loader) text(function, of, what uintptr) string {
	var buffer [1024]byte
	if dl.Call(function, of, what, uintptr(len(buffer)-1), dl.Pointer(&buffer), 0) != success {
		return ""
	}
	return dl.Text(buffer[:])
}

func failed(call string, code int32) device.Survey {
	return device.Absent(device.AbsenceDriverError, int64(code), fmt.Sprintf("%s failed: error %d", call, code))
}
