package cudaprobe

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

func TestOnlyTheNamedLibraryIsTried(t *testing.T) {
	t.Setenv(EnvLibrary, "")
	require.NotContains(t, Names(), "")
	t.Setenv(EnvLibrary, "/nowhere/libcuda.so.1")
	require.Equal(t, []string{"/nowhere/libcuda.so.1"}, Names())
	if runtime.GOOS == "linux" {
		found := Prober{}.Survey()
		require.Equal(t, device.AbsenceLibraryNotFound, found.Absence)
		require.Equal(t, "library not found, tried: /nowhere/libcuda.so.1", found.Message)
	}
}

// If the program names a driver library, the library does not load the system's NVML, which
// would report the devices of another driver.
func TestNamesOfNVML(t *testing.T) {
	t.Setenv(EnvLibrary, "")
	t.Setenv(EnvMeters, "")
	if runtime.GOOS == "linux" {
		require.Equal(t, "libnvidia-ml.so.1", meterNames()[0])
	}
	t.Setenv(EnvLibrary, "/nowhere/libcuda.so.1")
	require.Empty(t, meterNames())
	t.Setenv(EnvMeters, "/nowhere/libnvidia-ml.so.1")
	require.Equal(t, []string{"/nowhere/libnvidia-ml.so.1"}, meterNames())
	require.Nil(t, openMeters())
}

func TestNamesOfTheLibrary(t *testing.T) {
	const wsl = "/usr/lib/wsl/lib/libcuda.so.1"
	require.Equal(t, []string{"libcuda.so.1", "libcuda.so", wsl}, namesOn("linux", false))
	require.Equal(t, []string{wsl, "libcuda.so.1", "libcuda.so"}, namesOn("linux", true))
	require.Equal(t, []string{"nvcuda.dll"}, namesOn("windows", false))
	require.Empty(t, namesOn("darwin", false))
}
