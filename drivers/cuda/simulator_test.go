package cuda

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// The tests run on the simulated driver, which `make simcuda` builds. A process can load
// only one library with one set of devices. A test that needs another set, or that makes a
// context unusable, therefore runs in its own process.
const (
	// newest exports all forms of every call. 13000 is a later version that removed some
	// forms.
	newest = "12090"
	// envAlone is set in a process that runs one test.
	envAlone   = "FERRUM_TEST_CUDA_ALONE"
	envLibrary = "FERRUM_TEST_CUDA_LIBRARY"
)

func TestMain(m *testing.M) {
	if os.Getenv(envAlone) == "" {
		for name, value := range map[string]string{
			"SIMCUDA_BYTES": "640M", "SIMCUDA_DEVICES": "2", "SIMCUDA_LEAKS": "", envLibrary: simulated(newest),
		} {
			if err := os.Setenv(name, value); err != nil {
				panic(err)
			}
		}
	}
	os.Exit(m.Run())
}

func simulated(generation string) string {
	path, err := filepath.Abs("../../build/test/simcuda/" + generation + "/libcuda.so.1")
	if err != nil {
		panic(err)
	}
	return path
}

// alone runs the rest of the test in a new process with these environment variables. It
// returns false in the first process, which must then return from the test.
func alone(t *testing.T, variables ...string) bool {
	t.Helper()
	if os.Getenv(envAlone) != "" {
		return true
	}
	needSimulator(t)
	child := exec.Command(os.Args[0], "-test.run", "^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$", "-test.count=1", "-test.v", "-test.timeout=60s")
	child.Env = append(append(os.Environ(), envAlone+"=1"), variables...)
	out, err := child.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name(), "%s", out)
	return false
}

func needSimulator(t testing.TB) {
	t.Helper()
	if _, err := os.Stat(os.Getenv(envLibrary)); err != nil {
		t.Skipf("the simulated driver is not built (make simcuda): %v", err)
	}
}

// simulator calls the test functions of the simulated driver.
type simulator struct {
	t       testing.TB
	library *dl.Library
}

func newSimulator(t testing.TB) simulator {
	needSimulator(t)
	library, err := dl.Open(os.Getenv(envLibrary))
	require.NoError(t, err)
	return simulator{t, library}
}

// call calls any function of the library by name.
func (s simulator) call(name string, arguments ...uintptr) int32 {
	address, found := s.library.Symbol(name)
	require.True(s.t, found, name)
	return dl.Call(address, arguments...)
}

// newContext creates a context and makes it current.
func (s simulator) newContext(made *uintptr, index uintptr) {
	s.t.Helper()
	s.must("cuCtxCreate_v2", dl.Pointer(made), 0, index)
}

func (s simulator) must(name string, arguments ...uintptr) {
	s.t.Helper()
	require.Zero(s.t, s.call(name, arguments...), name)
}

func (s simulator) calls(name string) int {
	text := append([]byte(name), 0)
	defer runtime.KeepAlive(text)
	return int(s.call("simcuda_calls", dl.Pointer(&text[0])))
}

// fault makes a later call fail: the nth from now, or every one for 0. The end of the test
// removes the faults that no call met, so that none is left for the next test. A device that
// a fault has lost then works again for the next test.
func (s simulator) fault(name string, n int, code int32) {
	s.t.Cleanup(func() { s.call("simcuda_clear_faults") })
	text := append([]byte(name), 0)
	defer runtime.KeepAlive(text)
	s.must("simcuda_fault", dl.Pointer(&text[0]), uintptr(n), uintptr(code))
}

// delay makes every later call of a function take longer, until the process ends.
func (s simulator) delay(name string, by time.Duration) {
	text := append([]byte(name), 0)
	defer runtime.KeepAlive(text)
	s.call("simcuda_delay", dl.Pointer(&text[0]), uintptr(by.Microseconds()))
}

// text reads a list of the simulator.
func (s simulator) text(name string) string {
	buffer := make([]byte, 1<<14)
	if s.call(name, dl.Pointer(&buffer[0]), uintptr(len(buffer))) == 0 {
		return ""
	}
	return dl.Text(buffer)
}

// clean requires that nothing leaked and that the simulator saw no violation.
func (s simulator) clean() {
	s.t.Helper()
	require.Empty(s.t, s.text("simcuda_leaks"), "leaks")
	require.Empty(s.t, s.text("simcuda_violations"), "broken rules")
}

func testDriver(t testing.TB) *Driver {
	needSimulator(t)
	d := New(Config{Library: os.Getenv(envLibrary)})
	require.NoError(t, d.Probe())
	return d
}

func open(t testing.TB, index int) *openDevice {
	dev, err := testDriver(t).Open(index)
	require.NoError(t, err)
	return dev.(*openDevice)
}

func requireCode(t testing.TB, code device.Code, err error) *device.Error {
	t.Helper()
	require.Equal(t, code, device.CodeOf(err), "%v", err)
	var typed *device.Error
	require.ErrorAs(t, err, &typed)
	return typed
}

// put and get copy bytes between a Go slice and the device, and wait for the copy.
func put(t testing.TB, s device.Stream, addr device.Addr, bytes []byte) {
	t.Helper()
	require.NoError(t, s.CopyFromHost(addr, device.HostAddr(dl.Pointer(&bytes[0])), uint64(len(bytes))))
	require.NoError(t, s.Synchronize(device.Forever))
}

func get(t testing.TB, s device.Stream, addr device.Addr, size int) []byte {
	t.Helper()
	bytes := make([]byte, size)
	require.NoError(t, s.CopyToHost(device.HostAddr(dl.Pointer(&bytes[0])), addr, uint64(size)))
	require.NoError(t, s.Synchronize(device.Forever))
	return bytes
}

// hostBytes returns host memory that the driver allocated.
func hostBytes(at device.HostAddr, size int) []byte {
	return unsafe.Slice(pointer(uintptr(at)), size)
}

//go:noinline
func pointer(at uintptr) *byte { return *(**byte)(unsafe.Pointer(&at)) }
