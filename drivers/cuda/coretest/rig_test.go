package coretest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/manager"
	"ferrum_mem/drivers/cuda"
	"ferrum_mem/drivers/host"
	"ferrum_mem/drivers/testdevice"
)

const (
	kib = uint64(1) << 10
	// page is the granularity of the simulated driver.
	page = 64 * kib
	half = page / 2
)

var libraryPath = func() string {
	path, err := filepath.Abs("../../../build/test/simcuda/12090/libcuda.so.1")
	if err != nil {
		panic(err)
	}
	return path
}()

func TestMain(m *testing.M) {
	if os.Getenv(envAlone) != "" {
		os.Exit(m.Run())
	}
	for name, value := range map[string]string{
		"SIMCUDA_BYTES": "1G", "SIMCUDA_GRANULARITY": "64K", "SIMCUDA_DEVICES": "2", "SIMCUDA_LEAKS": "", "SIMCUDA_JITTER_US": "5",
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// rig holds two devices of the simulated driver, the host, and the objects under test.
type rig struct {
	sim     testdevice.Simulator
	devices []device.Device
	engines []*engine.Engine
	factory *manager.Factory
	// inUse returns the bytes that a program uses. It is set if the device engine counts
	// the free memory of the program as live. nil: the counters of the engines are used.
	inUse func() uint64
	// closers release the objects that a program created. They run in reverse order.
	closers []func() error
}

func openRig(t *testing.T) *rig {
	if _, err := os.Stat(libraryPath); err != nil {
		t.Skipf("the simulated driver is not built (make simcuda): %v", err)
	}
	r := &rig{factory: manager.NewFactory()}
	var simulated bool
	r.sim, simulated = testdevice.NewSimulator(libraryPath)
	require.True(t, simulated)
	// A device that an earlier program lost works again only in a new process.
	r.sim.ClearFaults()
	gpu := cuda.New(cuda.Config{Library: libraryPath})
	cpu, err := host.New(host.Config{Devices: 1, MemoryBytes: 64 << 20})
	require.NoError(t, err)
	for index, driver := range []device.Driver{gpu, gpu, cpu} {
		dev, err := driver.Open(index % 2)
		require.NoError(t, err)
		r.devices = append(r.devices, dev)
		r.engines = append(r.engines, engine.New(dev, engine.Options{}))
	}
	return r
}

// atEnd adds a function that runs when the program has ended.
func (r *rig) atEnd(fn func() error) { r.closers = append(r.closers, fn) }

// close runs the closers and closes the devices. The counters must then be zero, and the
// simulator must report no leak and no violation.
func (r *rig) close(t *testing.T, what string) {
	for i := len(r.closers) - 1; i >= 0; i-- {
		require.NoError(t, r.closers[i](), what)
	}
	for _, e := range r.engines {
		_, err := r.factory.CloseDevice(e, true)
		require.NoError(t, err, what)
		stats := e.Statistics()
		require.NoError(t, stats.Check(), what)
		require.Zero(t, stats.Reserved.Current, what)
		require.Zero(t, stats.LiveBlocks.Current, what)
		require.Zero(t, e.AddressBytes(), what)
		require.Zero(t, e.Asleep(), what)
		require.NoError(t, e.Close(), what)
	}
	require.Empty(t, r.sim.Leaks(), what)
	for line := range strings.Lines(r.sim.Violations()) {
		// Objects of an ended context cannot be released, but the library tries to. It also
		// queries whether the context has ended. The simulator reports both.
		require.Regexp(t, "^(cuCtxPushCurrent_v2|cuCtxGetId) 709", line, what)
	}
}

// counters returns the counters that a failed operation must leave unchanged.
func (r *rig) counters(t *testing.T, what string) (numbers [3][4]uint64) {
	for i, e := range r.engines {
		stats := e.Statistics()
		require.NoError(t, stats.Check(), what)
		if r.inUse != nil {
			numbers[0][0] = r.inUse()
			continue
		}
		asleep := e.Asleep()
		numbers[i] = [4]uint64{
			stats.LiveBlocks.Current, stats.Requested.Current, stats.Allocated.Current,
			asleep.HostBytes + asleep.FileBytes + asleep.DiscardedBytes,
		}
	}
	return numbers
}

// step is an operation of a program. It returns errMissing if it needs the result of an
// earlier step that failed.
type step struct {
	name string
	do   func() error
}

// partly lists the steps that release a part before they fail. ends lists the steps that
// succeed on a lost device.
var (
	partly = map[string]bool{"shrink": true, "unregister": true}
	ends   = map[string]bool{"destroy event": true, "destroy stream": true}
)

var errMissing = device.Errorf(device.CodeInvalidState, "coretest", "an earlier step failed")

// program is the life of one part of the core. It contains every operation of that part.
type program struct {
	name  string
	steps func(r *rig) []step
}

var programs = []program{
	{"pool over pages", poolProgram(true)},
	{"pool over segments", poolProgram(false)},
	{"pool with large pages", largeProgram},
	{"virtual pool", virtualProgram},
	{"elastic pool", sharedProgram},
	{"manager", managerProgram},
	{"fallback", fallbackProgram},
}

// put returns a function that calls make and, if it succeeds, stores the result in to.
func put[T any](to *T, make func() (T, error)) func() error {
	return func() error {
		made, err := make()
		if err == nil {
			*to = made
		}
		return err
	}
}
