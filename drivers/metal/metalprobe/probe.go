package metalprobe

import (
	"runtime"

	"ferrum_mem/core/device"
)

// Backend is the name of the backend in device ids such as "metal:0".
const Backend = "metal"

// Prober asks the Metal framework.
type Prober struct{}

// Backend is "metal".
func (Prober) Backend() string { return Backend }

// Unsupported says, without loading anything, that this system has no Metal.
func (Prober) Unsupported() (device.Survey, bool) {
	return device.Absent(device.AbsenceSystem, 0, "Metal is not supported on "+runtime.GOOS), runtime.GOOS != "darwin"
}
