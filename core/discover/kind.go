package discover

import (
	"slices"
	"strings"

	"ferrum_mem/core/device"
)

// BackendType names one of the backends that the product knows. Values are those of
// the C ABI; as a preference BackendAuto leaves the choice to the library.
type BackendType int32

type kind struct {
	kind BackendType
	// name is the one in device ids; display is for people.
	name, display string
}

// kinds are the backends in the order in which they are listed: the host first, and
// then as they are preferred.
func kinds() []kind { return known[BackendAuto+1:] }

// Names are those of all backends in device ids, in the order in which they are listed.
func Names() []string {
	names := make([]string, len(kinds()))
	for i, k := range kinds() {
		names[i] = k.name
	}
	return names
}

// preferred is the order of automatic choice: accelerators before the host.
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

// Name is the one in device ids, such as "cuda"; "auto", or "" for no backend.
func (b BackendType) Name() string {
	k, _ := b.find()
	return k.name
}

// String is the name for people, such as "CUDA".
func (b BackendType) String() string {
	if k, ok := b.find(); ok {
		return k.display
	}
	return "unknown"
}

// TypeOf finds a backend by the name in device ids; false: the product has none of
// that name.
func TypeOf(name string) (BackendType, bool) {
	for _, k := range kinds() {
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
			"preference is %d: want FERRUM_BACKEND_AUTO (0) to FERRUM_BACKEND_%s (%d)", preference,
			strings.ToUpper(known[len(known)-1].name), len(known)-1)
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
	if at := slices.IndexFunc(kinds(), func(k kind) bool { return k.name == name }); at >= 0 {
		return at
	}
	return len(kinds())
}
