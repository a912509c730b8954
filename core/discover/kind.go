package discover

import (
	"slices"
	"strings"

	"ferrum_mem/core/device"
)

// BackendType names one of the backends that the library knows. The values are those of
// the C ABI. As a preference BackendAuto leaves the choice to the library.
type BackendType int32

type kind struct {
	kind BackendType
	// name is the name in device ids; display is for people.
	name, display string
}

// kinds returns the backends in the order of lists: the host first, then in order of
// preference.
func kinds() []kind { return known[BackendAuto+1:] }

// Names returns the names of all backends in device ids, in the order of lists.
func Names() []string {
	names := make([]string, len(kinds()))
	for i, k := range kinds() {
		names[i] = k.name
	}
	return names
}

// preferred returns the order of the automatic choice: accelerators before the host.
func preferred() []BackendType {
	order := make([]BackendType, 0, len(kinds()))
	for _, k := range kinds() {
		if k.kind != BackendCPU {
			order = append(order, k.kind)
		}
	}
	return append(order, BackendCPU)
}

func (b BackendType) find() (kind, bool) {
	if b < 0 || int(b) >= len(known) {
		return kind{}, false
	}
	return known[b], true
}

// Name returns the name in device ids, such as "cuda"; "auto", or "" for no backend.
func (b BackendType) Name() string {
	k, _ := b.find()
	return k.name
}

// String returns the name for people, such as "CUDA".
func (b BackendType) String() string {
	if k, ok := b.find(); ok {
		return k.display
	}
	return "unknown"
}

// TypeOf finds a backend by its name in device ids; false: there is no backend with
// that name.
func TypeOf(name string) (BackendType, bool) {
	for _, k := range kinds() {
		if k.name == name {
			return k.kind, true
		}
	}
	return BackendAuto, false
}

// CheckPreference rejects a number that is not a BackendType.
func CheckPreference(op string, preference BackendType) error {
	if preference.Name() == "" {
		return device.Errorf(device.CodeInvalidArgument, op,
			"preference is %d: want FERRUM_BACKEND_AUTO (0) to FERRUM_BACKEND_%s (%d)", preference,
			strings.ToUpper(known[len(known)-1].name), len(known)-1)
	}
	return nil
}

// displayName returns the name for people of any backend, including unknown ones.
func displayName(name string) string {
	if b, ok := TypeOf(name); ok {
		return b.String()
	}
	return name
}

// rank returns the position in a list of backends; unknown ones come last.
func rank(name string) int {
	if at := slices.IndexFunc(kinds(), func(k kind) bool { return k.name == name }); at >= 0 {
		return at
	}
	return len(kinds())
}
