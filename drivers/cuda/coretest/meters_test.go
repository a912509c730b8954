package coretest

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/drivers/cuda"
	"ferrum_mem/drivers/cuda/cudaprobe"
	"ferrum_mem/drivers/testdevice"
	"ferrum_mem/internal/dl"
)

// metersPath returns the path of the simulated NVML.
func metersPath() string {
	return filepath.Join(filepath.Dir(libraryPath), "..", "..", "simnvml", "libnvidia-ml.so.1")
}

// NVML reports the processes that use a device, whatever their number. If NVML does not
// report them, they are unknown.
func TestProcessesOfADevice(t *testing.T) {
	for name, one := range map[string]struct {
		variables []string
		want      int
	}{
		"none":    {nil, 0},
		"some":    {[]string{"SIMNVML_PROCESSES=3"}, 3},
		"many":    {[]string{"SIMNVML_PROCESSES=1000"}, 1000},
		"refused": {[]string{"SIMNVML_PROCESSES=3", "SIMNVML_FAULT=nvmlDeviceGetComputeRunningProcesses_v3"}, -1},
		"no_uuid": {[]string{"SIMNVML_PROCESSES=3", "SIMNVML_KIND=XYZ-"}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			if !alone(t, append(one.variables, "SIMCUDA_DEVICES=1", cuda.EnvLibrary+"="+libraryPath, cudaprobe.EnvMeters+"="+metersPath())...) {
				return
			}
			found := cudaprobe.Prober{}.Survey()
			require.Len(t, found.Devices, 1)
			processes := found.Devices[0].Processes
			require.Equal(t, one.want < 0, processes == nil, "unknown is not none")
			require.Len(t, processes, max(one.want, 0))
			for i, process := range processes {
				require.EqualValues(t, 1000+i, process.PID)
				if i == 1 {
					require.Nil(t, process.UsedBytes)
					continue
				}
				require.EqualValues(t, i+1, *process.UsedBytes)
			}
		})
	}
}

// A survey creates no context if NVML reports the free memory. It reads the memory in a
// context if NVML does not report it, or reports another device.
func TestSurveyCreatesNoContext(t *testing.T) {
	const bytes = "SIMCUDA_BYTES=1073741824"
	for name, one := range map[string]struct {
		variables []string
		free      uint64
		context   bool
	}{
		"nvml":         {[]string{"SIMNVML_TOTAL=1100000000", "SIMNVML_FREE=1000000000"}, 1000000000, false},
		"all_is_free":  {[]string{"SIMNVML_TOTAL=1100000000", "SIMNVML_FREE=1100000000"}, 1 << 30, false},
		"an_instance":  {[]string{"SIMNVML_TOTAL=1073741824", "SIMNVML_FREE=5", "SIMNVML_KIND=MIG-"}, 5, false},
		"no_such_uuid": {[]string{"SIMNVML_TOTAL=1100000000", "SIMNVML_FREE=1", "SIMNVML_KIND=XYZ-"}, 0, true},
		"the_whole_of": {[]string{"SIMNVML_TOTAL=8000000000", "SIMNVML_FREE=1"}, 0, true},
		"too_small":    {[]string{"SIMNVML_TOTAL=1000000000", "SIMNVML_FREE=1"}, 0, true},
		"nonsense":     {[]string{"SIMNVML_TOTAL=1100000000", "SIMNVML_FREE=1100000001"}, 0, true},
		"no_init":      {[]string{"SIMNVML_TOTAL=1100000000", "SIMNVML_FREE=1", "SIMNVML_FAULT=nvmlInit_v2"}, 0, true},
		"no_memory":    {[]string{"SIMNVML_TOTAL=1100000000", "SIMNVML_FREE=1", "SIMNVML_FAULT=nvmlDeviceGetMemoryInfo"}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			if !alone(t, append(one.variables, bytes, "SIMCUDA_DEVICES=1", cuda.EnvLibrary+"="+libraryPath, cudaprobe.EnvMeters+"="+metersPath())...) {
				return
			}
			require.FileExists(t, metersPath())
			simulator, simulated := testdevice.NewSimulator(libraryPath)
			require.True(t, simulated)
			simulator.Fault("cuDevicePrimaryCtxRetain", 1, 2)
			found := cudaprobe.Prober{}.Survey()
			require.Len(t, found.Devices, 1)
			require.Equal(t, one.context, !simulator.FaultIsLeft(), "a context was wanted")
			require.Equal(t, !one.context, found.Devices[0].FreeKnown, "the context was refused")
			require.Equal(t, one.free, found.Devices[0].FreeBytes)
			library, err := dl.Open(metersPath())
			require.NoError(t, err)
			users, there := library.Symbol("simnvml_users")
			require.True(t, there)
			require.Zero(t, dl.Call(users), "the query has ended the fence")
			simulator.ClearFaults()
			require.Empty(t, simulator.Leaks())
		})
	}
}
