package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A load into a device, and a check of sums, show a bar. A signal ends them with the status for that.
// On a simulated device the driver ends a process that leaves memory or an open device with another
// status. Only the first part of each file is read before the signal: the rest would take minutes.
func TestProcessInterruptedWeights(t *testing.T) {
	cleanEnvironment(t)
	simulated, err := filepath.Abs("../../build/test/simcuda/12090/libcuda.so.1")
	require.NoError(t, err)
	for _, c := range []struct {
		args  []string
		says  string
		bytes int64
	}{
		{[]string{"weights", "verify"}, "verify", 1 << 36},
		{[]string{"weights", "load", "--dtype", "f4_e2m1", "--threads", "1"}, "load", 1 << 34},
		{[]string{"weights", "load", "--dtype", "f4_e2m1", "--threads", "1", "--device", "cuda:0"}, "load", 1 << 34},
	} {
		path := hugeFile(t, "F64", c.bytes)
		cmd, shown, out := onTerminal(t, append(c.args, path)...)
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
		require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
		text := shown.rest()
		_ = cmd.Wait()
		assert.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode(), text)
		assert.Contains(t, text, "stopped while "+c.says)
		assert.Contains(t, text, path)
		assert.Empty(t, out.String())
	}
}
