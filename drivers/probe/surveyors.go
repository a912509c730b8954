package probe

import (
	"ferrum_mem/core/device"
	"ferrum_mem/drivers/cuda/cudaprobe"
	"ferrum_mem/drivers/metal/metalprobe"
	"ferrum_mem/drivers/opencl/openclprobe"
	"ferrum_mem/drivers/rocm/rocmprobe"
)

// Surveyors are those of all vendors.
func Surveyors() []device.Surveyor {
	return []device.Surveyor{cudaprobe.Prober{}, rocmprobe.Prober{}, metalprobe.Prober{}, openclprobe.Prober{}}
}
