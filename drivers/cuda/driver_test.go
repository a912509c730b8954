package cuda

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

func TestDevicesAreDescribedAndNamed(t *testing.T) {
	d := testDriver(t)
	require.Equal(t, "cuda", d.Backend())
	infos, err := d.Devices()
	require.NoError(t, err)
	require.Len(t, infos, 2)
	seen := map[string]bool{}
	for i, info := range infos {
		require.Equal(t, device.ID{Backend: "cuda", Index: i}, info.ID)
		require.EqualValues(t, 640<<20, info.TotalBytes)
		require.NotEmpty(t, info.Name)
		require.True(t, info.VirtualMemory && info.PinnedHost && info.Peer)
		require.True(t, info.HostVisible && info.Compiler)
		require.False(t, info.HostAddressable)
		require.True(t, info.Linker && info.Exporter && info.ProcessSharer)
		identity, err := d.Identity(i)
		require.NoError(t, err)
		require.Regexp(t, `^GPU-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`, identity.UUID)
		require.Regexp(t, `^[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-9]$`, identity.PCI)
		for _, name := range []string{infos[i].ID.String()[5:], identity.UUID, identity.UUID[4:], identity.PCI} {
			found, err := d.Find(name)
			require.NoError(t, err, name)
			require.Equal(t, i, found, name)
			require.False(t, seen[name], "%s names two devices", name)
			seen[name] = true
		}
	}
	for _, wrong := range []string{"", "2", "-1", "GPU-", "0000:ff:00.0", "cuda:0"} {
		_, err := d.Find(wrong)
		require.Contains(t, requireCode(t, device.CodeDeviceNotFound, err).Message, "2")
	}
	for _, wrong := range []int{-1, 2} {
		_, err := d.Open(wrong)
		requireCode(t, device.CodeDeviceNotFound, err)
		_, err = d.ReadMemory(wrong)
		requireCode(t, device.CodeDeviceNotFound, err)
		_, err = d.Identity(wrong)
		requireCode(t, device.CodeDeviceNotFound, err)
	}
}

func TestMemoryOfAClosedDeviceCanBeRead(t *testing.T) {
	reading, err := testDriver(t).ReadMemory(1)
	require.NoError(t, err)
	require.EqualValues(t, 640<<20, reading.TotalBytes)
	require.LessOrEqual(t, reading.FreeBytes, reading.TotalBytes)
	newSimulator(t).clean()
}

func TestReasonsWhyThereIsNoDriver(t *testing.T) {
	err := New(Config{Library: "/nowhere/libcuda.so.1"}).Probe()
	require.Contains(t, requireCode(t, device.CodeBackendUnavailable, err).Message, "/nowhere/libcuda.so.1")
	_, err = New(Config{Library: "/nowhere/libcuda.so.1"}).Open(0)
	requireCode(t, device.CodeBackendUnavailable, err)

	late := New(Config{})
	t.Setenv(EnvLibrary, "/nowhere/named/late.so")
	require.Contains(t, requireCode(t, device.CodeBackendUnavailable, late.Probe()).Message, "/nowhere/named/late.so")

	other := New(Config{Library: "libc.so.6"})
	message := requireCode(t, device.CodeBackendUnavailable, other.Probe()).Message
	require.Contains(t, message, "lacks")
	require.Contains(t, message, "cuMemAlloc_v2", "a function that is missing is named")
	require.NotContains(t, message, "cuMemCreate", "one that can be done without is not")
	_, err = other.Devices()
	requireCode(t, device.CodeBackendUnavailable, err)
}

func TestDriverIsTooOld(t *testing.T) {
	if alone(t, "SIMCUDA_DRIVER_VERSION=11010") {
		err := requireCode(t, device.CodeBackendUnavailable, New(Config{Library: os.Getenv(envLibrary)}).Probe())
		require.Contains(t, err.Message, "has interface 11.1, and 11.2 is needed")
	}
}

func TestDriverHasNoDevice(t *testing.T) {
	if alone(t, "SIMCUDA_DEVICES=0") {
		err := requireCode(t, device.CodeBackendUnavailable, New(Config{Library: os.Getenv(envLibrary)}).Probe())
		require.EqualValues(t, resultNoDevice, err.Native)
		require.Contains(t, err.Message, "cuInit gave CUDA_ERROR_NO_DEVICE (100: no CUDA-capable device is detected)")
	}
}

func TestDriverDoesNotStart(t *testing.T) {
	if alone(t, "SIMCUDA_INIT_ERROR=999") {
		err := requireCode(t, device.CodeBackendUnavailable, New(Config{Library: os.Getenv(envLibrary)}).Probe())
		require.EqualValues(t, 999, err.Native)
		require.Contains(t, err.Message, "CUDA_ERROR_UNKNOWN")
	}
}

// If a device or driver lacks a capability, the library reports that, and everything else
// works.
func TestMissingCapabilitiesAreReportedAndTheRestWorks(t *testing.T) {
	if !alone(t, "SIMCUDA_WITHOUT=vmm,peer,mapped,pools") {
		return
	}
	o := open(t, 0)
	require.False(t, o.Info().VirtualMemory || o.Info().PinnedHost)
	_, err := o.Reserve(2<<20, 2<<20)
	requireCode(t, device.CodeUnsupported, err)
	requireCode(t, device.CodeUnsupported, o.Create(make([]device.Page, 1), 2<<20, device.BackingMovable))
	_, err = o.AllocPinned(64 << 10)
	requireCode(t, device.CodeUnsupported, err)
	other := open(t, 1)
	require.False(t, o.CanCopyFrom(other))
	require.NoError(t, other.Close())
	oneLife(t, o)
	newSimulator(t).clean()
}

// generations lists the versions of the simulated driver.
var generations = []string{"11020", "12000", "12040", "12090", "13000"}

// Every generation of the driver exports the functions that the library looks up.
func TestEachGenerationHasTheFunctionsOfTheTable(t *testing.T) {
	for _, generation := range generations {
		t.Run(generation, func(t *testing.T) {
			if alone(t, envLibrary+"="+simulated(generation)) {
				o := open(t, 0)
				require.Equal(t, generation >= "12000", o.ctx.contextNumber != 0)
				oneLife(t, o)
				newSimulator(t).clean()
			}
		})
	}
}

// oneLife uses every capability that all devices have, and closes the device.
func oneLife(t *testing.T, o *openDevice) {
	addr, err := o.Alloc(1 << 20)
	require.NoError(t, err)
	s, err := o.NewStream()
	require.NoError(t, err)
	put(t, s, addr, []byte("some bytes that will be moved"))
	require.NoError(t, s.Fill(addr+5, device.Pattern{Value: '_', WidthBytes: 1}, 6))
	require.NoError(t, s.Copy(addr+4096, addr, 29))
	require.Equal(t, "some ______that will be moved", string(get(t, s, addr+4096, 29)))
	e, err := s.RecordEvent()
	require.NoError(t, err)
	require.NoError(t, o.DefaultStream().WaitEvent(e))
	require.NoError(t, e.Synchronize(device.Forever))
	done, err := e.Done()
	require.NoError(t, err)
	require.True(t, done)
	require.NoError(t, e.Close())
	requireCode(t, device.CodeBusy, o.Close())
	require.NoError(t, s.Close())
	requireCode(t, device.CodeBusy, o.Close())
	require.NoError(t, o.Free(addr, 1<<20))
	require.NoError(t, o.Close())
	requireCode(t, device.CodeInvalidState, o.Close())
}
