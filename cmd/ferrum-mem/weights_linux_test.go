package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A load into a device, a conversion, and a check of sums show a bar. A signal ends each of them
// with the exit status of an interrupt. The simulated device ends the process with another status
// if memory or an open device is left. A conversion leaves no part of its output. The signal is
// sent after the first bytes; reading all bytes would take minutes.
func TestProcessInterruptedWeights(t *testing.T) {
	cleanEnvironment(t)
	simulated, err := filepath.Abs("../../build/test/simcuda/12090/libcuda.so.1")
	require.NoError(t, err)
	for _, c := range []struct {
		args        []string
		says, total string
		bytes       int64
	}{
		{[]string{"weights", "verify"}, "verify", "/ 64.00 GiB", 1 << 36},
		{[]string{"weights", "load", "--dtype", "f4_e2m1", "--threads", "1"}, "load", "/ 1.00 GiB", 1 << 34},
		{[]string{"weights", "load", "--dtype", "f4_e2m1", "--threads", "1", "--device", "cuda:0"}, "load", "/ 1.00 GiB", 1 << 34},
		{[]string{"weights", "convert", "--dtype", "f4_e2m1"}, "convert", "/ 1.00 GiB", 1 << 34},
	} {
		path := hugeFile(t, "F64", c.bytes)
		args := append(c.args, path)
		if c.says == "convert" {
			args = append(args, filepath.Join(filepath.Dir(path), "out.safetensors"))
		}
		cmd, shown, out := onTerminal(t, args...)
		if strings.HasPrefix(c.args[len(c.args)-1], "cuda") {
			if matches, _ := filepath.Glob(simulated); len(matches) == 0 {
				t.Log("the simulated driver is not built (make simcuda)")
				continue
			}
			cmd.Env = append(cmd.Env, "FERRUM_CUDA_LIBRARY="+simulated, "SIMCUDA_BYTES=2G", "FERRUM_HOST_MEMORY=512MiB!")
		}
		require.NoError(t, cmd.Start())
		require.NoError(t, shown.side.Close())
		shown.until(t, c.says+" [")
		shown.until(t, c.total)
		require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
		text := shown.rest()
		_ = cmd.Wait()
		assert.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode(), text)
		assert.Contains(t, text, "stopped while "+c.says)
		assert.Contains(t, text, path)
		assert.Empty(t, out.String())
		entries, err := os.ReadDir(filepath.Dir(path))
		require.NoError(t, err)
		assert.Len(t, entries, 1, "the folder has only the input")
	}
}
