package coretest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/cuda"
	"ferrum_mem/drivers/cuda/cudaprobe"
	"ferrum_mem/drivers/testdevice"
)

// envAlone is set in a process that runs one test.
const envAlone = "FERRUM_TEST_CUDA_ALONE"

// alone runs the rest of the test in a new process with these environment variables. It
// returns false in the first process, which must then return from the test.
func alone(t *testing.T, variables ...string) bool {
	t.Helper()
	if os.Getenv(envAlone) != "" {
		return true
	}
	if _, err := os.Stat(libraryPath); err != nil {
		t.Skipf("the simulated driver is not built (make simcuda): %v", err)
	}
	child := exec.Command(os.Args[0], "-test.run", "^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$",
		"-test.count=1", "-test.v", "-test.timeout=60s")
	child.Env = append(append(os.Environ(), envAlone+"=1"), variables...)
	out, err := child.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name(), "%s", out)
	return false
}

// generation returns the path of the simulated driver of another version.
func generation(version string) string {
	return filepath.Join(filepath.Dir(filepath.Dir(libraryPath)), version, filepath.Base(libraryPath))
}

// The library distinguishes the reasons why CUDA cannot be used. The probe and the driver
// return the same reason with the same native code. A survey leaks nothing.
func TestReasonsWhyCUDAIsUnavailable(t *testing.T) {
	for name, one := range map[string]struct {
		library, variable string
		absence           device.Absence
		native            int64
		says              string
	}{
		"no library":           {"/nowhere/libcuda.so.1", "", device.AbsenceLibraryNotFound, 0, "/nowhere/libcuda.so.1"},
		"library of something": {"libc.so.6", "", device.AbsenceSymbolMissing, 0, "lacks"},
		"no device":            {libraryPath, "SIMCUDA_DEVICES=0", device.AbsenceNoDevice, 100, "CUDA_ERROR_NO_DEVICE"},
		"hidden devices":       {libraryPath, "CUDA_VISIBLE_DEVICES=", device.AbsenceNoDevice, 100, "CUDA_ERROR_NO_DEVICE"},
		"old driver":           {libraryPath, "SIMCUDA_DRIVER_VERSION=11010", device.AbsenceTooOld, 11010, "has interface 11.1, and 11.2 is needed"},
		"driver error":         {libraryPath, "SIMCUDA_INIT_ERROR=999", device.AbsenceDriverError, 999, "CUDA_ERROR_UNKNOWN"},
		"mismatch":             {libraryPath, "SIMCUDA_INIT_ERROR=803", device.AbsenceDriverError, 803, "803"},
		"devices":              {libraryPath, "", device.AbsenceNone, 0, ""},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			if !alone(t, cuda.EnvLibrary+"="+one.library, one.variable) {
				return
			}
			found := cudaprobe.Prober{}.Survey()
			require.Equal(t, one.absence, found.Absence, found.Message)
			require.Contains(t, found.Message, one.says)
			err := cuda.New(cuda.Config{}).Probe()
			if one.absence == device.AbsenceNone {
				require.NoError(t, err)
			} else {
				require.Equal(t, device.CodeBackendUnavailable, device.CodeOf(err), "%v", err)
				require.ErrorContains(t, err, one.says)
				require.Equal(t, found.Native, nativeOf(err))
				require.Equal(t, one.native, found.Native)
			}
			if simulator, simulated := testdevice.NewSimulator(one.library); simulated {
				require.Empty(t, simulator.Leaks())
				require.Empty(t, simulator.Violations())
			}
		})
	}
}

// The probe and the driver find the same devices, with every generation of the driver.
func TestSurveyEqualsTheDriversDevices(t *testing.T) {
	for _, version := range []string{"11020", "12000", "12040", "12090", "13000"} {
		t.Run(version, func(t *testing.T) {
			if !alone(t, cuda.EnvLibrary+"="+generation(version), "SIMCUDA_DEVICES=4", "SIMCUDA_BYTES=1G,2G", "SIMCUDA_OTHER_BYTES=64M") {
				return
			}
			found := cudaprobe.Prober{}.Survey()
			require.Equal(t, device.AbsenceNone, found.Absence, found.Message)
			require.Len(t, found.Devices, 4)
			driver := cuda.New(cuda.Config{})
			infos, err := driver.Devices()
			require.NoError(t, err)
			require.Len(t, infos, 4)
			for i, info := range infos {
				require.Equal(t, info.Name, found.Devices[i].Name)
				require.Equal(t, info.TotalBytes, found.Devices[i].TotalBytes)
				reading, err := driver.ReadMemory(i)
				require.NoError(t, err)
				require.True(t, found.Devices[i].FreeKnown)
				require.Equal(t, reading.FreeBytes, found.Devices[i].FreeBytes)
			}
			simulator, _ := testdevice.NewSimulator(generation(version))
			require.Empty(t, simulator.Leaks())
			require.Empty(t, simulator.Violations())
		})
	}
}
