package discover

import (
	"slices"

	"ferrum_mem/core/device"
)

// BackendType names one of the backends that the product knows. Values are those of
// the C ABI; as a preference BackendAuto leaves the choice to the library.
type BackendType int32

// The backends.
const (
	BackendAuto BackendType = iota
	BackendCPU
	BackendCUDA
	BackendROCm
	BackendMetal
	BackendOpenCL
)

type kind struct {
	kind BackendType
	// name is the one in device ids; display is for people.
	name, display string
}

// kinds are in the order in which backends are listed: the host first, and then as
// they are preferred.
var kinds = []kind{
	{BackendCPU, "cpu", "CPU"},
	{BackendCUDA, "cuda", "CUDA"},
	{BackendROCm, "rocm", "ROCm"},
	{BackendMetal, "metal", "Metal"},
	{BackendOpenCL, "opencl", "OpenCL"},
}

// preferred is the order of automatic choice: accelerators before the host.
func preferred() []BackendType {
	return []BackendType{BackendCUDA, BackendROCm, BackendMetal, BackendOpenCL, BackendCPU}
}

func (b BackendType) find() (kind, bool) {
	at := slices.IndexFunc(kinds, func(k kind) bool { return k.kind == b })
	if at < 0 {
		return kind{}, false
	}
	return kinds[at], true
}

// Name is the one in device ids, such as "cuda"; "auto", or "" for no backend.
func (b BackendType) Name() string {
	if k, ok := b.find(); ok {
		return k.name
	}
	if b == BackendAuto {
		return "auto"
	}
	return ""
}

// String is the name for people, such as "CUDA".
func (b BackendType) String() string {
	if k, ok := b.find(); ok {
		return k.display
	}
	if b == BackendAuto {
		return "Auto"
	}
	return "unknown"
}

// TypeOf finds a backend by the name in device ids; false: the product has none of
// that name.
func TypeOf(name string) (BackendType, bool) {
	for _, k := range kinds {
		if k.name == name {
			return k.kind, true
		}
	}
	return BackendAuto, false
}

// CheckPreference refuses a number that is no BackendType.
func CheckPreference(op string, preference BackendType) error {
	if preference.Name() == "" {
		return device.Errorf(device.CodeInvalidArgument, op,
			"preference is %d: want FERRUM_BACKEND_AUTO (0) to FERRUM_BACKEND_OPENCL (%d)", preference, BackendOpenCL)
	}
	return nil
}

// displayName is the name for people of any backend, also of one that the product
// does not know.
func displayName(name string) string {
	if b, ok := TypeOf(name); ok {
		return b.String()
	}
	return name
}

// rank is the place in a list of backends; unknown ones come last.
func rank(name string) int {
	if at := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name }); at >= 0 {
		return at
	}
	return len(kinds)
}
