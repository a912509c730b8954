package house

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// below lists, for every package directly under core, the packages of core that it may
// import. A new package needs a line here, so that its author decides where it belongs.
var below = map[string][]string{
	"core/device":   {},
	"core/internal": {"core/device"},
	"core/mirror":   {},
	"core/lending":  {},
	"core/notify":   {"core/device"},
	"core/pressure": {"core/device"},
	// core/internal: lists are sorted by code that all types share.
	"core/track":      {"core/device", "core/internal", "core/lending"},
	"core/discover":   {"core/device", "core/internal"},
	"core/dtype":      {"core/device"},
	"core/strided":    {"core/device"},
	"core/handle":     {"core/device"},
	"core/rangealloc": {"core/device", "core/internal", "core/lending"},
	"core/memcheck":   {"core/device", "core/internal"},
	"core/engine": {
		"core/device", "core/internal", "core/mirror", "core/notify", "core/pressure", "core/track", "core/rangealloc", "core/memcheck",
	},
	"core/vmm": {
		"core/device", "core/internal", "core/mirror", "core/notify", "core/track", "core/rangealloc", "core/engine",
	},
	"core/pool": {
		"core/device", "core/internal", "core/lending", "core/mirror", "core/notify", "core/pressure", "core/track",
		"core/rangealloc", "core/memcheck", "core/engine", "core/vmm",
	},
	// core/internal: staging buffers outside the Go heap.
	"core/weights": {
		"core/device", "core/internal", "core/dtype", "core/strided", "core/engine", "core/vmm", "core/pool",
	},
	// core/internal: the host copies and converts elements in memory that it addresses.
	"core/tensor": {
		"core/device", "core/internal", "core/dtype", "core/strided", "core/engine", "core/vmm", "core/pool", "core/weights",
	},
	// core/internal: tables of sequences and blocks are outside the Go heap.
	"core/kvcache":  {"core/device", "core/internal", "core/pressure", "core/engine", "core/vmm", "core/pool"},
	"core/estimate": {"core/device", "core/internal", "core/dtype", "core/weights"},
	// core/internal: an error about an unknown name states the nearest one.
	"core/operator": {"core/device", "core/internal", "core/dtype", "core/strided"},
	"core/compute":  {"core/device", "core/dtype", "core/strided", "core/operator"},
	// core/internal: an error about an unknown name states the nearest one.
	"core/ir": {"core/device", "core/internal", "core/dtype", "core/strided", "core/operator"},
	// core/internal: the encoding of protocol buffers.
	"core/onnx": {
		"core/device", "core/internal", "core/dtype", "core/strided", "core/operator", "core/ir", "core/weights",
	},
	// A definition is made from the files and the numbers that estimation reads.
	"core/architecture": {
		"core/device", "core/internal", "core/dtype", "core/strided", "core/operator", "core/ir", "core/estimate", "core/weights",
		"core/onnx",
	},
	"core/plan": {"core/device"},
	// core/internal: an error about an unknown name states the nearest one.
	"core/passes": {"core/device", "core/internal", "core/dtype", "core/strided", "core/operator", "core/ir"},
	// core/internal: elements of parameters are made outside the Go heap.
	"core/model": {
		"core/device", "core/internal", "core/dtype", "core/strided", "core/engine", "core/vmm", "core/pool", "core/weights",
		"core/tensor", "core/operator", "core/compute", "core/backend", "core/ir", "core/architecture", "core/passes", "core/plan",
		"core/estimate", "core/manager", "core/onnx", "core/rangealloc",
	},
	// core/internal: the host mapping of memory that the host cannot address is a staging
	// copy that must not move and may be large. The manager allocates it outside the Go
	// heap.
	"core/manager": {
		"core/device", "core/internal", "core/notify", "core/pressure", "core/track", "core/rangealloc", "core/engine",
		"core/vmm", "core/pool", "core/handle",
	},
	// core/internal: an error about an unknown name states the nearest one.
	"core/backend": {
		"core/device", "core/internal", "core/dtype", "core/strided", "core/engine", "core/pool", "core/weights", "core/tensor",
		"core/operator", "core/compute", "core/manager", "core/track", "core/onnx",
	},
	"core/monitor": {
		"core/device", "core/internal", "core/notify", "core/pressure", "core/track", "core/engine", "core/manager",
	},
	"core/placement": {"core/device", "core/pressure", "core/manager"},
	"core/fallback":  {"core/device", "core/internal", "core/pressure", "core/track", "core/engine", "core/pool"},
	"core/trace":     {"core/device"},
	"core/replay":    {"core/device", "core/trace", "core/track", "core/rangealloc", "core/engine", "core/vmm", "core/pool"},
	// core/internal: a file of weights may be in memory of the program.
	"core/library": {
		"core/device", "core/lending", "core/mirror", "core/notify", "core/pressure", "core/track", "core/rangealloc",
		"core/memcheck", "core/engine", "core/vmm", "core/pool", "core/handle", "core/manager", "core/discover",
		"core/monitor", "core/placement", "core/fallback", "core/internal", "core/dtype", "core/weights", "core/strided",
		"core/tensor", "core/operator", "core/compute", "core/backend", "core/ir", "core/passes", "core/model", "core/kvcache",
	},
}

// belowInCapi lists, for each part of capi that is a package of its own, what it may
// import. Such a part must not depend on the shims and exports that use it.
var belowInCapi = map[string][]string{
	"capi/threadcache": {"core/device", "core/pool", "include"},
	"capi/mirrors":     {"core/mirror", "core/track", "capi/threadcache", "include"},
	"capi/largeblocks": {"core/lending"},
	"capi/mappedfiles": {"core/weights/diskfile"},
}

// belowEngines is what an engine may import besides its own packages: an engine is to
// operations what a driver is to memory.
var belowEngines = []string{"core/device", "core/dtype", "core/strided", "core/operator", "core/compute"}

// roomOf returns the package directly under core that a package belongs to:
// "core/rangealloc/conformance" belongs to "core/rangealloc".
func roomOf(path string) string {
	parts := strings.SplitN(path, "/", 3)
	return strings.Join(parts[:min(len(parts), 2)], "/")
}

// loader is the package that drivers and engines load libraries with.
const loader = "internal/dl"

// suiteDevices is the package that opens devices for the suites of core. Only tests import
// it.
const suiteDevices = "drivers/testdevice"

// mayImport states whether a package may import another package of the module.
func mayImport(from, to string) bool {
	switch {
	case to == suiteDevices:
		return false
	case from == "capi":
		return within(to, "core") || within(to, "drivers") || within(to, "capi") || to == "engines" || to == "include"
	case within(from, "capi"):
		return slices.Contains(belowInCapi[from], to)
	// The measurements of loads call the core as a program in Go does.
	case from == "tests/bench/weights":
		return within(to, "core") || to == "drivers/host"
	case within(from, "cmd"):
		return within(to, "core") || within(to, "drivers") || roomOf(to) == roomOf(from)
	// The list of all drivers and the devices for suites may import every driver.
	case (from == "drivers" || from == suiteDevices) && within(to, "drivers"):
		return true
	case within(from, "drivers"):
		return within(to, "core/device") || within(to, "drivers/internal") || to == loader || roomOf(to) == roomOf(from)
	case from == loader:
		return to == "core/device"
	// The list of all engines may import every engine.
	case from == "engines" && (within(to, "engines") || to == "core/backend"):
		return true
	case within(from, "engines"):
		return slices.Contains(belowEngines, to) || to == loader || roomOf(to) == roomOf(from)
	case within(from, "core"):
		return roomOf(to) == roomOf(from) || slices.Contains(below[roomOf(from)], roomOf(to))
	default:
		return false
	}
}

func TestImportArrows(t *testing.T) {
	for _, p := range packagesOf(t) {
		for _, imported := range p.Imports {
			to, own := strings.CutPrefix(imported, module)
			if own {
				assert.True(t, mayImport(p.room(), to), "%s must not import %s", p.room(), to)
			}
		}
	}
}

// Tests may import the test helpers of any package. A test from outside its package, such
// as package pool_test, may also import the host driver, which is a real driver without a
// vendor, and the devices for suites. A test inside its package imports no driver. No test
// loads the library into the test process.
func TestImportArrowsOfTests(t *testing.T) {
	for _, p := range packagesOf(t) {
		for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
			to := strings.TrimPrefix(imported, module)
			assert.False(t, within(to, "capi") || within(to, "cmd"), "a test of %s imports %s", p.room(), to)
			assert.False(t, imported == "C", "a test of %s uses cgo", p.room())
			if within(p.room(), "core") && within(to, "drivers") {
				assert.NotContains(t, p.TestImports, imported, "a test inside %s imports %s", p.room(), to)
				assert.Contains(t, []string{"drivers/host", suiteDevices}, to, "a test of %s imports a driver", p.room())
			}
		}
	}
}

func TestEveryRoomOfCoreHasItsPlace(t *testing.T) {
	rooms := map[string]bool{}
	for _, p := range packagesOf(t) {
		if within(p.room(), "core") {
			rooms[roomOf(p.room())] = true
			assert.Contains(t, below, roomOf(p.room()), "%s has no line in the table of arrows", p.room())
		}
	}
	for room, lower := range below {
		assert.True(t, rooms[room], "the table of arrows names %s, which is not there", room)
		for _, to := range lower {
			require.Contains(t, below, to)
			assert.NotContains(t, below[to], room, "%s and %s may import each other", room, to)
		}
	}
}

// mayBeUnsafe states whether a package may import unsafe. In core only the package for
// tables outside the Go heap may, and the one that asks the system about the page cache. Measurements
// read memory by its address.
func mayBeUnsafe(room string) bool {
	return within(room, "drivers") || within(room, "engines") || within(room, "capi") || room == loader || room == "core/internal/offheap" || room == "core/weights/diskfile" || room == "tests/bench/weights"
}

func TestOnlyDriversAndCapiAndTablesAreUnsafe(t *testing.T) {
	for _, p := range packagesOf(t) {
		if slices.Contains(p.Imports, "unsafe") {
			assert.True(t, mayBeUnsafe(p.room()), "%s imports unsafe", p.room())
		}
		if slices.Contains(p.Imports, "C") || len(p.CgoFiles) > 0 {
			assert.True(t, within(p.room(), "capi") || within(p.room(), "engines"), "%s uses cgo", p.room())
		}
	}
}

// A rule that allows every import would pass all tests, so this test checks rejected
// imports.
func TestArrowRuleRefuses(t *testing.T) {
	refused := [][2]string{
		{"core/pool", "drivers/host"},
		{"core/pool", "core/manager"},
		{"core/device", "core/pool"},
		{"core/rangealloc/conformance", "core/pool"},
		{"drivers/host", "core/pool"},
		{"drivers/host", "drivers/cuda"},
		{"core/library", "capi"},
		{"tests/house", "core/pool"},
		{"capi/threadcache", "core/library"},
		{"capi/threadcache", "drivers"},
		{"capi/threadcache", "capi/mirrors"},
		{"cmd/ferrum-mem", "drivers/testdevice"},
		{"engines/cpu", "core/pool"},
		{"engines/cpu", "drivers/host"},
		{"engines/cpu", "core/backend"},
		{"core/pool", "engines/cpu"},
		{"core/backend", "internal/dl"},
		{"internal/dl", "drivers/cuda"},
	}
	for _, pair := range refused {
		assert.False(t, mayImport(pair[0], pair[1]), "%s -> %s", pair[0], pair[1])
	}
	allowed := [][2]string{
		{"capi", "core/library"},
		{"capi", "capi/threadcache"},
		{"capi/mirrors", "capi/threadcache"},
		{"cmd/ferrum-mem", "drivers/host"},
		{"drivers", "drivers/cuda/cudaprobe"},
		{"drivers/testdevice", "drivers"},
		{"drivers/testdevice", "drivers/cuda"},
		{"drivers/host", "core/device"},
		{"engines/cpu", "core/dtype"},
		{"engines/cpu", "engines/cpu/avx2"},
		{"engines", "engines/cpu/operations"},
		{"engines/ort", "internal/dl"},
		{"drivers/cuda", "internal/dl"},
		{"engines", "core/backend"},
		{"core/manager", "core/pool"},
		{"core/rangealloc/conformance", "core/rangealloc"},
	}
	for _, pair := range allowed {
		assert.True(t, mayImport(pair[0], pair[1]), "%s -> %s", pair[0], pair[1])
	}
}
