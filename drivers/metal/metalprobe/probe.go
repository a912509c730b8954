package metalprobe

import (
	"runtime"

	"ferrum_mem/core/device"
)

// Backend is the name of the backend in device ids such as "metal:0".
const Backend = "metal"

// Prober queries the Metal framework.
type Prober struct{}

// Backend returns "metal".
func (Prober) Backend() string { return Backend }

// Unsupported states, without loading a library, whether this system has no Metal.
func (Prober) Unsupported() (device.Survey, bool) {
	return device.Absent(device.AbsenceSystem, 0, "Metal is not supported on "+runtime.GOOS), runtime.GOOS != "darwin"
}
