//go:build linux

package probe_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/discover"
)

const gib = 1 << 30

func TestTwoDevicesOfCUDA(t *testing.T) {
	found := world{backend: "cuda", kind: "whole"}.look(t)
	require.NoError(t, found.Err)
	require.True(t, found.Available)
	require.False(t, found.Usable, "there is no driver for it in this registry")
	require.Equal(t, "libcuda.so.1", found.Library)
	require.Equal(t, "12.4", found.Version)
	require.Len(t, found.Devices, 2)
	for i := range found.Devices {
		require.Equal(t, device.ID{Backend: "cuda", Index: i}, found.Devices[i].ID)
	}
	require.Equal(t, "[0] Simulated GPU A: 80.00 GB (79.00 GB free) (compute 9.0)", found.Devices[0].String())
	require.Equal(t, "[1] Simulated GPU B: 40.00 GB (39.00 GB free) (compute 9.0) (unified memory)", found.Devices[1].String())
	require.True(t, found.Devices[0].CanFit(79*gib))
	require.False(t, found.Devices[0].CanFit(79*gib+1))
}

func TestFreeMemoryCanBeUnknown(t *testing.T) {
	for _, backend := range []string{"cuda", "rocm"} {
		found := world{backend: backend, kind: "whole", behaviour: "no_context"}.look(t)
		require.True(t, found.Available)
		one := found.Devices[0]
		require.False(t, one.FreeKnown, backend)
		require.True(t, one.CanFit(one.TotalBytes*4/5))
		require.False(t, one.CanFit(one.TotalBytes*4/5+1))
	}
}

func TestTwoDevicesOfROCm(t *testing.T) {
	found := world{backend: "rocm", kind: "whole"}.look(t)
	require.NoError(t, found.Err)
	require.Equal(t, "libamdhip64.so.6", found.Library)
	require.Equal(t, "6.3", found.Version)
	require.Len(t, found.Devices, 2)
	require.Equal(t, "[0] Simulated Instinct 0: 192.00 GB (96.00 GB free) (compute 9.4)", found.Devices[0].String())
	require.Equal(t, "[1] Simulated Instinct 1: 96.00 GB (48.00 GB free) (compute 9.3) (unified memory)", found.Devices[1].String())
}

func TestDevicesOfAllPlatformsOfOpenCL(t *testing.T) {
	found := world{backend: "opencl", kind: "whole"}.look(t)
	require.NoError(t, found.Err, "an old platform and an empty one do not hide the others")
	require.Equal(t, "3.0", found.Version)
	require.Len(t, found.Devices, 2)
	require.Equal(t, "[0] Card 0: 16.00 GB (8.00 GB free) (compute OpenCL 2.1)", found.Devices[0].String())
	require.Equal(t, "[1] Card 1: 16.00 GB (compute OpenCL 2.1) (unified memory)", found.Devices[1].String())
	require.EqualValues(t, 4*gib, found.Devices[0].MaxAllocationBytes)
	require.EqualValues(t, 128, found.Devices[0].AlignmentBytes)
}

func TestReasonsOfCUDA(t *testing.T) {
	look := func(behaviour string) discover.Backend {
		return world{backend: "cuda", kind: "whole", behaviour: behaviour}.look(t)
	}
	requireAbsent(t, look("none"), device.AbsenceNoDevice, 100, "no device", "CUDA_ERROR_NO_DEVICE (100)")
	requireAbsent(t, look("error=999"), device.AbsenceDriverError, 999, "cuInit failed", "CUDA_ERROR_UNKNOWN (999)")
	requireAbsent(t, look("error=803"), device.AbsenceDriverError, 803, "cuInit failed: error 803")
	requireAbsent(t, look("late_error=46"), device.AbsenceDriverError, 46, "cuDeviceGetName of device 0 failed: error 46")
	requireAbsent(t, look("old"), device.AbsenceTooOld, 10020, "libcuda.so.1 has interface 10.2, and 11.2 is needed")
	requireAbsent(t, world{backend: "cuda", kind: "lacking"}.look(t), device.AbsenceSymbolMissing, 0, "libcuda.so.1", "lacks cuMemGetInfo_v2")
}

func TestReasonsOfOtherBackends(t *testing.T) {
	rocm := func(behaviour string) discover.Backend {
		return world{backend: "rocm", kind: "whole", behaviour: behaviour}.look(t)
	}
	requireAbsent(t, rocm("none"), device.AbsenceNoDevice, 101, "no device: hipInit gave error 101")
	requireAbsent(t, rocm("error=3"), device.AbsenceDriverError, 3, "hipInit failed: error 3")
	requireAbsent(t, rocm("late_error=1"), device.AbsenceDriverError, 1, "hipDeviceGetName of device 0 failed: error 1")
	requireAbsent(t, rocm("old"), device.AbsenceTooOld, 50013601, "interface 5.0, and 5.2 is needed")
	requireAbsent(t, world{backend: "rocm", kind: "lacking"}.look(t), device.AbsenceSymbolMissing, 0, "lacks hipMemGetInfo")

	opencl := func(behaviour string) discover.Backend {
		return world{backend: "opencl", kind: "whole", behaviour: behaviour}.look(t)
	}
	requireAbsent(t, opencl("none"), device.AbsenceNoDevice, -1001, "is installed, but no platform is")
	requireAbsent(t, opencl("error=-6"), device.AbsenceDriverError, -6, "clGetPlatformIDs failed: error -6")
	requireAbsent(t, opencl("late_error=6"), device.AbsenceDriverError, -6, `"Simulated Platform"`, "error -6")
	requireAbsent(t, opencl("old"), device.AbsenceTooOld, 0, `platform "Old Platform" has 1.1, and 1.2 is needed`)
	requireAbsent(t, world{backend: "opencl", kind: "lacking"}.look(t), device.AbsenceSymbolMissing, 0, "lacks clGetDeviceInfo")
}

func TestMetalIsUnsupportedOnThisSystem(t *testing.T) {
	requireAbsent(t, world{backend: "metal", isolation: discover.Isolation{Helper: "/nonexistent"}}.look(t),
		device.AbsenceSystem, 0, "Metal is not supported on linux")
}

func TestDriversThatCrash(t *testing.T) {
	for _, backend := range slices.Sorted(maps.Keys(libraries)) {
		look := func(behaviour string) discover.Backend {
			return world{backend: backend, kind: "whole", behaviour: behaviour}.look(t)
		}
		requireAbsent(t, look("abort"), device.AbsenceCrashed, int64(syscall.SIGABRT), "crashed", "signal 6 (aborted)")
		requireAbsent(t, look("segfault"), device.AbsenceCrashed, int64(syscall.SIGSEGV), "signal 11")
		requireAbsent(t, look("exit"), device.AbsenceCrashed, 7, "without a reply", "status 7")
		requireAbsent(t, look("close"), device.AbsenceCrashed, device.ProbeExitClosed, "closed the files")
		require.True(t, look("garbage").Available, "the output of the driver is discarded")
	}
}

func TestDriversThatHang(t *testing.T) {
	for _, behaviour := range []string{"sleep", "close_and_sleep"} {
		for _, backend := range slices.Sorted(maps.Keys(libraries)) {
			w := world{backend: backend, kind: "whole", behaviour: behaviour}
			w.isolation.Timeout = 300 * time.Millisecond
			requireAbsent(t, w.look(t), device.AbsenceTimedOut, 0, "no reply within 300ms", discover.EnvProbeTimeout)
		}
	}
}

// A process that a driver starts ends together with the helper, and inherits no file of
// this process. A fork of the helper has the descriptor of the answer, at a number that
// careless code does not write to.
func TestHelperEndsWithItsProcessGroup(t *testing.T) {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer read.Close()
	defer write.Close()
	// This simulates a host program that does not mark its files close-on-exec.
	leaked, err := syscall.Dup(int(write.Fd()))
	require.NoError(t, err)
	defer syscall.Close(leaked)

	report := filepath.Join(t.TempDir(), "report")
	w := world{backend: "cuda", kind: "whole", behaviour: "sleep_in_child", report: report}
	w.isolation.Timeout = 500 * time.Millisecond
	requireAbsent(t, w.look(t), device.AbsenceTimedOut, 0)

	text, err := os.ReadFile(report)
	require.NoError(t, err, "the driver's own process has run")
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, line := range lines {
		if number, target, found := strings.Cut(line, " "); found && strings.HasPrefix(target, "pipe:") {
			require.Equal(t, "200", number, "a pipe was handed on: %s", target)
		}
	}
	require.Contains(t, string(text), "LD_LIBRARY_PATH="+filepath.Join(built, "whole", "cuda"))
	words := strings.Fields(lines[len(lines)-1])
	require.Len(t, words, 4)
	pid, err := strconv.Atoi(words[1])
	require.NoError(t, err)
	require.Eventually(t, func() bool { return ended(pid) }, 10*time.Second, time.Millisecond)
	group, err := strconv.Atoi(words[3])
	require.NoError(t, err)
	require.NotEqual(t, syscall.Getpgrp(), group)
}

// ended returns true also for a zombie that its parent has not waited for yet.
func ended(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}
