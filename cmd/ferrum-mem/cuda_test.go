//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/replay"
)

// onCUDA runs the command in a separate process over a simulated driver with two devices.
// The driver ends a process that leaks something with the status 97.
func onCUDA(t *testing.T, build string, args ...string) outcome {
	t.Helper()
	cleanEnvironment(t)
	library, err := filepath.Abs("../../build/test/simcuda/" + build + "/libcuda.so.1")
	require.NoError(t, err)
	if matches, _ := filepath.Glob(library); len(matches) == 0 {
		t.Skip("the simulated driver is not built (make simcuda)")
	}
	cmd := command(t, args...)
	cmd.Env = append(cmd.Env, "FERRUM_CUDA_LIBRARY="+library, "SIMCUDA_BYTES=192M,128M", "FERRUM_HOST_MEMORY=64MiB!")
	return outcomeOf(cmd)
}

func outcomeOf(cmd *exec.Cmd) outcome {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	return outcome{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// A pool on a GPU behaves as on the host if both have the same page size.
func TestReplayOnCUDA(t *testing.T) {
	small := writeFile(t, "small.csv", "id,lower,upper,size\na,0,9,4000000\nb,1,5,9000000\nc,3,4,4000000\nd,4,8,20000000\n")
	for _, build := range []string{"11020", "12090"} {
		for _, limit := range [][]string{nil, {"--limit", "32MiB"}} {
			args := append([]string{"replay", small, "--json"}, limit...)
			host, cuda := outcomeOf(command(t, args...)), onCUDA(t, build, append(args, "--device", "cuda:1")...)
			require.Equal(t, host.status, cuda.status, cuda.err)
			var want, have replay.Result
			require.NoError(t, json.Unmarshal([]byte(host.out), &want), host.err)
			require.NoError(t, json.Unmarshal([]byte(cuda.out), &have), cuda.err)
			assert.Empty(t, cuda.err)
			assert.Equal(t, "cuda:1", have.Device)
			assert.Equal(t, want.Allocations, have.Allocations)
			assert.Equal(t, want.Failed, have.Failed)
			assert.Equal(t, want.PeakLiveBytes, have.PeakLiveBytes)
			assert.GreaterOrEqual(t, have.ReservedPeakBytes, have.PeakLiveBytes)
		}
	}
}

// If the trace needs more than the device has, the error states this and nothing leaks.
func TestReplayOnCUDAAboveItsMemory(t *testing.T) {
	large := writeFile(t, "large.csv", "id,lower,upper,size\na,0,9,100000000\nb,1,5,100000000\n")
	for _, args := range [][]string{nil, {"--limit", "190MiB"}} {
		o := onCUDA(t, "12090", append([]string{"replay", large, "--device", "cuda:1"}, args...)...)
		assert.Equal(t, exitMachine, o.status, o.err)
		assert.Contains(t, o.err, "cuda:1")
		assert.Empty(t, o.out)
	}
}

func TestReplayOfModelsOnCUDA(t *testing.T) {
	trace := writeFile(t, "t.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n"+
		"2023-11-16 18:17:03.9799600,4808,10\n2023-11-16 18:17:04.0319600,3180,8\n2023-11-16 18:17:04.0789600,110,27\n")
	o := onCUDA(t, "12090", "replay", "--model", "a="+trace, "--model", "b="+trace+"@1m", "--limit", "96MiB",
		"--bytes-per-token", "4096", "--device", "cuda:0", "--json")
	require.Contains(t, []int{exitDone, exitNo}, o.status, o.err)
	var r replay.ModelsResult
	require.NoError(t, json.Unmarshal([]byte(o.out), &r))
	assert.Equal(t, "cuda:0", r.Device)
	assert.Empty(t, o.err)
}

// The device itself is queried, so the memory of the context is counted. Options that the
// device lacks are rejected by name.
func TestFitAndDoctorOnCUDA(t *testing.T) {
	args := []string{"fit", llama, "--context", "1024", "--json"}
	o := onCUDA(t, "12090", append(args, "--device", "cuda:1")...)
	require.Equal(t, exitNo, o.status, o.err)
	var r fitReport
	require.NoError(t, json.Unmarshal([]byte(o.out), &r))
	require.Len(t, r.Devices, 1)
	assert.Equal(t, "cuda:1", r.Devices[0].Device)
	assert.EqualValues(t, 128<<20, r.Devices[0].TotalBytes)
	assert.Positive(t, r.Devices[0].FreeBytes)

	o = onCUDA(t, "12090", append(args, "--device", "cuda:2")...)
	assert.Equal(t, exitUsage, o.status)
	assert.Contains(t, o.err, "there are 2 CUDA devices")

	o = onCUDA(t, "12090", "doctor")
	assert.Equal(t, exitDone, o.status, o.err)
	assert.Regexp(t, `(?m)^ok +device cuda:1 .*; a block was allocated and freed$`, o.out)
}

// Tensors are copied into the device through staging memory, and all of it is freed.
func TestLoadOnCUDA(t *testing.T) {
	for _, build := range []string{"11020", "12090"} {
		for name := range expectedFiles(t) {
			o := onCUDA(t, build, "weights", "load", weightFiles+name, "--device", "cuda:1", "--json")
			require.Equal(t, exitDone, o.status, "%s: %s", name, o.err)
			var r loadReport
			require.NoError(t, json.Unmarshal([]byte(o.out), &r))
			assert.Equal(t, "cuda:1", r.Sources[0].Device)
			assert.Positive(t, r.Sources[0].SizeBytes)
			assert.Empty(t, o.err)
		}
	}
}

// Without a driver the error names the device and the libraries that were tried.
func TestErrorWithoutACUDADriver(t *testing.T) {
	small := writeFile(t, "small.csv", smallTrace)
	for _, args := range [][]string{{"replay", small}, {"fit", llama, "--context", "1024"}, {"weights", "load", weightFiles + "c_order.npy"}} {
		cleanEnvironment(t)
		cmd := command(t, append(args, "--device", "cuda:0")...)
		cmd.Env = append(cmd.Env, "FERRUM_CUDA_LIBRARY=/nowhere/libcuda.so.1")
		o := outcomeOf(cmd)
		assert.Equal(t, exitMachine, o.status)
		assert.Equal(t, "ferrum-mem: cuda:0: library not found, tried: /nowhere/libcuda.so.1\n", o.err)
		assert.Empty(t, o.out)
	}
}
