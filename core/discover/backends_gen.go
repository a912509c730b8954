// Code generated from include/ferrum_mem.h; DO NOT EDIT.

package discover

// The backends, with the values of the C ABI.
const (
	BackendAuto   BackendType = 0
	BackendCPU    BackendType = 1
	BackendCUDA   BackendType = 2
	BackendROCm   BackendType = 3
	BackendMetal  BackendType = 4
	BackendOpenCL BackendType = 5
)

// known has each backend at the place of its value, after BackendAuto.
var known = [...]kind{
	{BackendAuto, "auto", "Auto"},
	{BackendCPU, "cpu", "CPU"},
	{BackendCUDA, "cuda", "CUDA"},
	{BackendROCm, "rocm", "ROCm"},
	{BackendMetal, "metal", "Metal"},
	{BackendOpenCL, "opencl", "OpenCL"},
}
