package discover

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

const gib = 1 << 30

// working returns a usable backend with one device for each value of free memory.
func working(name string, free ...uint64) Backend {
	b := Backend{Name: name, Available: true, Usable: true}
	for i, bytes := range free {
		b.Devices = append(b.Devices, Device{
			Info: device.Info{ID: device.ID{Backend: name, Index: i}, Name: "D", TotalBytes: 100 * gib}, FreeBytes: bytes, FreeKnown: true,
		})
	}
	return b
}

func missing(name string) Backend {
	s := device.Absent(device.AbsenceLibraryNotFound, 0, name+" is not there")
	return fromSurvey(name, s)
}

func machineWith(backends ...Backend) *Discovery {
	all := &Discovery{}
	for _, k := range kinds() {
		found := missing(k.name)
		for _, b := range backends {
			if b.Name == k.name {
				found = b
			}
		}
		all.Backends = append(all.Backends, found)
	}
	return all
}

func TestBestFollowsTheOrder(t *testing.T) {
	cpu := working("cpu", gib)
	require.Equal(t, BackendCPU, machineWith(cpu).Best())
	require.Equal(t, BackendOpenCL, machineWith(cpu, working("opencl", 1)).Best())
	require.Equal(t, BackendMetal, machineWith(cpu, working("opencl", 1), working("metal", 1)).Best())
	require.Equal(t, BackendROCm, machineWith(cpu, working("metal", 1), working("rocm", 1)).Best())
	require.Equal(t, BackendCUDA, machineWith(cpu, working("rocm", 1), working("cuda", 1)).Best())
	require.Equal(t, BackendCPU, machineWith(cpu, working("cuda")).Best(), "a backend without a device is not chosen")
	found := working("cuda", 1)
	found.Usable = false
	require.Equal(t, BackendCPU, machineWith(cpu, found).Best(), "a backend that cannot be opened is not chosen")
	require.Equal(t, BackendCPU, (&Discovery{}).Best())
}

func TestSelectTakesTheFirstThatFits(t *testing.T) {
	d := machineWith(working("cpu", 50*gib), working("cuda", 4*gib, 20*gib), working("rocm", 30*gib))
	for bytes, want := range map[uint64]string{0: "cuda:0", 4 * gib: "cuda:0", 4*gib + 1: "cuda:1", 21 * gib: "rocm:0", 31 * gib: "cpu:0"} {
		choice, err := d.Select(BackendAuto, bytes)
		require.NoError(t, err)
		require.Equal(t, want, choice.Device.ID.String())
		require.Equal(t, want, choice.Attempts[len(choice.Attempts)-1].ID)
		require.Empty(t, choice.Attempts[len(choice.Attempts)-1].Outcome)
	}
	choice, err := d.Select(BackendAuto, 40*gib)
	require.NoError(t, err)
	require.Equal(t, "cuda:0: needs 40 GiB, has 4 GiB free\ncuda:1: needs 40 GiB, has 20 GiB free\n"+
		"rocm:0: needs 40 GiB, has 30 GiB free\nmetal: metal is not there\nopencl: opencl is not there\ncpu:0: chosen\n", choice.Tried())

	_, err = d.Select(BackendAuto, 60*gib)
	require.ErrorIs(t, err, device.CodeOutOfMemory)
	require.ErrorContains(t, err, "no backend has 60 GiB, tried")
	require.ErrorContains(t, err, "cpu:0: needs 60 GiB, has 50 GiB free")
}

// A preferred backend is checked like any other choice, also the CPU.
func TestPreferences(t *testing.T) {
	d := machineWith(working("cpu", gib), working("cuda", 4*gib))
	choice, err := d.Select(BackendCPU, gib)
	require.NoError(t, err)
	require.Equal(t, BackendCPU, choice.Backend)
	_, err = d.Select(BackendCPU, gib+1)
	require.ErrorIs(t, err, device.CodeOutOfMemory)
	_, err = d.Select(BackendMetal, 1)
	require.ErrorIs(t, err, device.CodeBackendUnavailable)
	require.ErrorContains(t, err, "metal: metal is not there")
	require.NotContains(t, err.Error(), "cuda", "others are not looked at")
	for _, wrong := range []BackendType{-1, 6, 1000} {
		_, err = d.Select(wrong, 1)
		require.ErrorIs(t, err, device.CodeInvalidArgument)
		require.ErrorContains(t, err, "want FERRUM_BACKEND_AUTO (0) to FERRUM_BACKEND_OPENCL (5)")
		require.Equal(t, "unknown", wrong.String())
	}
}

// A device that fits by its known memory, but then fails to be taken, is skipped and
// reported.
func TestTakingFallsThrough(t *testing.T) {
	d := machineWith(working("cpu", 50*gib), working("cuda", 20*gib, 20*gib))
	var asked []string
	choice, err := d.SelectAndTake(BackendAuto, gib, func(c Candidate) error {
		asked = append(asked, c.Device.ID.String())
		if c.Backend == BackendCUDA {
			return device.Errorf(device.CodeDevice, "x", "the driver refuses %s", c.Device.ID)
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []string{"cuda:0", "cuda:1", "cpu:0"}, asked)
	require.Equal(t, BackendCPU, choice.Backend)
	require.Contains(t, choice.Tried(), "cuda:1: the driver refuses cuda:1")

	cause := device.Errorf(device.CodeDevice, "x", "nothing works")
	_, err = d.SelectAndTake(BackendAuto, gib, func(Candidate) error { return cause })
	require.ErrorContains(t, err, "cpu:0: nothing works")
	require.ErrorIs(t, err, error(cause))
}

func TestUnknownMemory(t *testing.T) {
	nothing := Device{}
	require.False(t, nothing.CanFit(1))
	require.True(t, nothing.CanFit(0))
	require.Equal(t, "its memory is unknown", tooSmall(&nothing, 1))
	total := Device{Info: device.Info{TotalBytes: 100 * gib}}
	require.True(t, total.CanFit(80*gib))
	require.False(t, total.CanFit(80*gib+1))
	require.Contains(t, tooSmall(&total, 90*gib), "needs 90 GiB, has 80 GiB assumed to be free (80 %")
	rapid.Check(t, func(t *rapid.T) {
		d := Device{Info: device.Info{TotalBytes: rapid.Uint64().Draw(t, "total")}}
		bytes := rapid.Uint64().Draw(t, "bytes")
		// The condition is 5 x bytes <= 4 x total, in two parts that do not overflow.
		whole, rest := d.TotalBytes/5, d.TotalBytes%5
		if want := bytes <= whole*4+rest*4/5; d.CanFit(bytes) != want {
			t.Fatalf("%d of %d: want %v", bytes, d.TotalBytes, want)
		}
	})
}

func TestSummary(t *testing.T) {
	cpu := working("cpu", 28*gib+gib/2)
	cpu.Devices[0].Name, cpu.Devices[0].TotalBytes, cpu.Devices[0].UnifiedMemory = "Apple M2 Pro", 32*gib, true
	metal := working("metal", 0)
	metal.Devices[0] = Device{Info: device.Info{ID: device.ID{Backend: "metal"}, Name: "Apple M2 Pro", TotalBytes: 21*gib + gib/3}, UnifiedMemory: true}
	opencl := working("opencl", gib)
	opencl.Usable = false
	require.Equal(t, `=== Available Backends ===
✓ CPU (CPU)
    [0] Apple M2 Pro: 32.00 GB (28.50 GB free)
✗ CUDA (CUDA)
    Error: cuda is not there
✗ ROCm (ROCm)
    Error: rocm is not there
✓ Metal (Metal)
    [0] Apple M2 Pro: 21.33 GB (unified memory)
✓ OpenCL (OpenCL)
    [0] D: 100.00 GB (1.00 GB free)
    Note: found, but this build has no driver that opens its devices

Recommended backend: Metal
`, machineWith(cpu, metal, opencl).Summary())
	require.Equal(t, 70, metal.Devices[0].RecommendedFractionPercent())
	require.Equal(t, 90, opencl.Devices[0].RecommendedFractionPercent())
}

func TestBackendNames(t *testing.T) {
	for i, k := range known {
		require.Equal(t, BackendType(i), k.kind)
		require.Equal(t, k.name, k.kind.Name())
		require.Equal(t, k.name, strings.ToLower(k.kind.String()))
	}
	require.Equal(t, [2]string{"auto", "Auto"}, [2]string{BackendAuto.Name(), BackendAuto.String()})
	require.Equal(t, [2]string{"rocm", "ROCm"}, [2]string{BackendROCm.Name(), BackendROCm.String()})
	require.Equal(t, [2]string{"", "unknown"}, [2]string{BackendType(len(known)).Name(), BackendType(-1).String()})
	require.Equal(t, BackendCPU, preferred()[len(kinds())-1])
	require.Equal(t, "cpu", Names()[0])
	found, ok := TypeOf("rocm")
	require.True(t, ok)
	require.Equal(t, BackendROCm, found)
	_, ok = TypeOf("vulkan")
	require.False(t, ok)
}

func TestEqualReasonsOfBackendsAreToldOnce(t *testing.T) {
	require.Equal(t, "cuda, rocm: no helper; metal: not here; cpu:0: too small; cpu:1: too small", describe([]Attempt{
		{"cuda", "no helper"}, {"metal", "not here"}, {"rocm", "no helper"}, {"cpu:0", "too small"}, {"cpu:1", "too small"},
	}))
}
