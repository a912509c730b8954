package library_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/discover"
	"ferrum_mem/core/library"
)

// boasting reports a gibibyte of free memory for each of two devices.
type boasting struct{}

func (boasting) Backend() string { return "cuda" }

func (boasting) Survey() device.Survey {
	one := device.Surveyed{Name: "Boaster", TotalBytes: 1 << 30, FreeBytes: 1 << 30, FreeKnown: true}
	two := one
	two.Index = 1
	return device.Survey{Devices: []device.Surveyed{one, two}}
}

// twoBackends is a bench whose driver is that of CUDA, beside a host with 128 MiB.
func twoBackends(t *testing.T) *bench {
	cuda := devicetest.New(devicetest.Config{Backend: "cuda", Devices: 2, TotalBytes: capacity})
	watched := &watchedDriver{Driver: cuda, opened: map[int]*devicetest.Device{}}
	host := devicetest.New(devicetest.Config{Backend: "cpu", TotalBytes: 2 * capacity})
	b := startBench(t, func(o *library.Options) {
		o.Surveyors = []device.Surveyor{boasting{}}
		o.Getenv = func(name string) string { return map[string]string{discover.EnvProbe: "in_process"}[name] }
		o.Drivers = func(library.Settings) ([]device.Driver, error) { return []device.Driver{watched, host}, nil }
	})
	b.driver = watched
	return b
}

func TestOpenBackendChecksWhatIsOpen(t *testing.T) {
	b := twoBackends(t)
	best, err := b.BackendBest()
	require.NoError(t, err)
	require.Equal(t, discover.BackendCUDA, best)

	handle, choice, err := b.BackendOpen(discover.BackendAuto, capacity)
	require.NoError(t, err)
	require.Equal(t, "cuda:0", choice.Device.ID.String())
	info := at(b.Device, handle).Info()
	require.Equal(t, "cuda:0", info.ID.String(), "the device that was chosen is the one that is open")

	// By the discovery a gibibyte fits; the open devices report less.
	hostHandle, choice, err := b.BackendOpen(discover.BackendAuto, capacity+1)
	require.NoError(t, err)
	require.Equal(t, discover.BackendCPU, choice.Backend)
	require.Contains(t, choice.Tried(), "cuda:1: needs 64.00 MiB (67108865 bytes), has 64 MiB free after it was opened")
	require.NoError(t, at(b.Device, hostHandle).Close(false))

	b.driver.mu.Lock()
	b.driver.openErr = device.Errorf(device.CodeDevice, "test.open", "the driver is broken").On(device.ID{Backend: "cuda", Index: 1})
	b.driver.mu.Unlock()
	require.NoError(t, at(b.Device, handle).Close(false))
	handle, choice, err = b.BackendOpen(discover.BackendCUDA, 1)
	require.NoError(t, err)
	require.Equal(t, "cuda:1", choice.Device.ID.String())
	require.Contains(t, choice.Tried(), "cuda:0: the driver is broken")
	require.NoError(t, at(b.Device, handle).Close(false))

	_, _, err = b.BackendOpen(discover.BackendAuto, 1<<29)
	requireCode(t, device.CodeOutOfMemory, err)
	require.ErrorContains(t, err, "cpu:0: needs 512 MiB, has ")
	_, _, err = b.BackendOpen(9, 1)
	requireCode(t, device.CodeInvalidArgument, err)
	require.NoError(t, b.Shutdown(false), "no device has stayed open")
}

func TestDiscoveryNeedsAStart(t *testing.T) {
	b := newBench(t)
	requireCode(t, device.CodeNotInitialized, b.BackendsRefresh())
	for name, err := range map[string]error{
		"summary": last(b.BackendsSummary()), "best": last(b.BackendBest()), "fit": last(b.DeviceCanFit("cpu:0", 1)),
		"select": last(b.BackendSelect(discover.BackendAuto, 1)),
	} {
		require.ErrorIs(t, err, device.CodeNotInitialized, name)
	}
	_, _, err := b.BackendOpen(discover.BackendAuto, 1)
	requireCode(t, device.CodeNotInitialized, err)
	require.Equal(t, "Unknown CPU", b.HostGetInfo().Processor, "without information the processor is unknown")
}

func last[T any](_ T, err error) error { return err }

func TestProbingIsSetUpAtStart(t *testing.T) {
	b := newBench(t)
	b.env[discover.EnvProbe] = "perhaps"
	requireCode(t, device.CodeInvalidConfig, b.Init(nil))
	b.env[discover.EnvProbe] = "off"
	require.NoError(t, b.Init(&library.Settings{ProbeInProcess: true}))
	requireCode(t, device.CodeInvalidState, b.Init(&library.Settings{}))
	require.NoError(t, b.Shutdown(false))
}
